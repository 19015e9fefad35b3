-- Only SQLite gathers renewals in a table. Here they are written to their rows.
SELECT 1;
