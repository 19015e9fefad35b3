/** A token of an account has the role that the account has now. */
export const SELECT_TOKEN = `SELECT token.*, coalesce(token.role, account.role) AS role_now
  FROM token LEFT JOIN account ON account.name = token.account`;

/** Those with a name first, since others come and go; then the newest. */
export const TOKEN_ORDER = 'ORDER BY token.name IS NULL, token.issued_at DESC, token.id';

/** The next to end first. */
export const ENDING_ORDER = 'ORDER BY expires_at, token.id';

/** Until when somebody who holds a feature has the license: no feature is borrowed longer. */
export const HOLDER_END = `(SELECT coalesce(holder.borrowed_until, holder.ends_at) FROM registration AS holder
  WHERE holder.license_id = feature_slot.license_id AND holder."user" = feature_slot."user")`;

/**
 * Whether a live slot is borrowed after the clock goes back from `:from` to `:now`: its date had not come
 * even by the wrong time, or it is still ahead and could be chosen at the right time.
 */
export const IS_STILL_BORROWED =
  '(borrowed_until > :from OR (borrowed_until > :now AND borrowed_until <= :latestDate))';

/**
 * Statements that every database understands as they stand. Each store adds those that it has to say its way.
 */
export const COMMON_SQL = {
  // licenses
  updateFacts: 'UPDATE license SET facts = ? WHERE id = ?',
  removeLicense: 'UPDATE license SET removed_at = ? WHERE id = ?',

  // registrations
  findFirstEnd: 'SELECT min(ends_at) AS ends_at FROM registration WHERE license_id = ?',
  findNextEnd: 'SELECT min(ends_at) AS ends_at FROM registration WHERE license_id = ? AND ends_at > ?',
  countEnded: 'SELECT count(*) AS count FROM registration WHERE license_id = ? AND ends_at <= ?',
  countCrowd: `
    SELECT count(*) AS count, count(CASE WHEN borrowed_until > :now THEN 1 END) AS borrows
    FROM registration WHERE license_id = :id AND origin BETWEEN :first AND :last AND ends_at > :now`,
  removeLiveRegistrations: 'DELETE FROM registration WHERE license_id = ? AND ends_at > ?',

  // borrows that have ended
  findEndedBorrow: `SELECT * FROM ended_borrow WHERE license_id = ? AND "user" = ? AND feature = ''`,
  putEndedBorrow: `
    INSERT INTO ended_borrow
      (license_id, "user", feature, hostname, address, info, registered_at, borrowed_until, origin,
       credential, spelling, ended_at)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (license_id, "user", feature) DO UPDATE SET hostname = excluded.hostname,
      address = excluded.address, info = excluded.info, registered_at = excluded.registered_at,
      borrowed_until = excluded.borrowed_until, origin = excluded.origin, credential = excluded.credential,
      spelling = excluded.spelling, ended_at = excluded.ended_at`,
  removeAllEndedBorrows: 'DELETE FROM ended_borrow WHERE license_id = ?',
  listEndedBorrows:
    'SELECT * FROM ended_borrow WHERE borrowed_until > ? ORDER BY license_id, "user", feature',
  listBorrowHolders: `
    SELECT * FROM registration
    WHERE "user" IN (SELECT "user" FROM ended_borrow WHERE borrowed_until > ?)
    ORDER BY license_id, "user"`,
  listBorrowFeatureSlots: `
    SELECT * FROM feature_slot
    WHERE "user" IN (SELECT "user" FROM ended_borrow WHERE borrowed_until > ?)
    ORDER BY license_id, "user", feature`,
  removeSettledBorrows: 'DELETE FROM ended_borrow WHERE borrowed_until > :now',

  // the clock
  pullBackEndedBorrows: 'UPDATE ended_borrow SET ended_at = :now WHERE ended_at > :now',
  prolongLive: `
    UPDATE registration SET ends_at = :floor
    WHERE license_id = :id AND ends_at > :mark AND ends_at < :floor`,
  pullBackDenials: 'UPDATE denial SET denied_at = :now WHERE denied_at > :now',
  pullBackPlaceDenials: 'UPDATE place_denial SET denied_at = :now WHERE denied_at > :now',
  pullBackOneTimePasswords: 'UPDATE account SET one_time_at = :now WHERE one_time_at > :now',
  getServer: 'SELECT * FROM server WHERE id = 1',
  saveHardwareId: 'UPDATE server SET hardware_id = ? WHERE id = 1',

  // denials
  listPlaceDenialsOf: 'SELECT * FROM place_denial WHERE license_id = ? AND place = ? ORDER BY code',
  listPlaceDenialsBy: `
    SELECT * FROM place_denial WHERE license_id = ? AND (repeated > 0 OR denied_at <= ?)
    ORDER BY denied_at, place, code LIMIT ?`,
  putPlaceDenial: `
    INSERT INTO place_denial (license_id, place, code, denied_at, recorded, repeated)
    VALUES (?, ?, ?, ?, ?, ?)
    ON CONFLICT (license_id, place, code) DO UPDATE SET denied_at = excluded.denied_at,
      recorded = excluded.recorded, repeated = excluded.repeated`,
  removePlaceDenial: 'DELETE FROM place_denial WHERE license_id = ? AND place = ? AND code = ?',

  // consumption
  findMeter: 'SELECT * FROM meter WHERE license_id = ? AND feature = ?',
  findTotal: 'SELECT total FROM consumption_total WHERE license_id = ? AND feature = ? AND window_start = ?',
  addReport: 'INSERT INTO report (id, license_id, feature, amount, cut_at) VALUES (?, ?, ?, ?, ?)',
  markReportUncertain: 'UPDATE report SET uncertain_at = ? WHERE license_id = ? AND id = ?',
  removeReport: 'DELETE FROM report WHERE license_id = ? AND id = ?',

  // first answers
  pullBackAnswers: 'UPDATE remembered_answer SET answered_at = :now WHERE answered_at > :now',

  // feature slots
  findFirstFeatureEnd: 'SELECT min(ends_at) AS ends_at FROM feature_slot WHERE license_id = ?',
  removeAllFeatureSlots: 'DELETE FROM feature_slot WHERE license_id = ?',
  prolongLiveFeatures: `
    UPDATE feature_slot SET ends_at = :floor
    WHERE license_id = :id AND feature = :feature AND ends_at > :mark AND ends_at < :floor`,

  // files that a person carries
  findRequest: "SELECT answered_by FROM offline_request WHERE id = ? AND request = 'activation'",
  addRequest: 'INSERT INTO offline_request (id, request, product, made_at) VALUES (?, ?, ?, ?)',
  answerRequest: 'UPDATE offline_request SET answered_by = ? WHERE id = ?',
  voidRequests: `
    UPDATE offline_request SET answered_by = ?
    WHERE answered_by IS NULL AND (product IS NULL OR product = ?)`,
  setUsageSequence: 'UPDATE server SET usage_sequence = ? WHERE id = 1',

  // rules
  putRules: 'UPDATE server SET rules = ?, rules_at = ? WHERE id = 1',
  pullBackRules: 'UPDATE server SET rules_at = :now WHERE rules_at > :now',

  // what was told
  findNotice: 'SELECT value FROM notice WHERE kind = ? AND subject = ?',
  removeNotice: 'DELETE FROM notice WHERE kind = ? AND subject = ?',
  setWebhookCursor: 'UPDATE server SET webhook_seq = ?, webhook_index = ? WHERE id = 1',

  // audit
  findSegment: 'SELECT * FROM audit_segment WHERE chain = ?',
  findLastLinkBefore: `
    SELECT n FROM audit_link WHERE chain = ? AND n > ? AND n <= ? AND at < ? ORDER BY n DESC LIMIT 1`,
  listLinksOf: 'SELECT n, at, events, mac FROM audit_link WHERE chain = ? AND n > ? AND n <= ? ORDER BY n',
  removeLinks: 'DELETE FROM audit_link WHERE chain = ? AND n <= ?',

  // accounts and tokens
  findAccount: 'SELECT role, password_hash, one_time_at, one_time_used FROM account WHERE name = ?',
  countAdministrators: "SELECT count(*) AS count FROM account WHERE role = 'admin'",
  putAccount: `
    INSERT INTO account (name, role, password_hash, one_time, one_time_at, created_at)
    VALUES (?, ?, ?, ?, ?, ?)`,
  putPassword: `
    UPDATE account SET password_hash = ?, one_time = ?, one_time_at = ?, one_time_used = 0 WHERE name = ?`,
  putRole: 'UPDATE account SET role = ? WHERE name = ?',
  removeAccount: 'DELETE FROM account WHERE name = ?',
  endSetup: 'UPDATE server SET set_up_at = coalesce(set_up_at, ?) WHERE id = 1',
  removeSetupTokens: `
    DELETE FROM token WHERE restriction = 'until_set_up' OR (account IS NOT NULL AND token_hash <> ?)`,
  useOneTimePassword: 'UPDATE account SET one_time_used = 1 WHERE name = ?',
  findToken: `${SELECT_TOKEN} WHERE token_hash = ?`,
  findTokenById: `${SELECT_TOKEN} WHERE token.id = :id OR token.name = :id
    ORDER BY token.id = :id DESC LIMIT 1`,
  findTokenByName: `${SELECT_TOKEN} WHERE token.name = ?`,
  putToken: `
    INSERT INTO token
      (token_hash, id, kind, account, name, role, issued_at, used_at, expires_at, restriction, is_used)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0)`,
  touchToken: 'UPDATE token SET used_at = ?, is_used = 1 WHERE token_hash = ?',
  freeToken: "UPDATE token SET restriction = NULL WHERE token_hash = ? AND restriction = 'password_only'",
  removeToken: 'DELETE FROM token WHERE id = ?',
  removeTokensOf: 'DELETE FROM token WHERE account = ? AND token_hash <> ?',
  removeDeadTokens: `
    DELETE FROM token WHERE (kind = 'auth' AND used_at <= ?) OR (kind = 'session' AND issued_at <= ?)`,

  // secrets
  listSecrets: 'SELECT name, sealed FROM sealed_secret',
} as const;
