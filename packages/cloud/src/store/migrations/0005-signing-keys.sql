-- The vendor's signing keys; the private halves are in files beside the database. A key is in this list only while its
-- file is there: the file is written first, and a retired key leaves the list after its file.
CREATE TABLE signing_key (
  -- SHA-256 of the public key.
  fingerprint TEXT PRIMARY KEY,
  file TEXT NOT NULL UNIQUE,
  state TEXT NOT NULL CHECK (state IN ('signing', 'waiting', 'retired')),
  -- NULL: the first one, which is as old as the cloud.
  added_at INTEGER
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX one_key_signs ON signing_key (state) WHERE state = 'signing';
