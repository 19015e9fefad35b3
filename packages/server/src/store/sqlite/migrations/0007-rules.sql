-- What the administrator allows beyond the licenses, as JSON, and since when it is so. Empty: no rules yet.
ALTER TABLE server ADD COLUMN rules TEXT;
ALTER TABLE server ADD COLUMN rules_at INTEGER;
