-- Renewals whose new end is not in the rows yet, in order: the last one of a user counts. A heartbeat only appends here;
-- rows are written later, in bulk. `users` is a JSON array. Rows of `registration` that are not renewed here are exact.
CREATE TABLE renewal (
  seq INTEGER PRIMARY KEY,
  license_id INTEGER NOT NULL,
  ends_at INTEGER NOT NULL,
  users TEXT NOT NULL
) STRICT;
