-- Whether the vendor approved the key, or the keys for the cloud vouched for it: it then speaks for every license
-- of its machine. A key that was learned by an activation alone speaks for what that key activated.
ALTER TABLE server_key ADD COLUMN confirmed INTEGER NOT NULL DEFAULT 0;

-- Whether the machine's own key signed for this activation; it did not where it was made over the network or by codes.
ALTER TABLE device ADD COLUMN signed INTEGER NOT NULL DEFAULT 0;

-- Until here the first key that spoke for a machine became its key, so it may be a stranger's. A key keeps only what
-- the events prove. `is_first`: no license was on the machine before, so its own activation brought the key.
CREATE TEMP TABLE learned AS
  SELECT newest.hardware_id, newest.seq, at, coalesce(oldest.seq > newest.seq, 1) AS is_first
  FROM (
    SELECT facts ->> 'hardware_id' AS hardware_id, max(seq) AS seq, at FROM event
    WHERE kind = 'server_key_learned' GROUP BY 1) AS newest
  LEFT JOIN (
    SELECT facts ->> 'hardware_id' AS hardware_id, min(seq) AS seq FROM event
    WHERE kind = 'device_activated' GROUP BY 1) AS oldest USING (hardware_id);
CREATE INDEX temp.learned_by_machine ON learned (hardware_id);

CREATE TEMP TABLE answered AS
  SELECT event.seq, event.at, license_id, learned.hardware_id, learned.at AS learned_at, is_first,
    facts ->> 'request' AS request, facts ->> 'signed_by' AS signed_by
  FROM event JOIN learned ON learned.hardware_id = facts ->> 'hardware_id' AND event.seq > learned.seq
  WHERE kind = 'request_answered';
CREATE INDEX temp.answered_by_device ON answered (license_id, hardware_id);

-- Learned from a file that the keys for the cloud vouched for. Later ones prove nothing: they need not name a key.
UPDATE server_key SET confirmed = 1 WHERE hardware_id IN (
  SELECT hardware_id FROM answered WHERE signed_by = 'cloud-keys' AND at = learned_at);

-- Activated by a file of that key, and not refreshed by anything else since.
UPDATE device SET signed = 1 WHERE EXISTS (
  SELECT 1 FROM answered AS began
  WHERE began.license_id = device.license_id AND began.hardware_id = device.hardware_id
    AND began.at = device.activated_at
    AND began.is_first AND began.request = 'activation' AND began.signed_by = 'server'
    AND NOT EXISTS (
      SELECT 1 FROM event AS refreshed
      WHERE refreshed.license_id = device.license_id AND refreshed.seq > began.seq
        AND refreshed.kind = 'device_refreshed' AND refreshed.facts ->> 'hardware_id' = device.hardware_id
        AND NOT EXISTS (
          SELECT 1 FROM answered AS again
          WHERE again.license_id = device.license_id AND again.hardware_id = device.hardware_id
            AND again.seq > refreshed.seq AND again.at = refreshed.at
            AND again.request = 'activation' AND again.signed_by = 'server')));

DROP TABLE answered;
DROP TABLE learned;

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
