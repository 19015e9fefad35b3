-- The server itself: one row. `mark` is the latest time ever used; `audit_n` and `audit_mac` are the head of the
-- system's chain. `hardware_id` is the one of the last start, `usage_sequence` the number of the last file with
-- what was consumed. `set_up_at`: when an administrator first had a password of their own; from then on nobody sets
-- the server up any more. `audit_anchor` vouches for all chains at once: the MAC of how many links were ever
-- written and of the heads of all chains. It is empty only until the store is opened. `audit_signed_links`: how
-- many links there were when the heads were last signed. `ignores_case`: users that differ only in case are one, and
-- `user` is folded everywhere. `test_clock_ms`: how far the time is ahead of the wall clock in a store for tests.
-- NULL: it is none.
CREATE TABLE server (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  identity TEXT NOT NULL,
  mark INTEGER,
  audit_n INTEGER NOT NULL DEFAULT 0,
  audit_mac BLOB NOT NULL,
  hardware_id TEXT,
  usage_sequence INTEGER NOT NULL DEFAULT 0,
  set_up_at INTEGER,
  audit_anchor BLOB,
  audit_signed_links INTEGER,
  ignores_case INTEGER NOT NULL DEFAULT 0,
  test_clock_ms INTEGER
) STRICT;

-- `facts` is the license as the domain knows it, as JSON. `in_use` counts its rows in `registration`,
-- `counts` as JSON those of groups that the rules name. One that the
-- server gave up keeps its row: its slots, totals and records go on when it is added again.
CREATE TABLE license (
  id INTEGER PRIMARY KEY,
  product TEXT NOT NULL,
  facts TEXT NOT NULL,
  added_order INTEGER NOT NULL UNIQUE,
  added_at INTEGER NOT NULL,
  in_use INTEGER NOT NULL DEFAULT 0 CHECK (in_use >= 0),
  counts TEXT,
  audit_n INTEGER NOT NULL DEFAULT 0,
  audit_mac BLOB NOT NULL,
  removed_at INTEGER
) STRICT;

-- Who holds a slot. The slot is free from `ends_at` on, whether or not the row is still here. `origin` is the
-- address that the last register or borrow came from, in a form that sorts: 4 and eight hex digits, or 6 and
-- thirty-two. `credential` names what was shown with it. NULL: nobody knows. `spelling`: how the holder was spelled
-- when the slot was lent, where `user` is another name for them. `counted_at`: where the rules count the slot, as
-- JSON; NULL: where it is. `programs`: those of the user that use the slot, a line for each; NULL: they have no
-- names. `due_at`: when to look whether the slot has ended; never later than `ends_at`. A heartbeat moves only
-- `ends_at`, so that it does not change an index. Whoever finds a slot due that was renewed sets `due_at` to its end.
CREATE TABLE registration (
  license_id INTEGER NOT NULL,
  user TEXT NOT NULL,
  hostname TEXT,
  address TEXT,
  info TEXT,
  registered_at INTEGER NOT NULL,
  ends_at INTEGER NOT NULL,
  borrowed_until INTEGER,
  programs TEXT,
  origin TEXT,
  counted_at TEXT,
  credential TEXT,
  spelling TEXT,
  due_at INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (license_id, user)
) STRICT, WITHOUT ROWID;

CREATE INDEX registration_by_due ON registration (license_id, due_at);
CREATE INDEX registration_by_borrow ON registration (license_id, borrowed_until) WHERE borrowed_until IS NOT NULL;
-- Slots of one address by their age: those that come and go are next to each other, and seldom change another page.
CREATE INDEX registration_by_origin ON registration (license_id, origin, registered_at) WHERE origin IS NOT NULL;

-- Renewals whose new end is not in the rows yet, in order: the last one of a user counts. A heartbeat only appends
-- here; rows are written later, in bulk. `users` is a JSON array. Rows of `registration` that are not renewed here
-- are exact.
CREATE TABLE renewal (
  seq INTEGER PRIMARY KEY,
  license_id INTEGER NOT NULL,
  ends_at INTEGER NOT NULL,
  users TEXT NOT NULL
) STRICT;

-- Who holds a slot of a feature. It is live while `ends_at` is ahead and the user's registration is live.
CREATE TABLE feature_slot (
  license_id INTEGER NOT NULL,
  user TEXT NOT NULL,
  feature TEXT NOT NULL,
  registered_at INTEGER NOT NULL,
  ends_at INTEGER NOT NULL,
  borrowed_until INTEGER,
  programs TEXT,
  PRIMARY KEY (license_id, user, feature)
) STRICT, WITHOUT ROWID;

