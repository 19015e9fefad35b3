-- Whose licenses a pair of keys opens; NULL: it is the vendor's own, and opens all.
ALTER TABLE api_key ADD COLUMN customer TEXT;

-- Who holds a license; NULL: nobody in particular, so only the vendor's own pairs open it.
ALTER TABLE license ADD COLUMN customer TEXT;

-- Whether a license is the caller's is decided with these alone. Its row can be large: the time to read it would tell
-- which keys of other customers exist.
CREATE INDEX license_of_customer ON license (license_key, product_id, customer);
CREATE INDEX user_of_customer ON license (product_id, user_name, customer);

-- Whose pair of keys vouched for the key of a server: it speaks for this customer's licenses. NULL: for all of its
-- machine, because the vendor did.
ALTER TABLE server_key ADD COLUMN customer TEXT;
