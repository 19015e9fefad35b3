-- The history of use. Buckets are sparse: there is a row only where something changed. `grain` is the length of a
-- bucket in milliseconds, and `at` its start. `feature` is empty for the license itself.

-- `net`: by how much the number in use changed; `late`: the sum of each change times its distance from `at`, for the
-- average. `borrowed`: by how much the number of borrowed slots changed. The bucket with the grain 0 sums up what was
-- forgotten.
CREATE TABLE history_slot (
  license_id BIGINT NOT NULL,
  feature TEXT COLLATE "C" NOT NULL,
  grain BIGINT NOT NULL,
  at BIGINT NOT NULL,
  grants BIGINT NOT NULL,
  returns BIGINT NOT NULL,
  expiries BIGINT NOT NULL,
  denials BIGINT NOT NULL,
  peak BIGINT NOT NULL,
  net BIGINT NOT NULL,
  late BIGINT NOT NULL,
  borrowed BIGINT NOT NULL,
  PRIMARY KEY (license_id, feature, grain, at)
) WITH (fillfactor = 80);

-- By days, and later by months. `others`: 1 for users that are not named.
CREATE TABLE history_person (
  license_id BIGINT NOT NULL,
  feature TEXT COLLATE "C" NOT NULL,
  grain BIGINT NOT NULL,
  at BIGINT NOT NULL,
  "user" TEXT COLLATE "C" NOT NULL,
  others BIGINT NOT NULL,
  grants BIGINT NOT NULL,
  denials BIGINT NOT NULL,
  sessions BIGINT NOT NULL,
  held_ms BIGINT NOT NULL,
  last_at BIGINT NOT NULL,
  PRIMARY KEY (license_id, "user", others, feature, grain, at)
) WITH (fillfactor = 80);

CREATE INDEX history_person_by_day ON history_person (at, license_id) WHERE grain = 86400000;

-- `slots`, `in_use`, `borrowed` and `next_free_at` are as of the first denial.
CREATE TABLE history_denial (
  license_id BIGINT NOT NULL,
  feature TEXT COLLATE "C" NOT NULL,
  grain BIGINT NOT NULL,
  at BIGINT NOT NULL,
  "user" TEXT COLLATE "C" NOT NULL,
  others BIGINT NOT NULL,
  host TEXT COLLATE "C" NOT NULL,
  address TEXT COLLATE "C" NOT NULL,
  reason TEXT COLLATE "C" NOT NULL,
  denials BIGINT NOT NULL,
  first_at BIGINT NOT NULL,
  last_at BIGINT NOT NULL,
  slots BIGINT,
  in_use BIGINT,
  borrowed BIGINT,
  next_free_at BIGINT,
  PRIMARY KEY (license_id, "user", others, host, address, feature, reason, grain, at)
) WITH (fillfactor = 80);

CREATE INDEX history_denial_by_time ON history_denial (at, license_id);

CREATE TABLE history_consumption (
  license_id BIGINT NOT NULL,
  feature TEXT COLLATE "C" NOT NULL,
  at BIGINT NOT NULL,
  amount BIGINT NOT NULL,
  PRIMARY KEY (license_id, feature, at)
) WITH (fillfactor = 80);

-- How many slots that were given back on a day had been held for so many minutes.
CREATE TABLE history_duration (
  license_id BIGINT NOT NULL,
  feature TEXT COLLATE "C" NOT NULL,
  at BIGINT NOT NULL,
  minutes BIGINT NOT NULL,
  sessions BIGINT NOT NULL,
  PRIMARY KEY (license_id, feature, at, minutes)
) WITH (fillfactor = 80);

-- The history begins with the slots that are held now.
INSERT INTO history_slot
  SELECT license_id, '', 0, 0, 0, 0, 0, 0, 0, count(*), 0, count(borrowed_until) FROM registration GROUP BY license_id;
INSERT INTO history_slot
  SELECT license_id, feature, 0, 0, 0, 0, 0, 0, 0, count(*), 0, count(borrowed_until) FROM feature_slot
  GROUP BY license_id, feature;
