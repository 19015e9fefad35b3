-- Borrows whose time is over, in case it was the wrong time: a reset of the clock brings them back. `feature` is empty
-- for the license's own slot. `ended_at` is the server's time when the slot was collected.
CREATE TABLE ended_borrow (
  license_id INTEGER NOT NULL,
  user TEXT NOT NULL,
  feature TEXT NOT NULL,
  hostname TEXT,
  address TEXT,
  info TEXT,
  registered_at INTEGER NOT NULL,
  borrowed_until INTEGER NOT NULL,
  origin TEXT,
  credential TEXT,
  spelling TEXT,
  ended_at INTEGER NOT NULL,
  PRIMARY KEY (license_id, user, feature)
) STRICT, WITHOUT ROWID;

CREATE INDEX ended_borrow_by_end ON ended_borrow (license_id, ended_at);
