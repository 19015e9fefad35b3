-- Nothing limits recalls any more, so nothing counts them. The audit log has each of them.
DROP TABLE recall;

-- `origin` is the address that the last register or borrow came from, in a form that sorts: 4 and eight hex digits, or 6
-- and thirty-two. `credential` names what was shown with it. Empty: nobody knows.
ALTER TABLE registration ADD COLUMN origin TEXT COLLATE "C";
ALTER TABLE registration ADD COLUMN credential TEXT COLLATE "C";
CREATE INDEX registration_by_origin ON registration (license_id, origin) WHERE origin IS NOT NULL;

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
