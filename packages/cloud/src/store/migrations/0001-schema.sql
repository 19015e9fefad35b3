-- The cloud itself: one row. All ids come from `next_id`, so that no two are equal, whatever they name.
CREATE TABLE cloud (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  next_id INTEGER NOT NULL,
  -- The public half of the key that signs confirmation codes; NULL until the key exists. Shows if its file is missing.
  airgap_public_key TEXT
) STRICT;

-- The vendor's signing keys; the private halves are in files beside the database. A key is listed only while its file
-- exists: the file is written first, and a retired key leaves the list after its file.
CREATE TABLE signing_key (
  -- SHA-256 of the public key.
  fingerprint TEXT PRIMARY KEY,
  file TEXT NOT NULL UNIQUE,
  state TEXT NOT NULL CHECK (state IN ('signing', 'waiting', 'retired')),
  -- NULL: the first key, which is as old as the cloud.
  added_at INTEGER
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX one_key_signs ON signing_key (state) WHERE state = 'signing';

-- The credentials of callers. A shared key must stay readable: it is an HMAC key.
CREATE TABLE api_key (
  name TEXT PRIMARY KEY,
  api_key TEXT NOT NULL UNIQUE,
  shared_key TEXT NOT NULL,
  enabled INTEGER NOT NULL DEFAULT 1,
  -- Opens this customer's licenses. NULL: a pair of the vendor, which opens all.
  customer TEXT,
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

CREATE TABLE license (
  id INTEGER PRIMARY KEY,
  license_key TEXT NOT NULL UNIQUE,
  product_id INTEGER NOT NULL REFERENCES product (id),
  user_name TEXT,
  password_hash TEXT,
  -- NULL: only pairs of the vendor open it.
  customer TEXT,
  enabled INTEGER NOT NULL DEFAULT 1,
  active INTEGER NOT NULL DEFAULT 0,
  transfer_count INTEGER NOT NULL DEFAULT 0,
  -- What the vendor grants, as JSON.
  terms TEXT NOT NULL,
  -- The date of the newest license file. The next file is dated later, whatever the clock says.
  last_file_at INTEGER NOT NULL DEFAULT 0,
  created_at INTEGER NOT NULL,
  CHECK ((user_name IS NULL) = (password_hash IS NULL)),
  UNIQUE (product_id, user_name)
) STRICT;

-- These alone decide whether a license belongs to the caller. The row can be large: the time to read it would reveal
-- which keys of other customers exist.
CREATE INDEX license_of_customer ON license (license_key, product_id, customer);
CREATE INDEX user_of_customer ON license (product_id, user_name, customer);

-- The machines on which a license is activated.
CREATE TABLE device (
  id INTEGER PRIMARY KEY,
  license_id INTEGER NOT NULL REFERENCES license (id),
  hardware_id TEXT NOT NULL,
  host TEXT NOT NULL,
  activated_at INTEGER NOT NULL,
  seen_at INTEGER NOT NULL,
  -- Whether the machine's own key signed this activation. Activations over the network or by codes are not signed.
  signed INTEGER NOT NULL DEFAULT 0,
  -- The key with which the server signs grants (Ed25519, 32 bytes in base64url), and whether a pair of keys that opens
  -- the license, or the vendor, proved it. Certificates are issued for proven keys only, until the activation ends.
  grant_key TEXT,
  proven INTEGER NOT NULL DEFAULT 0,
  -- A digest of the newest certificate's contents, and when the last one ends; NULL: none was issued.
  certified TEXT,
  certified_until INTEGER,
  UNIQUE (license_id, hardware_id)
) STRICT;

CREATE INDEX device_by_hardware_id ON device (hardware_id);

CREATE TABLE blocked_device (
  hardware_id TEXT PRIMARY KEY,
  blocked_at INTEGER NOT NULL
) STRICT;

-- The total of each window. `feature` is empty for the license itself.
CREATE TABLE consumption_total (
  license_id INTEGER NOT NULL REFERENCES license (id),
  feature TEXT NOT NULL,
  window_start INTEGER NOT NULL,
  total INTEGER NOT NULL,
  PRIMARY KEY (license_id, feature, window_start)
) STRICT, WITHOUT ROWID;

-- Counted reports. Never removed: each id counts once, for ever.
CREATE TABLE report (
  license_id INTEGER NOT NULL REFERENCES license (id),
  id TEXT NOT NULL,
  feature TEXT NOT NULL,
  amount INTEGER NOT NULL,
  counted_at INTEGER NOT NULL,
  PRIMARY KEY (license_id, id)
) STRICT, WITHOUT ROWID;

-- Answered requests. Never removed: each id is carried out once, and gets the same answer again.
CREATE TABLE offline_request (
  id TEXT PRIMARY KEY,
  digest TEXT NOT NULL,
  license_id INTEGER NOT NULL REFERENCES license (id),
  answer TEXT NOT NULL,
  answered_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The key with which the server on a machine signs. It outlives activations: a license may come back.
CREATE TABLE server_key (
  hardware_id TEXT PRIMARY KEY,
  server_key TEXT NOT NULL,
  -- Whether the vendor or a pair of keys vouched for it: it then speaks for every license of its machine. A key that
  -- was learned by an activation alone speaks only for what it activated.
  confirmed INTEGER NOT NULL DEFAULT 0,
  -- Whose pair of keys vouched for it: it speaks for this customer's licenses. NULL: for all, because the vendor did.
  customer TEXT,
  -- Whether the vendor approved it, and no license of its machine was returned since: what it signs is proven.
  approved INTEGER NOT NULL DEFAULT 0,
  learned_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Keys that signed a file for a machine that has another key, or none. They wait for the vendor.
CREATE TABLE waiting_key (
  hardware_id TEXT NOT NULL,
  server_key TEXT NOT NULL,
  grant_key TEXT,
  -- What the first file asked for: an activation, a deactivation, or to count usage.
  asks TEXT NOT NULL,
  -- The address that submitted it; NULL: the vendor did.
  came_from TEXT,
  came_at INTEGER NOT NULL,
  PRIMARY KEY (hardware_id, server_key)
) STRICT, WITHOUT ROWID;

-- Nonces of requests for certificates, while the dates of those requests are accepted: each nonce counts once.
CREATE TABLE used_nonce (
  -- The name of the pair of keys.
  pair TEXT NOT NULL,
  nonce TEXT NOT NULL,
  until INTEGER NOT NULL,
  PRIMARY KEY (pair, nonce)
) STRICT, WITHOUT ROWID;

CREATE INDEX used_nonce_by_end ON used_nonce (until);

-- The newest usage file of each server. The key identifies the server, because its counts move with its data.
CREATE TABLE usage_taken (
  server_key TEXT PRIMARY KEY,
  sequence INTEGER NOT NULL,
  digest TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- What each server has reported so far. `feature` is empty for the license itself.
CREATE TABLE usage_reported (
  server_key TEXT NOT NULL,
  license_id INTEGER NOT NULL REFERENCES license (id),
  feature TEXT NOT NULL,
  consumed INTEGER NOT NULL,
  PRIMARY KEY (server_key, license_id, feature)
) STRICT, WITHOUT ROWID;

-- Initialization codes that wait for their machine. They stay readable: activation codes are checked with them.
CREATE TABLE airgap_start (
  license_id INTEGER PRIMARY KEY REFERENCES license (id),
  initialization_code TEXT NOT NULL,
  started_at INTEGER NOT NULL
) STRICT;

-- Machines that were activated by codes, with their answer.
CREATE TABLE airgap_activation (
  license_id INTEGER NOT NULL REFERENCES license (id),
  hardware_id TEXT NOT NULL,
  activation_code TEXT NOT NULL,
  confirmation_code TEXT NOT NULL,
  policy_file TEXT NOT NULL,
  -- When the certificate in the policy file ends; NULL: it has none.
  certificate_ends_at INTEGER,
  confirmed_at INTEGER NOT NULL,
  PRIMARY KEY (license_id, hardware_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE event (
  seq INTEGER PRIMARY KEY,
  at INTEGER NOT NULL,
  kind TEXT NOT NULL,
  license_id INTEGER,
  facts TEXT NOT NULL
) STRICT;

CREATE INDEX event_by_license ON event (license_id, seq);
