-- Text is ordered by its bytes, as everywhere else in Berth: COLLATE "C". Tables of which rows are changed in place
-- leave room for it on their pages (fillfactor), so that no index must be touched.

-- What all servers on this database are together: one row. `mark` is the latest time ever used; `alive_at` is when any
-- of them was last alive. `revision` grows with every change of the licenses on offer or of the rules. `audit_n` and
-- `audit_mac` are the head of the system's chain. `receipts` is JSON: by server the id of the last batch it committed.
CREATE TABLE server (
  id BIGINT PRIMARY KEY CHECK (id = 1),
  identity TEXT COLLATE "C" NOT NULL,
  mark BIGINT,
  audit_n BIGINT NOT NULL DEFAULT 0,
  audit_mac BYTEA NOT NULL,
  revision BIGINT NOT NULL DEFAULT 0,
  alive_at BIGINT,
  receipts TEXT COLLATE "C" NOT NULL DEFAULT '{}'
);

-- `facts` is the license as the domain knows it, as JSON. `in_use` counts its rows in `registration`. `mark` is the
-- latest time ever used on it; `receipts` is as in `server`, of batches on this license.
CREATE TABLE license (
  id BIGINT PRIMARY KEY,
  product TEXT COLLATE "C" NOT NULL,
  facts TEXT COLLATE "C" NOT NULL,
  added_order BIGINT NOT NULL UNIQUE,
  added_at BIGINT NOT NULL,
  in_use BIGINT NOT NULL DEFAULT 0 CHECK (in_use >= 0),
  audit_n BIGINT NOT NULL DEFAULT 0,
  audit_mac BYTEA NOT NULL,
  mark BIGINT NOT NULL DEFAULT 0,
  receipts TEXT COLLATE "C" NOT NULL DEFAULT '{}'
) WITH (fillfactor = 80);

-- Who holds a slot. The slot is free from `ends_at` on, whether or not the row is still here.
CREATE TABLE registration (
  license_id BIGINT NOT NULL,
  "user" TEXT COLLATE "C" NOT NULL,
  hostname TEXT COLLATE "C",
  address TEXT COLLATE "C",
  info TEXT COLLATE "C",
  registered_at BIGINT NOT NULL,
  ends_at BIGINT NOT NULL,
  borrowed_until BIGINT,
  PRIMARY KEY (license_id, "user")
) WITH (fillfactor = 80);

-- With the user, by whom those that end together are ordered: after an outage that may be all of them.
CREATE INDEX registration_by_end ON registration (license_id, ends_at, "user");
CREATE INDEX registration_by_borrow ON registration (license_id, borrowed_until) WHERE borrowed_until IS NOT NULL;

CREATE TABLE recall (
  license_id BIGINT NOT NULL,
  recalled_at BIGINT NOT NULL,
  "user" TEXT COLLATE "C" NOT NULL,
  borrowed_until BIGINT NOT NULL
);

CREATE INDEX recall_by_time ON recall (license_id, recalled_at);

-- All events of one chain in one commit. `chain` is a license id, or 0 for the system. `id` is the order of writing,
-- which is not that of the commits: a link may appear behind one with a greater id. So `seq` is given after the commit,
-- by one server at a time, and whoever reads on from a `seq` misses nothing.
CREATE TABLE audit_link (
  id BIGINT GENERATED ALWAYS AS IDENTITY,
  seq BIGINT UNIQUE,
  chain BIGINT NOT NULL,
  n BIGINT NOT NULL,
  at BIGINT NOT NULL,
  events TEXT COLLATE "C" NOT NULL,
  mac BYTEA NOT NULL,
  PRIMARY KEY (chain, n)
);

CREATE INDEX audit_link_without_seq ON audit_link (id) WHERE seq IS NULL;

-- One row: who gives out `seq` locks it, and leaves there the last one given.
CREATE TABLE audit_order (
  id BIGINT PRIMARY KEY CHECK (id = 1),
  last_seq BIGINT NOT NULL DEFAULT 0
);

INSERT INTO audit_order (id) VALUES (1);

CREATE TABLE account (
  name TEXT COLLATE "C" PRIMARY KEY,
  role TEXT COLLATE "C" NOT NULL,
  password_hash TEXT COLLATE "C" NOT NULL,
  one_time BIGINT NOT NULL,
  created_at BIGINT NOT NULL
);

CREATE TABLE sealed_secret (
  name TEXT COLLATE "C" PRIMARY KEY,
  sealed BYTEA NOT NULL
);

-- One row: the server that does what one must do for all, and until when nobody else may.
CREATE TABLE leader (
  id BIGINT PRIMARY KEY CHECK (id = 1),
  holder TEXT COLLATE "C",
  expires_at BIGINT NOT NULL DEFAULT 0
);

INSERT INTO leader (id) VALUES (1);

-- The servers that work on this database, or did until `seen_at`.
CREATE TABLE server_instance (
  id TEXT COLLATE "C" PRIMARY KEY,
  hostname TEXT COLLATE "C" NOT NULL,
  version TEXT COLLATE "C" NOT NULL,
  started_at BIGINT NOT NULL,
  seen_at BIGINT NOT NULL
);
