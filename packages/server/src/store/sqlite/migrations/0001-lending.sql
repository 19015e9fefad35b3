-- The server itself: one row. `mark` is the latest time ever used; `audit_n` and `audit_mac` are the head of the
-- system's chain.
CREATE TABLE server (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  identity TEXT NOT NULL,
  mark INTEGER,
  audit_n INTEGER NOT NULL DEFAULT 0,
  audit_mac BLOB NOT NULL
) STRICT;

-- `facts` is the license as the domain knows it, as JSON. `in_use` counts its rows in `registration`.
CREATE TABLE license (
  id INTEGER PRIMARY KEY,
  product TEXT NOT NULL,
  facts TEXT NOT NULL,
  added_order INTEGER NOT NULL UNIQUE,
  added_at INTEGER NOT NULL,
  in_use INTEGER NOT NULL DEFAULT 0 CHECK (in_use >= 0),
  audit_n INTEGER NOT NULL DEFAULT 0,
  audit_mac BLOB NOT NULL
) STRICT;

-- Who holds a slot. The slot is free from `ends_at` on, whether or not the row is still here.
CREATE TABLE registration (
  license_id INTEGER NOT NULL,
  user TEXT NOT NULL,
  hostname TEXT,
  address TEXT,
  info TEXT,
  registered_at INTEGER NOT NULL,
  ends_at INTEGER NOT NULL,
  borrowed_until INTEGER,
  PRIMARY KEY (license_id, user)
) STRICT, WITHOUT ROWID;

CREATE INDEX registration_by_end ON registration (license_id, ends_at);
CREATE INDEX registration_by_borrow ON registration (license_id, borrowed_until) WHERE borrowed_until IS NOT NULL;

-- A user's last denial that became an event, and how often it was repeated within its window.
CREATE TABLE denial (
  license_id INTEGER NOT NULL,
  user TEXT NOT NULL,
  code TEXT NOT NULL,
  denied_at INTEGER NOT NULL,
  repeated INTEGER NOT NULL,
  PRIMARY KEY (license_id, user, code)
) STRICT, WITHOUT ROWID;

CREATE INDEX denial_by_time ON denial (license_id, denied_at);

CREATE TABLE recall (
  license_id INTEGER NOT NULL,
  recalled_at INTEGER NOT NULL,
  user TEXT NOT NULL,
  borrowed_until INTEGER NOT NULL
) STRICT;

CREATE INDEX recall_by_time ON recall (license_id, recalled_at);

-- All events of one chain in one commit. `chain` is a license id, or 0 for the system.
CREATE TABLE audit_link (
  seq INTEGER PRIMARY KEY,
  chain INTEGER NOT NULL,
  n INTEGER NOT NULL,
  at INTEGER NOT NULL,
  events TEXT NOT NULL,
  mac BLOB NOT NULL,
  UNIQUE (chain, n)
) STRICT;

CREATE TABLE account (
  name TEXT PRIMARY KEY,
  role TEXT NOT NULL,
  password_hash TEXT NOT NULL,
  one_time INTEGER NOT NULL,
  created_at INTEGER NOT NULL
) STRICT;

-- Tokens are kept as hashes only.
CREATE TABLE token (
  token_hash TEXT PRIMARY KEY,
  account TEXT NOT NULL,
  issued_at INTEGER NOT NULL,
  used_at INTEGER NOT NULL
) STRICT;

CREATE TABLE sealed_secret (
  name TEXT PRIMARY KEY,
  sealed BLOB NOT NULL
) STRICT;
