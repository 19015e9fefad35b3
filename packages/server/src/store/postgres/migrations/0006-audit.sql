-- Of each license, and of the system, the MAC of how many links its chain has and of its head: with one for all chains,
-- all licenses would wait for each other. `audit_chains` vouches for which chains there are. All are empty only until
-- the store is opened. `audit_signed_links`: how many links there were when the heads were last signed.
ALTER TABLE license ADD COLUMN audit_anchor BYTEA;
ALTER TABLE server ADD COLUMN audit_anchor BYTEA;
ALTER TABLE server ADD COLUMN audit_chains BYTEA;
ALTER TABLE server ADD COLUMN audit_signed_links BIGINT;

-- What is left of the first links of a chain when they were thinned out. `totals` is JSON: events by their kind.
CREATE TABLE audit_segment (
  chain BIGINT PRIMARY KEY,
  first_n BIGINT NOT NULL,
  last_n BIGINT NOT NULL,
  first_mac BYTEA NOT NULL,
  last_mac BYTEA NOT NULL,
  first_at BIGINT NOT NULL,
  last_at BIGINT NOT NULL,
  links BIGINT NOT NULL,
  events BIGINT NOT NULL,
  totals TEXT COLLATE "C" NOT NULL,
  mac BYTEA NOT NULL
);
