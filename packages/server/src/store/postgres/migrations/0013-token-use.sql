-- Whether it was ever used. Nobody noted that before: those from then count as used when they were made.
ALTER TABLE token ADD COLUMN is_used BIGINT NOT NULL DEFAULT 1;
