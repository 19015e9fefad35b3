-- The public half of the key that signs confirmation codes; NULL until the key is made. What is written here is
-- missed when its file is gone.
ALTER TABLE cloud ADD COLUMN airgap_public_key TEXT;

-- The date of the newest file of a license. The next one is dated later, whatever the clock says.
ALTER TABLE license ADD COLUMN last_file_at INTEGER NOT NULL DEFAULT 0;

CREATE INDEX device_by_hardware_id ON device (hardware_id);

-- Requests that were answered. Never removed: an id serves once and for ever, and hears the same answer again.
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
  learned_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The newest usage of each server that was taken. A server is its key here, as its counts move with its data.
CREATE TABLE usage_taken (
  server_key TEXT PRIMARY KEY,
  sequence INTEGER NOT NULL,
  digest TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- What each server has told so far. `feature` is empty for the license itself.
CREATE TABLE usage_told (
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

-- Machines that were activated by codes, with the answer that they were given.
CREATE TABLE airgap_activation (
  license_id INTEGER NOT NULL REFERENCES license (id),
  hardware_id TEXT NOT NULL,
  activation_code TEXT NOT NULL,
  confirmation_code TEXT NOT NULL,
  policy_file TEXT NOT NULL,
  confirmed_at INTEGER NOT NULL,
  PRIMARY KEY (license_id, hardware_id)
) STRICT, WITHOUT ROWID;