CREATE INDEX feature_slot_by_end ON feature_slot (license_id, ends_at);
CREATE INDEX feature_slot_by_feature ON feature_slot (license_id, feature, ends_at);

-- Borrows whose time is over, in case it was the wrong time: a reset of the clock brings them back. `feature` is
-- empty for the license's own slot. `ended_at` is the server's time when the slot was collected.
CREATE TABLE ended_borrow (
  license_id INTEGER NOT NULL,
  user TEXT NOT NULL,
  feature TEXT NOT NULL,
  hostname TEXT,
  address TEXT,
  info TEXT,
  registered_at INTEGER NOT NULL,
  borrowed_until INTEGER NOT NULL,
  programs TEXT,
  origin TEXT,
  counted_at TEXT,
  credential TEXT,
  spelling TEXT,
  ended_at INTEGER NOT NULL,
  PRIMARY KEY (license_id, user, feature)
) STRICT, WITHOUT ROWID;

CREATE INDEX ended_borrow_by_end ON ended_borrow (license_id, ended_at);

-- A user's last denial that became an event, and how often it was repeated within its window. It may concern a
-- feature: '' is the license itself.
CREATE TABLE denial (
  license_id INTEGER NOT NULL,
  user TEXT NOT NULL,
  feature TEXT NOT NULL,
  code TEXT NOT NULL,
  denied_at INTEGER NOT NULL,
  repeated INTEGER NOT NULL,
  PRIMARY KEY (license_id, user, feature, code)
) STRICT, WITHOUT ROWID;

CREATE INDEX denial_by_time ON denial (license_id, denied_at);

-- How many denials from one place have become events since `denied_at`, and how many were only counted.
CREATE TABLE place_denial (
  license_id INTEGER NOT NULL,
  place TEXT NOT NULL,
  code TEXT NOT NULL,
  denied_at INTEGER NOT NULL,
  recorded INTEGER NOT NULL,
  repeated INTEGER NOT NULL,
  PRIMARY KEY (license_id, place, code)
) STRICT, WITHOUT ROWID;

CREATE INDEX place_denial_by_time ON place_denial (license_id, denied_at);
CREATE INDEX place_denial_by_count ON place_denial (license_id) WHERE repeated > 0;

-- What was counted in a window. Old windows stay: they are the history, and a clock that was reset finds its own
-- again.
CREATE TABLE consumption_total (
  license_id INTEGER NOT NULL,
  feature TEXT NOT NULL,
  window_start INTEGER NOT NULL,
  total INTEGER NOT NULL CHECK (total >= 0),
  PRIMARY KEY (license_id, feature, window_start)
) STRICT, WITHOUT ROWID;

-- What the vendor has to be told and has been told, and how many rows `feature_slot` has. `cloud_total`: the total
-- at the vendor's cloud when nothing was on its way there; `cloud_at`: when that was.
CREATE TABLE meter (
  license_id INTEGER NOT NULL,
  feature TEXT NOT NULL,
  pending INTEGER NOT NULL,
  reported INTEGER NOT NULL,
  in_use INTEGER NOT NULL CHECK (in_use >= 0),
  cloud_total INTEGER,
  cloud_at INTEGER,
  PRIMARY KEY (license_id, feature)
) STRICT, WITHOUT ROWID;

-- An amount on its way to the vendor: no longer pending, not yet reported. `uncertain_at`: when it turned out that
-- nobody can tell whether the vendor has counted it.
CREATE TABLE report (
  id TEXT PRIMARY KEY,
  license_id INTEGER NOT NULL,
  feature TEXT NOT NULL,
  amount INTEGER NOT NULL,
  cut_at INTEGER NOT NULL,
  uncertain_at INTEGER
) STRICT;

CREATE INDEX report_by_license ON report (license_id);

