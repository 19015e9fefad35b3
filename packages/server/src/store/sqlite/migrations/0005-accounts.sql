-- When an administrator first had a password of their own: from then on nobody sets the server up any more.
ALTER TABLE server ADD COLUMN set_up_at INTEGER;

UPDATE server SET set_up_at = coalesce(mark, 0)
WHERE EXISTS (SELECT 1 FROM account WHERE role = 'admin' AND one_time = 0);

-- A token is of an account, or has a name and a role of its own.
CREATE TABLE token_with_name (
  token_hash TEXT PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  kind TEXT NOT NULL,
  account TEXT,
  name TEXT UNIQUE,
  role TEXT,
  issued_at INTEGER NOT NULL,
  used_at INTEGER NOT NULL,
  expires_at INTEGER,
  CHECK ((account IS NULL) = (name IS NOT NULL)),
  CHECK ((account IS NULL) = (role IS NOT NULL))
) STRICT;

INSERT INTO token_with_name (token_hash, id, kind, account, issued_at, used_at)
SELECT token_hash, substr(token_hash, 1, 12), 'auth', account, issued_at, used_at FROM token;
DROP TABLE token;
ALTER TABLE token_with_name RENAME TO token;
CREATE INDEX token_by_account ON token (account, used_at);
CREATE INDEX token_by_use ON token (kind, used_at);
