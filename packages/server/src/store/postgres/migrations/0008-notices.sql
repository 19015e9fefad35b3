-- What was told once and is not told again: of a license the end of its term, of an outage since when.
CREATE TABLE notice (
  kind TEXT COLLATE "C" NOT NULL,
  subject TEXT COLLATE "C" NOT NULL,
  value BIGINT NOT NULL,
  PRIMARY KEY (kind, subject)
);

-- The event up to which the webhook was told: its link, and its place there. NULL: there never was a webhook.
ALTER TABLE server ADD COLUMN webhook_seq BIGINT;
ALTER TABLE server ADD COLUMN webhook_index BIGINT;
