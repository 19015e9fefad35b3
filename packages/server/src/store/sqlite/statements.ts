import type { DatabaseSync, StatementSync } from 'node:sqlite';

/**
 * Every statement of the writing connection, prepared once. Intervals are half-open: a slot is live while
 * `ends_at > now`.
 */
const SQL = {
  // licenses
  listLicenses: 'SELECT * FROM license ORDER BY added_order',
  putLicense: `
    INSERT INTO license (id, product, facts, added_order, added_at, audit_mac)
    VALUES (:id, :product, :facts, :order, :now, :mac)
    ON CONFLICT (id) DO UPDATE SET product = excluded.product, facts = excluded.facts`,
  updateLicenseHead: 'UPDATE license SET in_use = :inUse, audit_n = :n, audit_mac = :mac WHERE id = :id',

  // registrations
  findRegistration: 'SELECT * FROM registration WHERE license_id = ? AND user = ?',
  findFirstEnd: 'SELECT min(ends_at) AS ends_at FROM registration WHERE license_id = ?',
  findNextEnd: 'SELECT min(ends_at) AS ends_at FROM registration WHERE license_id = ? AND ends_at > ?',
  listEnded: `
    SELECT * FROM registration WHERE license_id = ? AND ends_at <= ?
    ORDER BY ends_at LIMIT ?`,
  countEnded: 'SELECT count(*) AS count FROM registration WHERE license_id = ? AND ends_at <= ?',
  hasEndedSince: 'SELECT 1 FROM registration WHERE license_id = ? AND ends_at > ? AND ends_at <= ? LIMIT 1',
  putRegistration: `
    INSERT INTO registration
      (license_id, user, hostname, address, info, registered_at, ends_at, borrowed_until)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET hostname = excluded.hostname, address = excluded.address, info = excluded.info,
      registered_at = excluded.registered_at, ends_at = excluded.ends_at,
      borrowed_until = excluded.borrowed_until`,
  removeRegistration: 'DELETE FROM registration WHERE license_id = ? AND user = ?',
  removeLiveRegistrations: 'DELETE FROM registration WHERE license_id = ? AND ends_at > ?',
  endRegistrationsBy: `
    UPDATE registration SET ends_at = :endsBy, borrowed_until = min(borrowed_until, :endsBy)
    WHERE license_id = :id AND ends_at > :endsBy`,

  // the clock
  prolongLive: `
    UPDATE registration SET ends_at = :floor
    WHERE license_id = :id AND ends_at > :mark AND ends_at < :floor`,
  pullBackLive: `
    UPDATE registration SET registered_at = min(registered_at, :now),
      borrowed_until = iif(borrowed_until > :from, min(borrowed_until, :borrowCap), NULL),
      ends_at = max(:heartbeatEnd, iif(borrowed_until > :from, min(borrowed_until, :borrowCap), 0))
    WHERE license_id = :id`,
  pullBackRecalls: 'UPDATE recall SET recalled_at = :now WHERE recalled_at > :now',
  pullBackDenials: 'UPDATE denial SET denied_at = :now WHERE denied_at > :now',
  pullBackTokens: 'UPDATE token SET used_at = :now WHERE used_at > :now',
  saveServer: 'UPDATE server SET mark = ?, audit_n = ?, audit_mac = ? WHERE id = 1',
  getServer: 'SELECT * FROM server WHERE id = 1',

  // denials and recalls
  listDenialsOf: 'SELECT * FROM denial WHERE license_id = ? AND user = ?',
  listDenialsBy: 'SELECT * FROM denial WHERE license_id = ? AND denied_at <= ? ORDER BY denied_at LIMIT ?',
  putDenial: `
    INSERT INTO denial (license_id, user, code, denied_at, repeated) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET denied_at = excluded.denied_at, repeated = excluded.repeated`,
  removeDenial: 'DELETE FROM denial WHERE license_id = ? AND user = ? AND code = ?',
  countRecalls: 'SELECT count(*) AS count FROM recall WHERE license_id = ? AND recalled_at > ?',
  addRecall: 'INSERT INTO recall (license_id, recalled_at, user, borrowed_until) VALUES (?, ?, ?, ?)',

  // audit
  addAuditLink: 'INSERT INTO audit_link (chain, n, at, events, mac) VALUES (?, ?, ?, ?, ?)',

  // accounts and tokens
  findAccount: 'SELECT 1 FROM account WHERE name = ?',
  putAccount: `
    INSERT INTO account (name, role, password_hash, one_time, created_at) VALUES (?, ?, ?, ?, ?)`,
  findToken: 'SELECT used_at FROM token WHERE token_hash = ?',
  putToken: 'INSERT INTO token (token_hash, account, issued_at, used_at) VALUES (?, ?, ?, ?)',
  touchToken: 'UPDATE token SET used_at = ? WHERE token_hash = ?',
  removeTokens: 'DELETE FROM token WHERE used_at <= ?',

  // transactions
  begin: 'BEGIN IMMEDIATE',
  commit: 'COMMIT',
  rollback: 'ROLLBACK',
  savepoint: 'SAVEPOINT command',
  release: 'RELEASE command',
  rollbackTo: 'ROLLBACK TO command',
} as const;

export type Statements = Readonly<Record<keyof typeof SQL, StatementSync>>;

export function prepareStatements(db: DatabaseSync): Statements {
  const entries = Object.entries(SQL).map(([name, sql]) => [name, db.prepare(sql)]);
  return Object.fromEntries(entries) as Statements;
}
