DROP TABLE grant_key;

-- The key with which the server signs grants (Ed25519, 32 bytes in base64url), as it was told for this activation, and
-- whether that was proven: by a pair of keys that opens the license, or by the vendor. Certificates are issued for
-- proven keys only. All of it ends with the activation.
ALTER TABLE device ADD COLUMN grant_key TEXT;
ALTER TABLE device ADD COLUMN proven INTEGER NOT NULL DEFAULT 0;

-- A digest of what the newest certificate says, and when the last one ends; NULL: none was issued.
ALTER TABLE device ADD COLUMN certified TEXT;
ALTER TABLE device ADD COLUMN certified_until INTEGER;

-- Whether the vendor approved this key, and no license of its machine was given back since: what it signs is proven.
ALTER TABLE server_key ADD COLUMN approved INTEGER NOT NULL DEFAULT 0;

ALTER TABLE waiting_key ADD COLUMN grant_key TEXT;

-- When the certificate in the policy file ends; NULL: it has none.
ALTER TABLE airgap_activation ADD COLUMN certificate_ends_at INTEGER;

-- Nonces of requests for certificates, as long as the dates of those requests are tolerated: each counts once.
CREATE TABLE used_nonce (
  -- The name of the pair of keys.
  pair TEXT NOT NULL,
  nonce TEXT NOT NULL,
  until INTEGER NOT NULL,
  PRIMARY KEY (pair, nonce)
) STRICT, WITHOUT ROWID;

CREATE INDEX used_nonce_by_end ON used_nonce (until);
