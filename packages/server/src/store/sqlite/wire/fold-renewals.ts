import type { DatabaseSync } from 'node:sqlite';

/** Every renewal in the log. The last one of a user counts. */
export const LIST_RENEWALS = `SELECT seq, license_id, value AS "user", ends_at
  FROM main.renewal, json_each(users)`;

/** Ends of rows in bulk and in the order of their key, so that each page is written once. */
const FOLD = `UPDATE OR FAIL registration SET ends_at = renewed.ends_at
  FROM (SELECT license_id, "user", ends_at, max(seq) FROM (${LIST_RENEWALS})
    GROUP BY license_id, "user") AS renewed
  WHERE registration.license_id = renewed.license_id AND registration."user" = renewed."user"`;

/** The empty row keeps its number from being used again, by which readers know what they have read. */
const CLEAR = `INSERT INTO renewal (license_id, ends_at, users) VALUES (0, 0, '[]');
  DELETE FROM renewal WHERE seq < (SELECT max(seq) FROM renewal)`;

/** Empties the log, within the caller's transaction. */
export function clearRenewals(db: DatabaseSync): void {
  db.exec(CLEAR);
}

/** Writes the renewals that a crash, or whoever copied the file of a running server, has left in the log. */
export function foldLeftRenewals(db: DatabaseSync): void {
  const isEmpty = db.prepare("SELECT 1 FROM renewal WHERE users <> '[]' LIMIT 1").get() === undefined;
  if (isEmpty) return;
  db.exec('BEGIN IMMEDIATE');
  try {
    db.exec(`${FOLD}; ${CLEAR}; COMMIT`);
  } catch (error) {
    if (db.isTransaction) db.exec('ROLLBACK');
    throw error;
  }
}
