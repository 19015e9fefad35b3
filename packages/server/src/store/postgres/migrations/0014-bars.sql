-- Who is barred by a command, besides those in the rules file. `kind`: user, host or address.
CREATE TABLE bar (
  kind TEXT COLLATE "C" NOT NULL,
  pattern TEXT COLLATE "C" NOT NULL,
  note TEXT COLLATE "C",
  added_by TEXT COLLATE "C" NOT NULL,
  added_at BIGINT NOT NULL,
  PRIMARY KEY (kind, pattern)
);
