-- Text is ordered by its bytes, as everywhere else in Berth: COLLATE "C". Tables of which rows are changed in place
-- leave room for it on their pages (fillfactor), so that no index must be touched.

-- What all servers on this database are together: one row. `mark` is the latest time ever used; `alive_at` is when
-- any of them was last alive. `revision` grows with every change of the licenses on offer or of the rules.
-- `audit_n` and `audit_mac` are the head of the system's chain. `receipts` is JSON: by server the id of the last
-- batch it committed. `hardware_id` is the one of the last start, `usage_sequence` the number of the last file with
-- what was consumed. `set_up_at`: when an administrator first had a password of their own; from then on nobody sets
-- the server up any more. `audit_anchor`, here and of each license, is the MAC of how many links its chain has and
-- of its head: with one for all chains, all licenses would wait for each other. `audit_chains` vouches for which
-- chains there are. All are empty only until the store is opened. `audit_signed_links`: how many links there were
-- when the heads were last signed. `ignores_case`: users that differ only in case are one, and `user` is folded
-- everywhere. `test_clock_ms`: how far the time is ahead of the wall clock in a store for tests. NULL: it is none.
CREATE TABLE server (
  id BIGINT PRIMARY KEY CHECK (id = 1),
  identity TEXT COLLATE "C" NOT NULL,
  mark BIGINT,
  audit_n BIGINT NOT NULL DEFAULT 0,
  audit_mac BYTEA NOT NULL,
  revision BIGINT NOT NULL DEFAULT 0,
  alive_at BIGINT,
  receipts TEXT COLLATE "C" NOT NULL DEFAULT '{}',
  hardware_id TEXT COLLATE "C",
  usage_sequence BIGINT NOT NULL DEFAULT 0,
  set_up_at BIGINT,
  audit_anchor BYTEA,
  audit_chains BYTEA,
  audit_signed_links BIGINT,
  ignores_case BIGINT NOT NULL DEFAULT 0,
  test_clock_ms BIGINT
);

-- `facts` is the license as the domain knows it, as JSON. `in_use` counts its rows in `registration`. `mark` is the
-- latest time ever used on it; `receipts` is as in `server`, of batches on this license. One that the server gave
-- up keeps its row: its slots, totals and records go on when it is added again.
CREATE TABLE license (
  id BIGINT PRIMARY KEY,
  product TEXT COLLATE "C" NOT NULL,
  facts TEXT COLLATE "C" NOT NULL,
  added_order BIGINT NOT NULL UNIQUE,
  added_at BIGINT NOT NULL,
  in_use BIGINT NOT NULL DEFAULT 0 CHECK (in_use >= 0),
  counts TEXT COLLATE "C",
  audit_n BIGINT NOT NULL DEFAULT 0,
  audit_mac BYTEA NOT NULL,
  mark BIGINT NOT NULL DEFAULT 0,
  receipts TEXT COLLATE "C" NOT NULL DEFAULT '{}',
  removed_at BIGINT,
  audit_anchor BYTEA,
  -- Another one whenever the line for its product has changed; 0: nobody waits.
  line_version BIGINT NOT NULL DEFAULT 0
) WITH (fillfactor = 80);

-- Who waits for a slot. `feature`: empty for the license itself. `n`: the order in which they came. `command`: the
-- whole request. `presence`: until when connections wait, by server. `lent_by`: the license that has lent a slot
-- which its user does not know of yet. `why`, `rule`: what kept them from a slot.
CREATE TABLE waiting (
  product TEXT COLLATE "C" NOT NULL,
  feature TEXT COLLATE "C" NOT NULL,
  "user" TEXT COLLATE "C" NOT NULL,
  n BIGINT NOT NULL,
  since BIGINT NOT NULL,
  priority BIGINT NOT NULL,
  command TEXT COLLATE "C" NOT NULL,
  presence TEXT COLLATE "C" NOT NULL,
  lent_by BIGINT,
  why TEXT COLLATE "C" NOT NULL,
  rule TEXT COLLATE "C",
  PRIMARY KEY (product, feature, "user")
);

-- How many slots of a license, or of a feature, are held at a host or an address (`kind`), if the rules of the
-- license count them there: its `counts` say so. The leader removes rows of places where nobody is left.
CREATE TABLE place_count (
  license_id BIGINT NOT NULL,
  feature TEXT COLLATE "C" NOT NULL,
  kind TEXT COLLATE "C" NOT NULL,
  place TEXT COLLATE "C" NOT NULL,
  slots BIGINT NOT NULL,
  PRIMARY KEY (license_id, feature, kind, place)
);

