-- Nothing limits recalls any more, so nothing counts them. The audit log has each of them.
DROP TABLE recall;

-- `origin` is the address that the last register or borrow came from, in a form that sorts: 4 and eight hex digits, or 6
-- and thirty-two. `credential` names what was shown with it. Empty: nobody knows.
ALTER TABLE registration ADD COLUMN origin TEXT COLLATE "C";
ALTER TABLE registration ADD COLUMN credential TEXT COLLATE "C";
CREATE INDEX registration_by_origin ON registration (license_id, origin) WHERE origin IS NOT NULL;
