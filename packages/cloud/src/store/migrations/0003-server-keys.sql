-- Whether the vendor approved the key, or the keys for the cloud vouched for it: it then speaks for every license
-- of its machine. A key that was learned by an activation alone speaks for what that key activated. Keys from
-- before this distinction stay good for everything.
ALTER TABLE server_key ADD COLUMN confirmed INTEGER NOT NULL DEFAULT 0;
UPDATE server_key SET confirmed = 1;

-- Whether the machine's own key signed for this activation; it did not where it was made over the network or by codes.
ALTER TABLE device ADD COLUMN signed INTEGER NOT NULL DEFAULT 0;

-- Keys that signed a file for a machine that is not known by them. They wait for the vendor.
CREATE TABLE waiting_key (
  hardware_id TEXT NOT NULL,
  server_key TEXT NOT NULL,
  -- What the first file asked for: an activation, a deactivation, or that usage is counted.
  asks TEXT NOT NULL,
  -- The address that handed it in; NULL: the vendor did.
  came_from TEXT,
  came_at INTEGER NOT NULL,
  PRIMARY KEY (hardware_id, server_key)
) STRICT, WITHOUT ROWID;
