-- When the server made up a one-time password, and whether somebody has signed in with it. NULL: it is none.
ALTER TABLE account ADD COLUMN one_time_at INTEGER;
ALTER TABLE account ADD COLUMN one_time_used INTEGER NOT NULL DEFAULT 0;

-- Those from before count from now on, by whichever clock is ahead: an upgrade locks nobody out.
UPDATE account SET one_time_at = max(unixepoch() * 1000, coalesce((SELECT mark FROM server), 0)) WHERE one_time = 1;

-- 'until_set_up': it ends with the setup. 'password_only': it can do nothing but replace its account's password.
ALTER TABLE token ADD COLUMN restriction TEXT;
