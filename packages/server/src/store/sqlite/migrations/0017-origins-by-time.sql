-- Slots of one address by their age: those that come and go are next to each other, and seldom change another page.
DROP INDEX registration_by_origin;
CREATE INDEX registration_by_origin ON registration (license_id, origin, registered_at) WHERE origin IS NOT NULL;
