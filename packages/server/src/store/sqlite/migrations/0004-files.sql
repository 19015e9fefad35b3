-- What was asked of the vendor in a file. A request serves once: `answered_by` is the license that came for it.
CREATE TABLE offline_request (
  id TEXT PRIMARY KEY,
  request TEXT NOT NULL,
  product TEXT,
  made_at INTEGER NOT NULL,
  answered_by INTEGER
) STRICT;

CREATE INDEX offline_request_by_time ON offline_request (made_at) WHERE answered_by IS NULL;

UPDATE license SET facts = json_set(facts, '$.tie.fileAt', NULL, '$.tie.requestId', NULL,
  '$.tie.confirmationId', NULL, '$.tie.isGivenBack', json('false'));

-- The number of the last file with what was consumed.
ALTER TABLE server ADD COLUMN usage_sequence INTEGER NOT NULL DEFAULT 0;
