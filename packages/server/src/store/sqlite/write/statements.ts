import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { COMMON_SQL, HOLDER_END, IS_STILL_BORROWED } from '../../engine/common-sql.ts';
import type { StatementName } from '../../engine/statements.ts';

/**
 * Every statement of the writing connection, prepared once. Intervals are half-open: a slot is live while
 * `ends_at > now`.
 */
const SQL = {
  ...COMMON_SQL,

  // licenses
  putLicense: `
    INSERT INTO license (id, product, facts, added_order, added_at, audit_mac)
    VALUES (:id, :product, :facts, :order, :now, :mac)
    ON CONFLICT (id) DO UPDATE SET product = excluded.product, facts = excluded.facts,
      added_order = excluded.added_order, added_at = iif(removed_at IS NULL, added_at, :now),
      removed_at = NULL`,

  // registrations
  findRegistration: 'SELECT * FROM registration WHERE license_id = ? AND user = ?',
  listEnded: `
    SELECT * FROM registration WHERE license_id = ? AND ends_at <= ?
    ORDER BY ends_at LIMIT ?`,
  putRegistration: `
    INSERT INTO registration
      (license_id, user, hostname, address, info, registered_at, ends_at, borrowed_until, origin, credential,
       spelling)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET hostname = excluded.hostname, address = excluded.address, info = excluded.info,
      registered_at = excluded.registered_at, ends_at = excluded.ends_at,
      borrowed_until = excluded.borrowed_until, origin = excluded.origin, credential = excluded.credential,
      spelling = excluded.spelling`,
  renewRegistration: 'UPDATE registration SET ends_at = ? WHERE license_id = ? AND user = ?',
  removeRegistration: 'DELETE FROM registration WHERE license_id = ? AND user = ?',
  endRegistrationsBy: `
    UPDATE registration SET ends_at = :endsBy, borrowed_until = min(borrowed_until, :endsBy)
    WHERE license_id = :id AND ends_at > :endsBy`,

  // borrows that have ended
  trimEndedBorrows: `
    DELETE FROM ended_borrow WHERE (license_id, user, feature) IN
      (SELECT license_id, user, feature FROM ended_borrow WHERE license_id = :id
       ORDER BY ended_at DESC, user, feature LIMIT -1 OFFSET :kept)`,
  removeEndedBorrows: `
    DELETE FROM ended_borrow
    WHERE license_id = :id AND user = :user AND (:feature IS NULL OR feature = :feature)`,

  // the clock
  pullBackLive: `
    UPDATE registration SET registered_at = min(registered_at, :now),
      borrowed_until = iif(${IS_STILL_BORROWED}, min(borrowed_until, :borrowCap), NULL),
      ends_at = max(:heartbeatEnd, iif(${IS_STILL_BORROWED}, min(borrowed_until, :borrowCap), 0))
    WHERE license_id = :id`,
  pullBackTokens: `
    UPDATE token SET used_at = min(used_at, :now), issued_at = min(issued_at, :now),
      expires_at = expires_at - max(issued_at - :now, 0)
    WHERE used_at > :now OR issued_at > :now`,

  // denials
  listDenialsOf: 'SELECT * FROM denial WHERE license_id = ? AND user = ?',
  listDenialsBy: 'SELECT * FROM denial WHERE license_id = ? AND denied_at <= ? ORDER BY denied_at LIMIT ?',
  putDenial: `
    INSERT INTO denial (license_id, user, feature, code, denied_at, repeated) VALUES (?, ?, ?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET denied_at = excluded.denied_at, repeated = excluded.repeated`,
  removeDenial: 'DELETE FROM denial WHERE license_id = ? AND user = ? AND feature = ? AND code = ?',

  // consumption
  putMeter: `
    INSERT INTO meter (license_id, feature, pending, reported, cloud_total, cloud_at, in_use)
    VALUES (?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET pending = excluded.pending, reported = excluded.reported,
      cloud_total = excluded.cloud_total, cloud_at = excluded.cloud_at, in_use = excluded.in_use`,
  putTotal: `
    INSERT INTO consumption_total (license_id, feature, window_start, total) VALUES (?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET total = excluded.total`,
  listReports: 'SELECT * FROM report WHERE license_id = ?',

  // first answers
  findAnswer: `
    SELECT * FROM remembered_answer WHERE license_id = ? AND operation = ? AND user = ? AND key = ?`,
  rememberAnswer: `
    INSERT INTO remembered_answer (license_id, operation, user, key, body_hash, answered_at, outcome)
    VALUES (?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET body_hash = excluded.body_hash, answered_at = excluded.answered_at,
      outcome = excluded.outcome`,
  countStaleAnswers: `
    SELECT count(*) AS count FROM
      (SELECT 1 FROM remembered_answer WHERE answered_at <= ? AND license_id = ? LIMIT ?)`,
  removeStaleAnswers: `
    DELETE FROM remembered_answer WHERE (license_id, operation, user, key) IN
      (SELECT license_id, operation, user, key FROM remembered_answer
       WHERE answered_at <= ? AND license_id = ? LIMIT ?)`,
  removeOldestAnswers: `
    DELETE FROM remembered_answer WHERE (license_id, operation, user, key) IN
      (SELECT license_id, operation, user, key FROM remembered_answer ORDER BY answered_at LIMIT ?)`,

  // feature slots
  listFeatureSlotsOf: 'SELECT * FROM feature_slot WHERE license_id = ? AND user = ?',
  listEndedFeatureSlots: `
    SELECT * FROM feature_slot WHERE license_id = ? AND ends_at <= ? ORDER BY ends_at LIMIT ?`,
  findNextFeatureEnd: `
    SELECT feature_slot.ends_at FROM feature_slot CROSS JOIN registration USING (license_id, user)
    WHERE license_id = :id AND feature = :feature
      AND feature_slot.ends_at > :now AND registration.ends_at > :now
    ORDER BY feature_slot.ends_at LIMIT 1`,
  countLiveFeatureSlots: `
    SELECT count(*) AS count FROM feature_slot JOIN registration USING (license_id, user)
    WHERE license_id = :id AND (:feature IS NULL OR feature = :feature)
      AND feature_slot.ends_at > :now AND registration.ends_at > :now`,
  putFeatureSlot: `
    INSERT INTO feature_slot (license_id, user, feature, registered_at, ends_at, borrowed_until)
    VALUES (?, ?, ?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET registered_at = excluded.registered_at, ends_at = excluded.ends_at,
      borrowed_until = excluded.borrowed_until`,
  removeFeatureSlot: 'DELETE FROM feature_slot WHERE license_id = ? AND user = ? AND feature = ?',
  listFeaturesInUse: 'SELECT DISTINCT feature FROM feature_slot WHERE license_id = ?',
  endFeatureSlotsBy: `
    UPDATE feature_slot SET ends_at = :endsBy, borrowed_until = min(borrowed_until, :endsBy)
    WHERE license_id = :id AND feature = :feature AND ends_at > :endsBy`,
  pullBackFeatures: `
    UPDATE feature_slot SET registered_at = min(registered_at, :now),
      borrowed_until = iif(${IS_STILL_BORROWED}, min(borrowed_until, :borrowCap, ${HOLDER_END}), NULL),
      ends_at = max(:heartbeatEnd,
        iif(${IS_STILL_BORROWED}, min(borrowed_until, :borrowCap, ${HOLDER_END}), 0))
    WHERE license_id = :id AND feature = :feature`,

  // files that a person carries
  removeOldRequests: `
    DELETE FROM offline_request WHERE id IN
      (SELECT id FROM offline_request WHERE answered_by IS NULL ORDER BY made_at DESC LIMIT -1 OFFSET ?)`,

  // what was told
  putNotice: `
    INSERT INTO notice (kind, subject, value) VALUES (?, ?, ?)
    ON CONFLICT DO UPDATE SET value = excluded.value`,

  // audit
  putSegment: `
    INSERT OR REPLACE INTO audit_segment
      (chain, first_n, last_n, first_mac, last_mac, first_at, last_at, links, events, totals, mac)
    VALUES (:chain, :firstN, :lastN, :firstMac, :lastMac, :firstAt, :lastAt, :links, :events, :totals, :mac)`,

  // accounts and tokens
  removeSurplusTokens: `
    DELETE FROM token WHERE token_hash IN
      (SELECT token_hash FROM token WHERE account = ? ORDER BY used_at DESC LIMIT -1 OFFSET ?)`,

  // secrets
  putSecret: `
    INSERT INTO sealed_secret (name, sealed) VALUES (?, ?)
    ON CONFLICT DO UPDATE SET sealed = excluded.sealed`,
} as const satisfies Record<StatementName, string>;

