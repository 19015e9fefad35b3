-- What was told once and is not told again: of a license the end of its term, of an outage since when.
CREATE TABLE notice (
  kind TEXT NOT NULL,
  subject TEXT NOT NULL,
  value INTEGER NOT NULL,
  PRIMARY KEY (kind, subject)
) STRICT, WITHOUT ROWID;

-- The event up to which the webhook was told: its link, and its place there. NULL: there never was a webhook.
ALTER TABLE server ADD COLUMN webhook_seq INTEGER;
ALTER TABLE server ADD COLUMN webhook_index INTEGER;
