-- What was asked of the vendor in a file. A request serves once: `answered_by` is the license that came for it.
CREATE TABLE offline_request (
  id TEXT COLLATE "C" PRIMARY KEY,
  request TEXT COLLATE "C" NOT NULL,
  product TEXT COLLATE "C",
  made_at BIGINT NOT NULL,
  answered_by BIGINT
);

CREATE INDEX offline_request_by_time ON offline_request (made_at) WHERE answered_by IS NULL;

-- The number of the last file with what was consumed.
ALTER TABLE server ADD COLUMN usage_sequence BIGINT NOT NULL DEFAULT 0;