/** What only this store asks. */
const OWN_SQL = {
  listLicenses: 'SELECT * FROM license ORDER BY added_order',
  updateLicenseHead: 'UPDATE license SET in_use = :inUse, audit_n = :n, audit_mac = :mac WHERE id = :id',
  hasEndedSince: 'SELECT 1 FROM registration WHERE license_id = ? AND ends_at > ? AND ends_at <= ? LIMIT 1',
  saveServer: `
    UPDATE server SET mark = ?, audit_n = ?, audit_mac = ?, audit_anchor = coalesce(?, audit_anchor)
    WHERE id = 1`,
  countAnswers: 'SELECT count(*) AS count FROM remembered_answer',
  hasFeatureEndedSince: `
    SELECT 1 FROM feature_slot WHERE license_id = ? AND ends_at > ? AND ends_at <= ? LIMIT 1`,
  addAuditLink: 'INSERT INTO audit_link (chain, n, at, events, mac) VALUES (?, ?, ?, ?, ?)',
  saveSignedLinks: 'UPDATE server SET audit_signed_links = ? WHERE id = 1',

  // transactions
  begin: 'BEGIN IMMEDIATE',
  commit: 'COMMIT',
  rollback: 'ROLLBACK',
  savepoint: 'SAVEPOINT command',
  release: 'RELEASE command',
  rollbackTo: 'ROLLBACK TO command',
} as const;

export type SqliteStatements = Readonly<Record<keyof typeof SQL | keyof typeof OWN_SQL, StatementSync>>;

export function prepareStatements(db: DatabaseSync): SqliteStatements {
  const all = Object.entries({ ...SQL, ...OWN_SQL });
  return Object.fromEntries(all.map(([name, sql]) => [name, db.prepare(sql)])) as SqliteStatements;
}