-- Who holds a slot. The slot is free from `ends_at` on, whether or not the row is still here. `origin` is the
-- address that the last register or borrow came from, in a form that sorts: 4 and eight hex digits, or 6 and
-- thirty-two. `credential` names what was shown with it. NULL: nobody knows. `spelling`: how the holder was spelled
-- when the slot was lent, where `user` is another name for them. `counted_at`: where the rules count the slot, as
-- JSON; NULL: where it is. `programs`: those of the user that use the slot, a line for each; NULL: they have no names.
CREATE TABLE registration (
  license_id BIGINT NOT NULL,
  "user" TEXT COLLATE "C" NOT NULL,
  hostname TEXT COLLATE "C",
  address TEXT COLLATE "C",
  info TEXT COLLATE "C",
  registered_at BIGINT NOT NULL,
  ends_at BIGINT NOT NULL,
  borrowed_until BIGINT,
  programs TEXT COLLATE "C",
  origin TEXT COLLATE "C",
  counted_at TEXT COLLATE "C",
  credential TEXT COLLATE "C",
  spelling TEXT COLLATE "C",
  PRIMARY KEY (license_id, "user")
) WITH (fillfactor = 80);

-- With the user, by whom those that end together are ordered: after an outage that may be all of them.
CREATE INDEX registration_by_end ON registration (license_id, ends_at, "user");
CREATE INDEX registration_by_borrow ON registration (license_id, borrowed_until) WHERE borrowed_until IS NOT NULL;
-- Slots of one address by their age: those that come and go are next to each other.
CREATE INDEX registration_by_origin ON registration (license_id, origin, registered_at) WHERE origin IS NOT NULL;

-- Who holds a slot of a feature. It is live while `ends_at` is ahead and the user's registration is live.
CREATE TABLE feature_slot (
  license_id BIGINT NOT NULL,
  "user" TEXT COLLATE "C" NOT NULL,
  feature TEXT COLLATE "C" NOT NULL,
  registered_at BIGINT NOT NULL,
  ends_at BIGINT NOT NULL,
  borrowed_until BIGINT,
  programs TEXT COLLATE "C",
  PRIMARY KEY (license_id, "user", feature)
);

CREATE INDEX feature_slot_by_end ON feature_slot (license_id, ends_at, "user", feature);
CREATE INDEX feature_slot_by_feature ON feature_slot (license_id, feature, ends_at);

-- Borrows whose time is over, in case it was the wrong time: a reset of the clock brings them back. `feature` is
-- empty for the license's own slot. `ended_at` is the server's time when the slot was collected.
CREATE TABLE ended_borrow (
  license_id BIGINT NOT NULL,
  "user" TEXT COLLATE "C" NOT NULL,
  feature TEXT COLLATE "C" NOT NULL,
  hostname TEXT COLLATE "C",
  address TEXT COLLATE "C",
  info TEXT COLLATE "C",
  registered_at BIGINT NOT NULL,
  borrowed_until BIGINT NOT NULL,
  programs TEXT COLLATE "C",
  origin TEXT COLLATE "C",
  counted_at TEXT COLLATE "C",
  credential TEXT COLLATE "C",
  spelling TEXT COLLATE "C",
  ended_at BIGINT NOT NULL,
  PRIMARY KEY (license_id, "user", feature)
);

CREATE INDEX ended_borrow_by_end ON ended_borrow (license_id, ended_at);

-- A user's last denial that became an event, and how often it was repeated within its window. It may concern a
-- feature: '' is the license itself.
CREATE TABLE denial (
  license_id BIGINT NOT NULL,
  "user" TEXT COLLATE "C" NOT NULL,
  feature TEXT COLLATE "C" NOT NULL,
  code TEXT COLLATE "C" NOT NULL,
  denied_at BIGINT NOT NULL,
  repeated BIGINT NOT NULL,
  PRIMARY KEY (license_id, "user", feature, code)
);

CREATE INDEX denial_by_time ON denial (license_id, denied_at);

-- How many denials from one place have become events since `denied_at`, and how many were only counted.
CREATE TABLE place_denial (
  license_id BIGINT NOT NULL,
  place TEXT COLLATE "C" NOT NULL,
  code TEXT COLLATE "C" NOT NULL,
  denied_at BIGINT NOT NULL,
  recorded BIGINT NOT NULL,
  repeated BIGINT NOT NULL,
  PRIMARY KEY (license_id, place, code)
);

