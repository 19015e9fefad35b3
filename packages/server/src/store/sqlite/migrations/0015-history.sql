-- The history of use. Buckets are sparse: there is a row only where something changed. `grain` is the length of a
-- bucket in milliseconds, and `at` its start. `feature` is empty for the license itself.

-- `net`: by how much the number in use changed; `late`: the sum of each change times its distance from `at`, for the
-- average. `borrowed`: by how much the number of borrowed slots changed. The bucket with the grain 0 sums up what was
-- forgotten.
CREATE TABLE history_slot (
  license_id INTEGER NOT NULL,
  feature TEXT NOT NULL,
  grain INTEGER NOT NULL,
  at INTEGER NOT NULL,
  grants INTEGER NOT NULL,
  returns INTEGER NOT NULL,
  expiries INTEGER NOT NULL,
  denials INTEGER NOT NULL,
  peak INTEGER NOT NULL,
  net INTEGER NOT NULL,
  late INTEGER NOT NULL,
  borrowed INTEGER NOT NULL,
  PRIMARY KEY (license_id, feature, grain, at)
) STRICT, WITHOUT ROWID;

-- By days, and later by months. `others`: 1 for users that are not named.
CREATE TABLE history_person (
  license_id INTEGER NOT NULL,
  feature TEXT NOT NULL,
  grain INTEGER NOT NULL,
  at INTEGER NOT NULL,
  user TEXT NOT NULL,
  others INTEGER NOT NULL,
  grants INTEGER NOT NULL,
  denials INTEGER NOT NULL,
  sessions INTEGER NOT NULL,
  held_ms INTEGER NOT NULL,
  last_at INTEGER NOT NULL,
  PRIMARY KEY (license_id, user, others, feature, grain, at)
) STRICT, WITHOUT ROWID;

CREATE INDEX history_person_by_day ON history_person (at, license_id) WHERE grain = 86400000;

-- `slots`, `in_use`, `borrowed` and `next_free_at` are as of the first denial.
CREATE TABLE history_denial (
  license_id INTEGER NOT NULL,
  feature TEXT NOT NULL,
  grain INTEGER NOT NULL,
  at INTEGER NOT NULL,
  user TEXT NOT NULL,
  others INTEGER NOT NULL,
  host TEXT NOT NULL,
  address TEXT NOT NULL,
  reason TEXT NOT NULL,
  denials INTEGER NOT NULL,
  first_at INTEGER NOT NULL,
  last_at INTEGER NOT NULL,
  slots INTEGER,
  in_use INTEGER,
  borrowed INTEGER,
  next_free_at INTEGER,
  PRIMARY KEY (license_id, user, others, host, address, feature, reason, grain, at)
) STRICT, WITHOUT ROWID;

CREATE INDEX history_denial_by_time ON history_denial (at, license_id);

CREATE TABLE history_consumption (
  license_id INTEGER NOT NULL,
  feature TEXT NOT NULL,
  at INTEGER NOT NULL,
  amount INTEGER NOT NULL,
  PRIMARY KEY (license_id, feature, at)
) STRICT, WITHOUT ROWID;

-- How many slots that were given back on a day had been held for so many minutes.
CREATE TABLE history_duration (
  license_id INTEGER NOT NULL,
  feature TEXT NOT NULL,
  at INTEGER NOT NULL,
  minutes INTEGER NOT NULL,
  sessions INTEGER NOT NULL,
  PRIMARY KEY (license_id, feature, at, minutes)
) STRICT, WITHOUT ROWID;

-- The history begins with the slots that are held now.
INSERT INTO history_slot
  SELECT license_id, '', 0, 0, 0, 0, 0, 0, 0, count(*), 0, count(borrowed_until) FROM registration GROUP BY license_id;
INSERT INTO history_slot
  SELECT license_id, feature, 0, 0, 0, 0, 0, 0, 0, count(*), 0, count(borrowed_until) FROM feature_slot
  GROUP BY license_id, feature;
