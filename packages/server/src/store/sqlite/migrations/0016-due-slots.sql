-- When to look whether a slot has ended; never later than `ends_at`. A heartbeat moves only `ends_at`, so that it does
-- not change an index. Whoever finds a slot due that was renewed sets `due_at` to its end.
ALTER TABLE registration ADD COLUMN due_at INTEGER NOT NULL DEFAULT 0;
UPDATE registration SET due_at = ends_at;
DROP INDEX registration_by_end;
CREATE INDEX registration_by_due ON registration (license_id, due_at);