CREATE INDEX place_denial_by_time ON place_denial (license_id, denied_at);
CREATE INDEX place_denial_by_count ON place_denial (license_id) WHERE repeated > 0;

-- What was counted in a window. Old windows stay: they are the history, and a clock that was reset finds its own
-- again.
CREATE TABLE consumption_total (
  license_id BIGINT NOT NULL,
  feature TEXT COLLATE "C" NOT NULL,
  window_start BIGINT NOT NULL,
  total BIGINT NOT NULL CHECK (total >= 0),
  PRIMARY KEY (license_id, feature, window_start)
) WITH (fillfactor = 80);

-- What the vendor has to be told and has been told, and how many rows `feature_slot` has. `cloud_total`: the total
-- at the vendor's cloud when nothing was on its way there; `cloud_at`: when that was.
CREATE TABLE meter (
  license_id BIGINT NOT NULL,
  feature TEXT COLLATE "C" NOT NULL,
  pending BIGINT NOT NULL,
  reported BIGINT NOT NULL,
  in_use BIGINT NOT NULL CHECK (in_use >= 0),
  cloud_total BIGINT,
  cloud_at BIGINT,
  PRIMARY KEY (license_id, feature)
) WITH (fillfactor = 80);

-- An amount on its way to the vendor: no longer pending, not yet reported. `uncertain_at`: when it turned out that
-- nobody can tell whether the vendor has counted it.
CREATE TABLE report (
  id TEXT COLLATE "C" PRIMARY KEY,
  license_id BIGINT NOT NULL,
  feature TEXT COLLATE "C" NOT NULL,
  amount BIGINT NOT NULL,
  cut_at BIGINT NOT NULL,
  uncertain_at BIGINT
);

CREATE INDEX report_by_license ON report (license_id);

-- First answers to requests that carried an Idempotency-Key. `outcome` is JSON.
CREATE TABLE remembered_answer (
  license_id BIGINT NOT NULL,
  operation TEXT COLLATE "C" NOT NULL,
  "user" TEXT COLLATE "C" NOT NULL,
  key TEXT COLLATE "C" NOT NULL,
  body_hash TEXT COLLATE "C" NOT NULL,
  answered_at BIGINT NOT NULL,
  outcome TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (license_id, operation, "user", key)
);

CREATE INDEX remembered_answer_by_time ON remembered_answer (answered_at);

-- What was asked of the vendor in a file. A request serves once: `answered_by` is the license that came for it.
-- `license_key`: only that one answers it; NULL: any.
CREATE TABLE offline_request (
  id TEXT COLLATE "C" PRIMARY KEY,
  request TEXT COLLATE "C" NOT NULL,
  product TEXT COLLATE "C",
  license_key TEXT COLLATE "C",
  made_at BIGINT NOT NULL,
  answered_by BIGINT
);

CREATE INDEX offline_request_by_time ON offline_request (made_at) WHERE answered_by IS NULL;

-- All events of one chain in one commit. `chain` is a license id, or 0 for the system. `id` is the order of
-- writing, which is not that of the commits: a link may appear behind one with a greater id. So `seq` is given
-- after the commit, by one server at a time, and whoever reads on from a `seq` misses nothing.
CREATE TABLE audit_link (
  id BIGINT GENERATED ALWAYS AS IDENTITY,
  seq BIGINT UNIQUE,
  chain BIGINT NOT NULL,
  n BIGINT NOT NULL,
  at BIGINT NOT NULL,
  events TEXT COLLATE "C" NOT NULL,
  mac BYTEA NOT NULL,
  PRIMARY KEY (chain, n)
);

CREATE INDEX audit_link_without_seq ON audit_link (id) WHERE seq IS NULL;

-- One row: who gives out `seq` locks it, and leaves there the last one given.
CREATE TABLE audit_order (
  id BIGINT PRIMARY KEY CHECK (id = 1),
  last_seq BIGINT NOT NULL DEFAULT 0
);

INSERT INTO audit_order (id) VALUES (1);

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

-- `one_time_at`: when the server made up a one-time password; NULL: it is none. `one_time_used`: somebody has
-- signed in with it. `second_factor_step`: the latest time step whose code was accepted; NULL: it has no second factor.
-- `recovery_codes`: the hashes of those that are left, as JSON. The secret is in `sealed_secret`. `products`: a list in
-- JSON, if it is an operator who is limited to them.
CREATE TABLE account (
  name TEXT COLLATE "C" PRIMARY KEY,
  role TEXT COLLATE "C" NOT NULL,
  products TEXT COLLATE "C",
  password_hash TEXT COLLATE "C" NOT NULL,
  created_at BIGINT NOT NULL,
  one_time_at BIGINT,
  one_time_used BIGINT NOT NULL DEFAULT 0,
  second_factor_step BIGINT,
  recovery_codes TEXT COLLATE "C" NOT NULL DEFAULT '[]'
);

