-- How the holder was spelled when the slot was lent, where "user" is another name for them.
ALTER TABLE registration ADD COLUMN spelling TEXT COLLATE "C";

-- Whether users that differ only in case are one: then "user" is folded everywhere.
ALTER TABLE server ADD COLUMN ignores_case BIGINT NOT NULL DEFAULT 0;
