-- The cloud itself: one row. Every id, whatever it names, is taken from `next_id`, so that no two are alike.
CREATE TABLE cloud (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  next_id INTEGER NOT NULL
) STRICT;

-- What callers prove themselves with. A shared key must stay readable: it is an HMAC key.
CREATE TABLE api_key (
  name TEXT PRIMARY KEY,
  api_key TEXT NOT NULL UNIQUE,
  shared_key TEXT NOT NULL,
  enabled INTEGER NOT NULL DEFAULT 1,
  created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE product (
  id INTEGER PRIMARY KEY,
  code TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL,
  authorization_method TEXT NOT NULL CHECK (authorization_method IN ('license-key', 'user')),
  metadata TEXT NOT NULL,
  created_at INTEGER NOT NULL
) STRICT;

-- `terms` is what the vendor grants, as JSON.
CREATE TABLE license (
  id INTEGER PRIMARY KEY,
  license_key TEXT NOT NULL UNIQUE,
  product_id INTEGER NOT NULL REFERENCES product (id),
  user_name TEXT,
  password_hash TEXT,
  enabled INTEGER NOT NULL DEFAULT 1,
  active INTEGER NOT NULL DEFAULT 0,
  transfer_count INTEGER NOT NULL DEFAULT 0,
  terms TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  CHECK ((user_name IS NULL) = (password_hash IS NULL)),
  UNIQUE (product_id, user_name)
) STRICT;

-- The machines on which a license is activated.
CREATE TABLE device (
  id INTEGER PRIMARY KEY,
  license_id INTEGER NOT NULL REFERENCES license (id),
  hardware_id TEXT NOT NULL,
  host TEXT NOT NULL,
  activated_at INTEGER NOT NULL,
  seen_at INTEGER NOT NULL,
  UNIQUE (license_id, hardware_id)
) STRICT;

CREATE TABLE blocked_device (
  hardware_id TEXT PRIMARY KEY,
  blocked_at INTEGER NOT NULL
) STRICT;

-- What was counted in each window. `feature` is empty for the license itself.
CREATE TABLE consumption_total (
  license_id INTEGER NOT NULL REFERENCES license (id),
  feature TEXT NOT NULL,
  window_start INTEGER NOT NULL,
  total INTEGER NOT NULL,
  PRIMARY KEY (license_id, feature, window_start)
) STRICT, WITHOUT ROWID;

-- Reports that were counted. Never removed: an id counts once and for ever.
CREATE TABLE report (
  license_id INTEGER NOT NULL REFERENCES license (id),
  id TEXT NOT NULL,
  feature TEXT NOT NULL,
  amount INTEGER NOT NULL,
  counted_at INTEGER NOT NULL,
  PRIMARY KEY (license_id, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE event (
  seq INTEGER PRIMARY KEY,
  at INTEGER NOT NULL,
  kind TEXT NOT NULL,
  license_id INTEGER,
  facts TEXT NOT NULL
) STRICT;

CREATE INDEX event_by_license ON event (license_id, seq);