-- Tokens are kept as hashes only. A token is of an account, or has a name and a role of its own. One with an account and
-- a role is of a person without an account here, whom a provider or a directory has identified. `restriction`:
-- 'until_set_up': it ends with the setup; 'password_only': it can do nothing but replace its account's password.
CREATE TABLE token (
  token_hash TEXT COLLATE "C" PRIMARY KEY,
  id TEXT COLLATE "C" NOT NULL UNIQUE,
  kind TEXT COLLATE "C" NOT NULL,
  account TEXT COLLATE "C",
  name TEXT COLLATE "C" UNIQUE,
  role TEXT COLLATE "C",
  products TEXT COLLATE "C",
  issued_at BIGINT NOT NULL,
  used_at BIGINT NOT NULL,
  expires_at BIGINT,
  restriction TEXT COLLATE "C",
  is_used BIGINT NOT NULL,
  CHECK ((account IS NULL) = (name IS NOT NULL)),
  CHECK (account IS NOT NULL OR role IS NOT NULL)
);

CREATE INDEX token_by_account ON token (account, used_at);
CREATE INDEX token_by_use ON token (kind, used_at);

CREATE TABLE sealed_secret (
  name TEXT COLLATE "C" PRIMARY KEY,
  sealed BYTEA NOT NULL
);

-- One row: the server that does what one must do for all, and until when nobody else may.
CREATE TABLE leader (
  id BIGINT PRIMARY KEY CHECK (id = 1),
  holder TEXT COLLATE "C",
  expires_at BIGINT NOT NULL DEFAULT 0
);

INSERT INTO leader (id) VALUES (1);

-- The servers that work on this database, or did until `seen_at`.
CREATE TABLE server_instance (
  id TEXT COLLATE "C" PRIMARY KEY,
  hostname TEXT COLLATE "C" NOT NULL,
  version TEXT COLLATE "C" NOT NULL,
  started_at BIGINT NOT NULL,
  seen_at BIGINT NOT NULL
);

-- Who is barred by a command, besides those in the rules file. `kind`: user, host or address.
CREATE TABLE bar (
  kind TEXT COLLATE "C" NOT NULL,
  pattern TEXT COLLATE "C" NOT NULL,
  note TEXT COLLATE "C",
  added_by TEXT COLLATE "C" NOT NULL,
  added_at BIGINT NOT NULL,
  PRIMARY KEY (kind, pattern)
);

-- Every version of the rules: as written, and as JSON. The latest is in force. `written_in`: the revision that brought
-- the text; later ones have other members of directory groups. `group_ages`: when the directory told them, as JSON.
CREATE TABLE rules_revision (
  revision BIGINT PRIMARY KEY,
  text TEXT COLLATE "C" NOT NULL,
  written_in BIGINT NOT NULL,
  rules TEXT COLLATE "C" NOT NULL,
  group_ages TEXT COLLATE "C" NOT NULL,
  applied_by TEXT COLLATE "C" NOT NULL,
  applied_at BIGINT NOT NULL
);

-- Settings that were changed while the server ran. Flags, environment and file count before them. `value` is JSON.
CREATE TABLE setting (
  name TEXT COLLATE "C" PRIMARY KEY,
  value TEXT COLLATE "C" NOT NULL,
  changed_by TEXT COLLATE "C" NOT NULL,
  changed_at BIGINT NOT NULL
);

-- The event up to which each follower of the audit log was told, by its link and its place there. `memory`: what else
-- it has to remember, as JSON.
CREATE TABLE follower (
  name TEXT COLLATE "C" PRIMARY KEY,
  seq BIGINT NOT NULL,
  place BIGINT NOT NULL,
  memory TEXT COLLATE "C"
);

-- What was told once and is not told again: of a license the end of its term, of an outage since when.
CREATE TABLE notice (
  kind TEXT COLLATE "C" NOT NULL,
  subject TEXT COLLATE "C" NOT NULL,
  value BIGINT NOT NULL,
  PRIMARY KEY (kind, subject)
);

-- The history of use. Buckets are sparse: there is a row only where something changed. `grain` is the length of a
-- bucket in milliseconds, and `at` its start. `feature` is empty for the license itself.

