-- What the administrator allows beyond the licenses, as JSON, and since when it is so. Empty: no rules yet.
ALTER TABLE server ADD COLUMN rules TEXT COLLATE "C";
ALTER TABLE server ADD COLUMN rules_at BIGINT;
