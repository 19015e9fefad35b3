-- The newest key with which the server on a machine signs grants. Certificates are issued for it.
CREATE TABLE grant_key (
  hardware_id TEXT PRIMARY KEY,
  -- The public key (Ed25519): 32 bytes in base64url.
  x TEXT NOT NULL,
  learned_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
