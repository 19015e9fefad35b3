-- Borrows whose time is over, in case it was the wrong time: a reset of the clock brings them back. `feature` is empty
-- for the license's own slot. `ended_at` is the server's time when the slot was collected.
CREATE TABLE ended_borrow (
  license_id BIGINT NOT NULL,
  "user" TEXT COLLATE "C" NOT NULL,
  feature TEXT COLLATE "C" NOT NULL,
  hostname TEXT COLLATE "C",
  address TEXT COLLATE "C",
  info TEXT COLLATE "C",
  registered_at BIGINT NOT NULL,
  borrowed_until BIGINT NOT NULL,
  origin TEXT COLLATE "C",
  credential TEXT COLLATE "C",
  spelling TEXT COLLATE "C",
  ended_at BIGINT NOT NULL,
  PRIMARY KEY (license_id, "user", feature)
);

CREATE INDEX ended_borrow_by_end ON ended_borrow (license_id, ended_at);
