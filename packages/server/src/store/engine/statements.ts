import type { Instant } from '../../core/nouns/instant.ts';
import { HISTORY_STATEMENTS } from './history/history-sql.ts';
import type { AllRows } from './row-sql.ts';
import type { HolderRow, SettingRow, TokenRow } from './rows.ts';
import {
  type Count,
  greater,
  lesser,
  type PreparedAll,
  type Read,
  reads,
  type Write,
  writesTo,
} from './sql.ts';
import type { RowOf } from './tables.ts';

/** A token of an account has the role that the account has now. */
export const SELECT_TOKEN = `SELECT token.*, coalesce(token.role, account.role) AS role_now,
    CASE WHEN token.role IS NULL THEN account.products ELSE token.products END AS products_now,
    account.second_factor_step, account.recovery_codes
  FROM token LEFT JOIN account ON account.name = token.account`;

/** Of registrations. SQLite finds them by when they are due. */
export const HAS_ENDED = {
  sqlite: 'registration.due_at <= :now AND registration.ends_at <= :now',
  postgres: 'registration.ends_at <= :now',
};

/** By kind and pattern, so that lists are stable. */
export const LIST_BARS = 'SELECT * FROM bar ORDER BY kind, pattern';

/** The rules in force. */
export const FIND_RULES = 'SELECT * FROM rules_revision ORDER BY revision DESC LIMIT 1';

export const LIST_SETTINGS = `SELECT setting.*, sealed
  FROM setting LEFT JOIN sealed_secret ON sealed_secret.name = 'setting:' || setting.name
  ORDER BY setting.name`;

/** Until when the holder of a feature has the license: no feature is borrowed longer. */
const HOLDER_END = `(SELECT coalesce(holder.borrowed_until, holder.ends_at) FROM registration AS holder
  WHERE holder.license_id = feature_slot.license_id AND holder."user" = feature_slot."user")`;

/**
 * Whether a live slot is borrowed after the clock goes back from `:from` to `:now`: its date had not come
 * even by the wrong time, or it is still ahead and could be chosen at the right time.
 */
const IS_STILL_BORROWED =
  '(borrowed_until > :from OR (borrowed_until > :now AND borrowed_until <= :latestDate))';

/** Until when it is, then; null if it is not. */
const BORROWED_STILL = `CASE WHEN ${IS_STILL_BORROWED} THEN ${lesser('borrowed_until', ':borrowCap')} END`;
const FEATURE_BORROWED_STILL = `CASE WHEN ${IS_STILL_BORROWED}
  THEN ${lesser(HOLDER_END, lesser('borrowed_until', ':borrowCap'))} END`;

/** All rows but the first few. SQLite takes no OFFSET without a LIMIT. */
const ALL_AFTER = `LIMIT ${Number.MAX_SAFE_INTEGER} OFFSET`;

const BORROW_USERS = 'SELECT "user" FROM ended_borrow WHERE borrowed_until > ?';

/**
 * What the engine asks of a database besides single rows. Whatever may end registrations earlier makes them
 * due by then, on SQLite. Intervals are half-open: a slot is live while `ends_at > now`.
 */