-- First answers to requests that carried an Idempotency-Key. `outcome` is JSON.
CREATE TABLE remembered_answer (
  license_id INTEGER NOT NULL,
  operation TEXT NOT NULL,
  user TEXT NOT NULL,
  key TEXT NOT NULL,
  body_hash TEXT NOT NULL,
  answered_at INTEGER NOT NULL,
  outcome TEXT NOT NULL,
  PRIMARY KEY (license_id, operation, user, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX remembered_answer_by_time ON remembered_answer (answered_at);

-- What was asked of the vendor in a file. A request serves once: `answered_by` is the license that came for it.
-- `license_key`: only that one answers it; NULL: any.
CREATE TABLE offline_request (
  id TEXT PRIMARY KEY,
  request TEXT NOT NULL,
  product TEXT,
  license_key TEXT,
  made_at INTEGER NOT NULL,
  answered_by INTEGER
) STRICT;

CREATE INDEX offline_request_by_time ON offline_request (made_at) WHERE answered_by IS NULL;

-- All events of one chain in one commit. `chain` is a license id, or 0 for the system.
CREATE TABLE audit_link (
  seq INTEGER PRIMARY KEY,
  chain INTEGER NOT NULL,
  n INTEGER NOT NULL,
  at INTEGER NOT NULL,
  events TEXT NOT NULL,
  mac BLOB NOT NULL,
  UNIQUE (chain, n)
) STRICT;

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

-- `one_time_at`: when the server made up a one-time password; NULL: it is none. `one_time_used`: somebody has
-- signed in with it. `second_factor_step`: the latest time step whose code was accepted; NULL: it has no second factor.
-- `recovery_codes`: the hashes of those that are left, as JSON. The secret is in `sealed_secret`. `products`: a list in
-- JSON, if it is an operator who is limited to them.
CREATE TABLE account (
  name TEXT PRIMARY KEY,
  role TEXT NOT NULL,
  products TEXT,
  password_hash TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  one_time_at INTEGER,
  one_time_used INTEGER NOT NULL DEFAULT 0,
  second_factor_step INTEGER,
  recovery_codes TEXT NOT NULL DEFAULT '[]'
) STRICT;

-- Tokens are kept as hashes only. A token is of an account, or has a name and a role of its own. One with an account and
-- a role is of a person without an account here, whom a provider or a directory has identified. `restriction`:
-- 'until_set_up': it ends with the setup; 'password_only': it can do nothing but replace its account's password.
CREATE TABLE token (
  token_hash TEXT PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  kind TEXT NOT NULL,
  account TEXT,
  name TEXT UNIQUE,
  role TEXT,
  products TEXT,
  issued_at INTEGER NOT NULL,
  used_at INTEGER NOT NULL,
  expires_at INTEGER,
  restriction TEXT,
  is_used INTEGER NOT NULL,
  CHECK ((account IS NULL) = (name IS NOT NULL)),
  CHECK (account IS NOT NULL OR role IS NOT NULL)
) STRICT;

CREATE INDEX token_by_account ON token (account, used_at);
CREATE INDEX token_by_use ON token (kind, used_at);

CREATE TABLE sealed_secret (
  name TEXT PRIMARY KEY,
  sealed BLOB NOT NULL
) STRICT;

-- Who is barred by a command, besides those in the rules file. `kind`: user, host or address.
CREATE TABLE bar (
  kind TEXT NOT NULL,
  pattern TEXT NOT NULL,
  note TEXT,
  added_by TEXT NOT NULL,
  added_at INTEGER NOT NULL,
  PRIMARY KEY (kind, pattern)
) STRICT, WITHOUT ROWID;

-- Every version of the rules: as written, and as JSON. The latest is in force. `written_in`: the revision that brought
-- the text; later ones have other members of directory groups. `group_ages`: when the directory told them, as JSON.
CREATE TABLE rules_revision (
  revision INTEGER PRIMARY KEY,
  text TEXT NOT NULL,
  written_in INTEGER NOT NULL,
  rules TEXT NOT NULL,
  group_ages TEXT NOT NULL,
  applied_by TEXT NOT NULL,
  applied_at INTEGER NOT NULL
) STRICT;

-- Settings that were changed while the server ran. Flags, environment and file count before them. `value` is JSON.
CREATE TABLE setting (
  name TEXT PRIMARY KEY,
  value TEXT NOT NULL,
  changed_by TEXT NOT NULL,
  changed_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The event up to which each follower of the audit log was told, by its link and its place there. `memory`: what else
-- it has to remember, as JSON.
CREATE TABLE follower (
  name TEXT PRIMARY KEY,
  seq INTEGER NOT NULL,
  place INTEGER NOT NULL,
  memory TEXT
) STRICT, WITHOUT ROWID;

-- What was told once and is not told again: of a license the end of its term, of an outage since when.
CREATE TABLE notice (
  kind TEXT NOT NULL,
  subject TEXT NOT NULL,
  value INTEGER NOT NULL,
  PRIMARY KEY (kind, subject)
) STRICT, WITHOUT ROWID;

-- The history of use. Buckets are sparse: there is a row only where something changed. `grain` is the length of a
-- bucket in milliseconds, and `at` its start. `feature` is empty for the license itself.

-- `net`: by how much the number in use changed; `late`: the sum of each change times its distance from `at`, for
-- the average. `borrowed`: by how much the number of borrowed slots changed. The bucket with the grain 0 sums up
-- what was forgotten.
CREATE TABLE history_slot (
  license_id INTEGER NOT NULL,
  feature TEXT NOT NULL,
  grain INTEGER NOT NULL,
  at INTEGER NOT NULL,
  grants INTEGER NOT NULL,
  returns INTEGER NOT NULL,
  denials INTEGER NOT NULL,
  peak INTEGER NOT NULL,
  net INTEGER NOT NULL,
  late INTEGER NOT NULL,
  borrowed INTEGER NOT NULL,
  PRIMARY KEY (license_id, feature, grain, at)
) STRICT, WITHOUT ROWID;

-- By days, and later by months. `others`: 1 for users that are not named.
CREATE TABLE history_person (
  license_id INTEGER NOT NULL,
  feature TEXT NOT NULL,
  grain INTEGER NOT NULL,
  at INTEGER NOT NULL,
  user TEXT NOT NULL,
  others INTEGER NOT NULL,
  grants INTEGER NOT NULL,
  denials INTEGER NOT NULL,
  sessions INTEGER NOT NULL,
  held_ms INTEGER NOT NULL,
  last_at INTEGER NOT NULL,
  PRIMARY KEY (license_id, user, others, feature, grain, at)
) STRICT, WITHOUT ROWID;

CREATE INDEX history_person_by_day ON history_person (at, license_id) WHERE grain = 86400000;

-- `slots`, `in_use`, `borrowed` and `next_free_at` are as of the first denial.
CREATE TABLE history_denial (
  license_id INTEGER NOT NULL,
  feature TEXT NOT NULL,
  grain INTEGER NOT NULL,
  at INTEGER NOT NULL,
  user TEXT NOT NULL,
  others INTEGER NOT NULL,
  host TEXT NOT NULL,
  address TEXT NOT NULL,
  reason TEXT NOT NULL,
  rule TEXT NOT NULL,
  denials INTEGER NOT NULL,
  first_at INTEGER NOT NULL,
  last_at INTEGER NOT NULL,
  slots INTEGER,
  in_use INTEGER,
  borrowed INTEGER,
  next_free_at INTEGER,
  PRIMARY KEY (license_id, user, others, host, address, feature, reason, rule, grain, at)
) STRICT, WITHOUT ROWID;

CREATE INDEX history_denial_by_time ON history_denial (at, license_id);

-- Of each reservation and day: how many minutes it applied, and in the sum over these minutes, how many slots were
-- reserved and how many of them were kept free.
CREATE TABLE history_reservation (
  product TEXT NOT NULL,
  feature TEXT NOT NULL,
  rule TEXT NOT NULL,
  at INTEGER NOT NULL,
  minutes INTEGER NOT NULL,
  reserved INTEGER NOT NULL,
  unused INTEGER NOT NULL,
  PRIMARY KEY (product, feature, rule, at)
) STRICT, WITHOUT ROWID;

CREATE TABLE history_consumption (
  license_id INTEGER NOT NULL,
  feature TEXT NOT NULL,
  at INTEGER NOT NULL,
  amount INTEGER NOT NULL,
  PRIMARY KEY (license_id, feature, at)
) STRICT, WITHOUT ROWID;

-- How many slots that were given back on a day had been held for so many minutes.
CREATE TABLE history_duration (
  license_id INTEGER NOT NULL,
  feature TEXT NOT NULL,
  at INTEGER NOT NULL,
  minutes INTEGER NOT NULL,
  sessions INTEGER NOT NULL,
  PRIMARY KEY (license_id, feature, at, minutes)
) STRICT, WITHOUT ROWID;

-- How many users whose wait in the line ended on a day had waited for so many seconds, with and without a slot.
CREATE TABLE history_wait (
  license_id INTEGER NOT NULL,
  feature TEXT NOT NULL,
  at INTEGER NOT NULL,
  seconds INTEGER NOT NULL,
  served INTEGER NOT NULL,
  unserved INTEGER NOT NULL,
  PRIMARY KEY (license_id, feature, at, seconds)
) STRICT, WITHOUT ROWID;
