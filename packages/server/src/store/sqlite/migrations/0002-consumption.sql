-- A denial may concern a feature: '' is the license itself.
CREATE TABLE denial_by_subject (
  license_id INTEGER NOT NULL,
  user TEXT NOT NULL,
  feature TEXT NOT NULL,
  code TEXT NOT NULL,
  denied_at INTEGER NOT NULL,
  repeated INTEGER NOT NULL,
  PRIMARY KEY (license_id, user, feature, code)
) STRICT, WITHOUT ROWID;

INSERT INTO denial_by_subject SELECT license_id, user, '', code, denied_at, repeated FROM denial;
DROP TABLE denial;
ALTER TABLE denial_by_subject RENAME TO denial;
CREATE INDEX denial_by_time ON denial (license_id, denied_at);

-- What was counted in a window. Old windows stay: they are the history, and a clock that was reset finds its own again.
CREATE TABLE consumption_total (
  license_id INTEGER NOT NULL,
  feature TEXT NOT NULL,
  window_start INTEGER NOT NULL,
  total INTEGER NOT NULL CHECK (total >= 0),
  PRIMARY KEY (license_id, feature, window_start)
) STRICT, WITHOUT ROWID;

-- What the vendor has to be told and has been told, and how many rows `feature_slot` has.
CREATE TABLE meter (
  license_id INTEGER NOT NULL,
  feature TEXT NOT NULL,
  pending INTEGER NOT NULL,
  reported INTEGER NOT NULL,
  in_use INTEGER NOT NULL CHECK (in_use >= 0),
  PRIMARY KEY (license_id, feature)
) STRICT, WITHOUT ROWID;

-- An amount on its way to the vendor: no longer pending, not yet reported.
CREATE TABLE report (
  id TEXT PRIMARY KEY,
  license_id INTEGER NOT NULL,
  feature TEXT NOT NULL,
  amount INTEGER NOT NULL,
  cut_at INTEGER NOT NULL
) STRICT;

-- Who holds a slot of a feature. It is live while `ends_at` is ahead and the user's registration is live.
CREATE TABLE feature_slot (
  license_id INTEGER NOT NULL,
  user TEXT NOT NULL,
  feature TEXT NOT NULL,
  registered_at INTEGER NOT NULL,
  ends_at INTEGER NOT NULL,
  borrowed_until INTEGER,
  PRIMARY KEY (license_id, user, feature)
) STRICT, WITHOUT ROWID;

CREATE INDEX feature_slot_by_end ON feature_slot (license_id, ends_at);
CREATE INDEX feature_slot_by_feature ON feature_slot (license_id, feature, ends_at);

-- First answers to requests that carried an Idempotency-Key. `outcome` is JSON.
CREATE TABLE remembered_answer (
  license_id INTEGER NOT NULL,
  operation TEXT NOT NULL,
  user TEXT NOT NULL,
  key TEXT NOT NULL,
  body_hash TEXT NOT NULL,
  answered_at INTEGER NOT NULL,
  outcome TEXT NOT NULL,
  PRIMARY KEY (license_id, operation, user, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX remembered_answer_by_time ON remembered_answer (answered_at);
