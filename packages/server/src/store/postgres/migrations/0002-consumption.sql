-- A user's last denial that became an event, and how often it was repeated within its window. It may concern a feature:
-- '' is the license itself.
CREATE TABLE denial (
  license_id BIGINT NOT NULL,
  "user" TEXT COLLATE "C" NOT NULL,
  feature TEXT COLLATE "C" NOT NULL,
  code TEXT COLLATE "C" NOT NULL,
  denied_at BIGINT NOT NULL,
  repeated BIGINT NOT NULL,
  PRIMARY KEY (license_id, "user", feature, code)
);

CREATE INDEX denial_by_time ON denial (license_id, denied_at);

-- What was counted in a window. Old windows stay: they are the history, and a clock that was reset finds its own again.
CREATE TABLE consumption_total (
  license_id BIGINT NOT NULL,
  feature TEXT COLLATE "C" NOT NULL,
  window_start BIGINT NOT NULL,
  total BIGINT NOT NULL CHECK (total >= 0),
  PRIMARY KEY (license_id, feature, window_start)
) WITH (fillfactor = 80);

-- What the vendor has to be told and has been told, and how many rows `feature_slot` has.
CREATE TABLE meter (
  license_id BIGINT NOT NULL,
  feature TEXT COLLATE "C" NOT NULL,
  pending BIGINT NOT NULL,
  reported BIGINT NOT NULL,
  in_use BIGINT NOT NULL CHECK (in_use >= 0),
  PRIMARY KEY (license_id, feature)
) WITH (fillfactor = 80);

-- An amount on its way to the vendor: no longer pending, not yet reported.
CREATE TABLE report (
  id TEXT COLLATE "C" PRIMARY KEY,
  license_id BIGINT NOT NULL,
  feature TEXT COLLATE "C" NOT NULL,
  amount BIGINT NOT NULL,
  cut_at BIGINT NOT NULL
);

-- Who holds a slot of a feature. It is live while `ends_at` is ahead and the user's registration is live.
CREATE TABLE feature_slot (
  license_id BIGINT NOT NULL,
  "user" TEXT COLLATE "C" NOT NULL,
  feature TEXT COLLATE "C" NOT NULL,
  registered_at BIGINT NOT NULL,
  ends_at BIGINT NOT NULL,
  borrowed_until BIGINT,
  PRIMARY KEY (license_id, "user", feature)
);

CREATE INDEX feature_slot_by_end ON feature_slot (license_id, ends_at, "user", feature);
CREATE INDEX feature_slot_by_feature ON feature_slot (license_id, feature, ends_at);

-- First answers to requests that carried an Idempotency-Key. `outcome` is JSON.
CREATE TABLE remembered_answer (
  license_id BIGINT NOT NULL,
  operation TEXT COLLATE "C" NOT NULL,
  "user" TEXT COLLATE "C" NOT NULL,
  key TEXT COLLATE "C" NOT NULL,
  body_hash TEXT COLLATE "C" NOT NULL,
  answered_at BIGINT NOT NULL,
  outcome TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (license_id, operation, "user", key)
);

CREATE INDEX remembered_answer_by_time ON remembered_answer (answered_at);