-- `net`: by how much the number in use changed; `late`: the sum of each change times its distance from `at`, for
-- the average. `borrowed`: by how much the number of borrowed slots changed. The bucket with the grain 0 sums up
-- what was forgotten.
CREATE TABLE history_slot (
  license_id BIGINT NOT NULL,
  feature TEXT COLLATE "C" NOT NULL,
  grain BIGINT NOT NULL,
  at BIGINT NOT NULL,
  grants BIGINT NOT NULL,
  returns BIGINT NOT NULL,
  denials BIGINT NOT NULL,
  peak BIGINT NOT NULL,
  net BIGINT NOT NULL,
  late BIGINT NOT NULL,
  borrowed BIGINT NOT NULL,
  PRIMARY KEY (license_id, feature, grain, at)
) WITH (fillfactor = 80);

-- By days, and later by months. `others`: 1 for users that are not named.
CREATE TABLE history_person (
  license_id BIGINT NOT NULL,
  feature TEXT COLLATE "C" NOT NULL,
  grain BIGINT NOT NULL,
  at BIGINT NOT NULL,
  "user" TEXT COLLATE "C" NOT NULL,
  others BIGINT NOT NULL,
  grants BIGINT NOT NULL,
  denials BIGINT NOT NULL,
  sessions BIGINT NOT NULL,
  held_ms BIGINT NOT NULL,
  last_at BIGINT NOT NULL,
  PRIMARY KEY (license_id, "user", others, feature, grain, at)
) WITH (fillfactor = 80);

CREATE INDEX history_person_by_day ON history_person (at, license_id) WHERE grain = 86400000;

-- `slots`, `in_use`, `borrowed` and `next_free_at` are as of the first denial.
CREATE TABLE history_denial (
  license_id BIGINT NOT NULL,
  feature TEXT COLLATE "C" NOT NULL,
  grain BIGINT NOT NULL,
  at BIGINT NOT NULL,
  "user" TEXT COLLATE "C" NOT NULL,
  others BIGINT NOT NULL,
  host TEXT COLLATE "C" NOT NULL,
  address TEXT COLLATE "C" NOT NULL,
  reason TEXT COLLATE "C" NOT NULL,
  rule TEXT COLLATE "C" NOT NULL,
  denials BIGINT NOT NULL,
  first_at BIGINT NOT NULL,
  last_at BIGINT NOT NULL,
  slots BIGINT,
  in_use BIGINT,
  borrowed BIGINT,
  next_free_at BIGINT,
  PRIMARY KEY (license_id, "user", others, host, address, feature, reason, rule, grain, at)
) WITH (fillfactor = 80);

CREATE INDEX history_denial_by_time ON history_denial (at, license_id);

-- Of each reservation and day: how many minutes it applied, and in the sum over these minutes, how many slots were
-- reserved and how many of them were kept free.
CREATE TABLE history_reservation (
  product TEXT COLLATE "C" NOT NULL,
  feature TEXT COLLATE "C" NOT NULL,
  rule TEXT COLLATE "C" NOT NULL,
  at BIGINT NOT NULL,
  minutes BIGINT NOT NULL,
  reserved BIGINT NOT NULL,
  unused BIGINT NOT NULL,
  PRIMARY KEY (product, feature, rule, at)
);

CREATE TABLE history_consumption (
  license_id BIGINT NOT NULL,
  feature TEXT COLLATE "C" NOT NULL,
  at BIGINT NOT NULL,
  amount BIGINT NOT NULL,
  PRIMARY KEY (license_id, feature, at)
) WITH (fillfactor = 80);

-- How many slots that were given back on a day had been held for so many minutes.
CREATE TABLE history_duration (
  license_id BIGINT NOT NULL,
  feature TEXT COLLATE "C" NOT NULL,
  at BIGINT NOT NULL,
  minutes BIGINT NOT NULL,
  sessions BIGINT NOT NULL,
  PRIMARY KEY (license_id, feature, at, minutes)
) WITH (fillfactor = 80);

-- How many users whose wait in the line ended on a day had waited for so many seconds, with and without a slot.
CREATE TABLE history_wait (
  license_id BIGINT NOT NULL,
  feature TEXT COLLATE "C" NOT NULL,
  at BIGINT NOT NULL,
  seconds BIGINT NOT NULL,
  served BIGINT NOT NULL,
  unserved BIGINT NOT NULL,
  PRIMARY KEY (license_id, feature, at, seconds)
) WITH (fillfactor = 80);
