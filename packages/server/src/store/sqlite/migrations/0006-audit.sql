-- Vouches for all chains at once: the MAC of how many links were ever written and of the heads of all chains. Empty
-- only until the store is opened. `audit_signed_links`: how many links there were when the heads were last signed.
ALTER TABLE server ADD COLUMN audit_anchor BLOB;
ALTER TABLE server ADD COLUMN audit_signed_links INTEGER;

-- What is left of the first links of a chain when they were thinned out. `totals` is JSON: events by their kind.
CREATE TABLE audit_segment (
  chain INTEGER PRIMARY KEY,
  first_n INTEGER NOT NULL,
  last_n INTEGER NOT NULL,
  first_mac BLOB NOT NULL,
  last_mac BLOB NOT NULL,
  first_at INTEGER NOT NULL,
  last_at INTEGER NOT NULL,
  links INTEGER NOT NULL,
  events INTEGER NOT NULL,
  totals TEXT NOT NULL,
  mac BLOB NOT NULL
) STRICT;
