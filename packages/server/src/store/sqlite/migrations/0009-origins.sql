-- Nothing limits recalls any more, so nothing counts them. The audit log has each of them.
DROP TABLE recall;

-- `origin` is the address that the last register or borrow came from, in a form that sorts: 4 and eight hex digits, or 6
-- and thirty-two. `credential` names what was shown with it. Empty: nobody knows.
ALTER TABLE registration ADD COLUMN origin TEXT;
ALTER TABLE registration ADD COLUMN credential TEXT;
CREATE INDEX registration_by_origin ON registration (license_id, origin) WHERE origin IS NOT NULL;

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