export const STATEMENTS = {
  ...writesTo('license', {
    putLicense: `INSERT INTO license (id, product, facts, added_order, added_at, audit_mac)
      VALUES (:id, :product, :facts, :order, :now, :mac)
      ON CONFLICT (id) DO UPDATE SET product = excluded.product, facts = excluded.facts,
        added_order = excluded.added_order, removed_at = NULL,
        added_at = CASE WHEN license.removed_at IS NULL THEN license.added_at ELSE excluded.added_at END`,
    updateFacts: 'UPDATE license SET facts = ? WHERE id = ?',
    removeLicense: 'UPDATE license SET removed_at = ? WHERE id = ?',
  }),

  ...writesTo('registration', {
    removeLiveRegistrations: 'DELETE FROM registration WHERE license_id = ? AND ends_at > ?',
    endRegistrationsBy: {
      sqlite: `UPDATE registration SET ends_at = :endsBy, due_at = ${lesser('due_at', ':endsBy')},
          borrowed_until = CASE WHEN borrowed_until > :endsBy THEN :endsBy ELSE borrowed_until END
        WHERE license_id = :id AND ends_at > :endsBy`,
      postgres: `UPDATE registration SET ends_at = :endsBy,
          borrowed_until = CASE WHEN borrowed_until > :endsBy THEN :endsBy ELSE borrowed_until END
        WHERE license_id = :id AND ends_at > :endsBy`,
    },
    extendLiveSlots: `UPDATE registration SET ends_at = :floor
      WHERE license_id = :id AND ends_at > :mark AND ends_at < :floor`,
    clampLive: {
      sqlite: `UPDATE registration SET registered_at = ${lesser('registered_at', ':now')},
          due_at = ${lesser('due_at', ':heartbeatEnd')},
          borrowed_until = ${BORROWED_STILL},
          ends_at = ${greater(`coalesce(${BORROWED_STILL}, 0)`, ':heartbeatEnd')}
        WHERE license_id = :id`,
      postgres: `UPDATE registration SET registered_at = ${lesser('registered_at', ':now')},
          borrowed_until = ${BORROWED_STILL},
          ends_at = ${greater(`coalesce(${BORROWED_STILL}, 0)`, ':heartbeatEnd')}
        WHERE license_id = :id`,
    },
  }),

  ...writesTo('ended_borrow', {
    trimEndedBorrows: `DELETE FROM ended_borrow WHERE (license_id, "user", feature) IN
        (SELECT license_id, "user", feature FROM ended_borrow WHERE license_id = :id
         ORDER BY ended_at DESC, "user", feature ${ALL_AFTER} :kept)`,
    removeEndedBorrows: `DELETE FROM ended_borrow WHERE license_id = :id AND "user" = :user
        AND (CAST(:feature AS text) IS NULL OR feature = CAST(:feature AS text))`,
    removeAllEndedBorrows: 'DELETE FROM ended_borrow WHERE license_id = ?',
    removeSettledBorrows: 'DELETE FROM ended_borrow WHERE borrowed_until > :now',
    clampEndedBorrows: 'UPDATE ended_borrow SET ended_at = :now WHERE ended_at > :now',
  }),

  ...writesTo('feature_slot', {
    extendLiveFeatures: `UPDATE feature_slot SET ends_at = :floor
      WHERE license_id = :id AND feature = :feature AND ends_at > :mark AND ends_at < :floor`,
    removeAllFeatureSlots: 'DELETE FROM feature_slot WHERE license_id = ?',
    endFeatureSlotsBy: `UPDATE feature_slot SET ends_at = :endsBy,
        borrowed_until = CASE WHEN borrowed_until > :endsBy THEN :endsBy ELSE borrowed_until END
      WHERE license_id = :id AND feature = :feature AND ends_at > :endsBy`,
  }),

  ...writesTo(
    'feature_slot',
    {
      clampFeatures: `UPDATE feature_slot SET registered_at = ${lesser('registered_at', ':now')},
          borrowed_until = ${FEATURE_BORROWED_STILL},
          ends_at = ${greater(`coalesce(${FEATURE_BORROWED_STILL}, 0)`, ':heartbeatEnd')}
        WHERE license_id = :id AND feature = :feature`,
    },
    ['registration'],
  ),

  ...writesTo('denial', {
    clampDenials: 'UPDATE denial SET denied_at = :now WHERE denied_at > :now',
  }),

  ...writesTo('place_denial', {
    clampPlaceDenials: 'UPDATE place_denial SET denied_at = :now WHERE denied_at > :now',
  }),

  ...writesTo('remembered_answer', {
    clampAnswers: 'UPDATE remembered_answer SET answered_at = :now WHERE answered_at > :now',
    removeStaleAnswers: `DELETE FROM remembered_answer WHERE (license_id, operation, "user", key) IN
        (SELECT license_id, operation, "user", key FROM remembered_answer
         WHERE answered_at <= ? AND license_id = ? LIMIT ?)`,
    removeOldestAnswers: {
      sqlite: `DELETE FROM remembered_answer WHERE (license_id, operation, "user", key) IN
          (SELECT license_id, operation, "user", key FROM remembered_answer ORDER BY answered_at LIMIT ?)`,
      // Others may have locked some of them.
      postgres: `DELETE FROM remembered_answer WHERE (license_id, operation, "user", key) IN
          (SELECT license_id, operation, "user", key FROM remembered_answer ORDER BY answered_at LIMIT ?
           FOR UPDATE SKIP LOCKED)`,
    },
  }),

  ...writesTo('token', {
    clampTokens: `UPDATE token SET
        used_at = ${lesser('used_at', ':now')}, issued_at = ${lesser('issued_at', ':now')},
        expires_at = expires_at - ${greater('issued_at - :now', '0')}
      WHERE used_at > :now OR issued_at > :now`,
    touchToken: 'UPDATE token SET used_at = ?, is_used = 1 WHERE token_hash = ?',
    freeToken: "UPDATE token SET restriction = NULL WHERE token_hash = ? AND restriction = 'password_only'",
    removeToken: 'DELETE FROM token WHERE id = ?',
    removeTokensOf: 'DELETE FROM token WHERE account = ? AND token_hash <> ?',
    removeSetupTokens: `DELETE FROM token
      WHERE restriction = 'until_set_up' OR (account IS NOT NULL AND token_hash <> ?)`,
    removeDeadTokens: `DELETE FROM token
      WHERE (kind = 'auth' AND used_at <= ?) OR (kind = 'session' AND issued_at <= ?)`,
    removeSurplusTokens: `DELETE FROM token WHERE token_hash IN
        (SELECT token_hash FROM token WHERE account = ? ORDER BY used_at DESC ${ALL_AFTER} ?)`,
  }),

  ...writesTo('notice', {
    removeUsedAttempts: "DELETE FROM notice WHERE kind = 'sign_in_used' AND value <= ?",
  }),

  ...writesTo('account', {
    clampOneTimePasswords: 'UPDATE account SET one_time_at = :now WHERE one_time_at > :now',
    putPassword: 'UPDATE account SET password_hash = ?, one_time_at = ?, one_time_used = 0 WHERE name = ?',
    putSecondFactor: 'UPDATE account SET second_factor_step = ?, recovery_codes = ? WHERE name = ?',
    putRole: 'UPDATE account SET role = ?, products = ? WHERE name = ?',
    useOneTimePassword: 'UPDATE account SET one_time_used = 1 WHERE name = ?',
  }),

  ...writesTo('server', {
    saveHardwareId: 'UPDATE server SET hardware_id = ? WHERE id = 1',
    setTestClock: 'UPDATE server SET test_clock_ms = ? WHERE id = 1',
    setUsageSequence: 'UPDATE server SET usage_sequence = ? WHERE id = 1',
    endSetup: 'UPDATE server SET set_up_at = coalesce(set_up_at, ?) WHERE id = 1',
  }),

  ...writesTo('rules_revision', {
    clampRules: 'UPDATE rules_revision SET applied_at = :now WHERE applied_at > :now',
    putGroupAges: 'UPDATE rules_revision SET group_ages = ? WHERE revision = ?',
    // Of the revisions with the same text, the first and the last are kept: a directory may change often.
    removeReplacedRules: `DELETE FROM rules_revision
      WHERE written_in = :writtenIn AND revision > written_in AND revision < :revision`,
    removeOldRules: `DELETE FROM rules_revision WHERE revision IN
        (SELECT revision FROM rules_revision ORDER BY revision DESC ${ALL_AFTER} ?)`,
  }),

  ...writesTo('history_reservation', {
    addReservation: `INSERT INTO history_reservation (product, feature, rule, at, minutes, reserved, unused)
      VALUES (:product, :feature, :rule, :at, 1, :reserved, :unused)
      ON CONFLICT (product, feature, rule, at) DO UPDATE SET minutes = history_reservation.minutes + 1,
        reserved = history_reservation.reserved + excluded.reserved,
        unused = history_reservation.unused + excluded.unused`,
    removeOldReservations: 'DELETE FROM history_reservation WHERE at < ?',
  }),

  ...writesTo('bar', {
    clampBars: 'UPDATE bar SET added_at = :now WHERE added_at > :now',
  }),

  ...writesTo('setting', {
    clampSettings: 'UPDATE setting SET changed_at = :now WHERE changed_at > :now',
  }),

  ...writesTo('report', {
    markReportUncertain: 'UPDATE report SET uncertain_at = ? WHERE license_id = ? AND id = ?',
    removeReport: 'DELETE FROM report WHERE license_id = ? AND id = ?',
  }),

  ...writesTo('offline_request', {
    answerRequest: 'UPDATE offline_request SET answered_by = ? WHERE id = ?',
    voidRequests: `UPDATE offline_request SET answered_by = ?
      WHERE answered_by IS NULL AND (product IS NULL OR product = ?)`,
    removeOldRequests: `DELETE FROM offline_request WHERE id IN
        (SELECT id FROM offline_request WHERE answered_by IS NULL ORDER BY made_at DESC ${ALL_AFTER} ?)`,
  }),

  ...writesTo('audit_link', {
    removeLinks: 'DELETE FROM audit_link WHERE chain = ? AND n <= ?',
  }),

  ...HISTORY_STATEMENTS,

  countEnded: reads<Count>(
    'registration',
    'SELECT count(*) AS count FROM registration WHERE license_id = ? AND ends_at <= ?',
  ),
  countBorrowed: reads<Count>(
    'registration',
    `SELECT count(*) AS count FROM registration
     WHERE license_id = :id AND borrowed_until > :now AND ends_at > :now`,
  ),
  countBorrowedFrom: reads<Count>(
    'registration',
    `SELECT count(*) AS count FROM registration WHERE license_id = :id AND origin BETWEEN :first AND :last
       AND borrowed_until > :now AND ends_at > :now`,
  ),
  listHolders: reads<HolderRow>(
    'registration',
    'SELECT "user", hostname, origin, counted_at FROM registration WHERE license_id = ?',
  ),
  listRegistrationsOf: reads<RowOf<'registration'>>(
    'registration',
    'SELECT * FROM registration WHERE license_id = ? ORDER BY "user"',
  ),
  listFeatureSlotsOf: reads<RowOf<'feature_slot'>>(
    'feature_slot',
    'SELECT * FROM feature_slot WHERE license_id = ? ORDER BY "user", feature',
  ),
  listEndedBorrows: reads<RowOf<'ended_borrow'>>(
    'ended_borrow',
    'SELECT * FROM ended_borrow WHERE borrowed_until > ? ORDER BY license_id, "user", feature',
  ),
  listBorrowHolders: reads<RowOf<'registration'>>(
    ['registration', 'ended_borrow'],
    `SELECT * FROM registration WHERE "user" IN (${BORROW_USERS}) ORDER BY license_id, "user"`,
  ),
  listBorrowFeatureSlots: reads<RowOf<'feature_slot'>>(
    ['feature_slot', 'ended_borrow'],
    `SELECT * FROM feature_slot WHERE "user" IN (${BORROW_USERS}) ORDER BY license_id, "user", feature`,
  ),
  getServer: reads<RowOf<'server'>>('server', 'SELECT * FROM server WHERE id = 1'),
  findRules: reads<RowOf<'rules_revision'>>('rules_revision', FIND_RULES),
  listSettings: reads<SettingRow>(['setting', 'sealed_secret'], LIST_SETTINGS),
  listSecrets: reads<RowOf<'sealed_secret'>>('sealed_secret', 'SELECT name, sealed FROM sealed_secret'),
  listDenialsBy: reads<RowOf<'denial'>>(
    'denial',
    `SELECT * FROM denial WHERE license_id = ? AND denied_at <= ?
     ORDER BY denied_at, "user", feature, code LIMIT ?`,
  ),
  listPlaceDenialsBy: reads<RowOf<'place_denial'>>(
    'place_denial',
    `SELECT * FROM place_denial WHERE license_id = ? AND (repeated > 0 OR denied_at <= ?)
     ORDER BY denied_at, place, code LIMIT ?`,
  ),
  listReports: reads<RowOf<'report'>>(
    'report',
    'SELECT * FROM report WHERE license_id = ? ORDER BY cut_at, id',
  ),
  countStaleAnswers: reads<Count>(
    'remembered_answer',
    `SELECT count(*) AS count FROM
       (SELECT 1 FROM remembered_answer WHERE answered_at <= ? AND license_id = ? LIMIT ?) AS stale`,
  ),
  findNextFeatureEnd: reads<{ readonly ends_at: Instant }>(['feature_slot', 'registration'], {
    // Feature slots first: otherwise the planner may start from the registrations.
    sqlite: `SELECT feature_slot.ends_at FROM feature_slot CROSS JOIN registration USING (license_id, "user")
         WHERE license_id = :id AND feature = :feature
           AND feature_slot.ends_at > :now AND registration.ends_at > :now
         ORDER BY feature_slot.ends_at LIMIT 1`,
    postgres: `SELECT feature_slot.ends_at FROM feature_slot JOIN registration USING (license_id, "user")
         WHERE license_id = :id AND feature = :feature
           AND feature_slot.ends_at > :now AND registration.ends_at > :now
         ORDER BY feature_slot.ends_at LIMIT 1`,
  }),
  countLiveFeatureSlots: reads<Count>(
    ['feature_slot', 'registration'],
    `SELECT count(*) AS count FROM feature_slot JOIN registration USING (license_id, "user")
     WHERE license_id = :id AND (CAST(:feature AS text) IS NULL OR feature = CAST(:feature AS text))
       AND feature_slot.ends_at > :now AND registration.ends_at > :now`,
  ),
  listFeaturesInUse: reads<Pick<RowOf<'feature_slot'>, 'feature'>>(
    'feature_slot',
    'SELECT DISTINCT feature FROM feature_slot WHERE license_id = ? ORDER BY feature',
  ),
  findRequest: reads<Pick<RowOf<'offline_request'>, 'answered_by' | 'license_key'>>(
    'offline_request',
    "SELECT answered_by, license_key FROM offline_request WHERE id = ? AND request = 'activation'",
  ),
  findLastLinkBefore: reads<Pick<RowOf<'audit_link'>, 'n'>>(
    'audit_link',
    'SELECT n FROM audit_link WHERE chain = ? AND n > ? AND n <= ? AND at < ? ORDER BY n DESC LIMIT 1',
  ),
  listLinksOf: reads<Pick<RowOf<'audit_link'>, 'n' | 'at' | 'events' | 'mac'>>(
    'audit_link',
    'SELECT n, at, events, mac FROM audit_link WHERE chain = ? AND n > ? AND n <= ? ORDER BY n',
  ),
  countAdministrators: reads<Count>('account', "SELECT count(*) AS count FROM account WHERE role = 'admin'"),
  findToken: reads<TokenRow>(['token', 'account'], `${SELECT_TOKEN} WHERE token_hash = ?`),
  findTokenById: reads<TokenRow>(
    ['token', 'account'],
    `${SELECT_TOKEN} WHERE token.id = :id OR token.name = :id ORDER BY token.id = :id DESC LIMIT 1`,
  ),
  findTokenByName: reads<TokenRow>(['token', 'account'], `${SELECT_TOKEN} WHERE token.name = ?`),
} as const satisfies Readonly<Record<string, Read | Write>>;

export type StatementName = keyof typeof STATEMENTS;

/** Everything that the engine asks of a database: statements by their names, and the rows of each table. */
export type Statements = PreparedAll<typeof STATEMENTS> & AllRows;
