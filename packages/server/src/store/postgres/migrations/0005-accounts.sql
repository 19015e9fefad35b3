-- When an administrator first had a password of their own: from then on nobody sets the server up any more.
ALTER TABLE server ADD COLUMN set_up_at BIGINT;

-- Tokens are kept as hashes only. A token is of an account, or has a name and a role of its own.
CREATE TABLE token (
  token_hash TEXT COLLATE "C" PRIMARY KEY,
  id TEXT COLLATE "C" NOT NULL UNIQUE,
  kind TEXT COLLATE "C" NOT NULL,
  account TEXT COLLATE "C",
  name TEXT COLLATE "C" UNIQUE,
  role TEXT COLLATE "C",
  issued_at BIGINT NOT NULL,
  used_at BIGINT NOT NULL,
  expires_at BIGINT,
  CHECK ((account IS NULL) = (name IS NOT NULL)),
  CHECK ((account IS NULL) = (role IS NOT NULL))
);

CREATE INDEX token_by_account ON token (account, used_at);
CREATE INDEX token_by_use ON token (kind, used_at);
