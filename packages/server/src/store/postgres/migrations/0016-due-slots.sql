-- Never later than `ends_at`. SQLite looks for ended slots by it; here it only has to be right when data moves there.
ALTER TABLE registration ADD COLUMN due_at BIGINT NOT NULL DEFAULT 0;
UPDATE registration SET due_at = ends_at;
