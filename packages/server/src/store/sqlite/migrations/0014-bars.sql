-- Who is barred by a command, besides those in the rules file. `kind`: user, host or address.
CREATE TABLE bar (
  kind TEXT NOT NULL,
  pattern TEXT NOT NULL,
  note TEXT,
  added_by TEXT NOT NULL,
  added_at INTEGER NOT NULL,
  PRIMARY KEY (kind, pattern)
) STRICT, WITHOUT ROWID;
