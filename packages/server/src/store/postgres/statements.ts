import type { RowValue } from '../engine/rows.ts';
import type { StatementName } from '../engine/statements.ts';
import { SELECT_TOKEN } from './read-accounts.ts';

/**
 * The SQL behind the names of the engine, as in the other store: `?` in the order of the values, or `:name`.
 * Intervals are half-open: a slot is live while `ends_at > now`.
 */
const SQL = {
  // licenses
  putLicense: `
    INSERT INTO license (id, product, facts, added_order, added_at, audit_mac)
    VALUES (:id, :product, :facts, :order, :now, :mac)
    ON CONFLICT (id) DO UPDATE SET product = excluded.product, facts = excluded.facts,
      added_order = excluded.added_order, removed_at = NULL,
      added_at = CASE WHEN license.removed_at IS NULL THEN license.added_at ELSE :now END`,
  updateFacts: 'UPDATE license SET facts = ? WHERE id = ?',
  removeLicense: 'UPDATE license SET removed_at = ? WHERE id = ?',

  // registrations
  findRegistration: 'SELECT * FROM registration WHERE license_id = ? AND "user" = ?',
  findFirstEnd: 'SELECT min(ends_at) AS ends_at FROM registration WHERE license_id = ?',
  findNextEnd: 'SELECT min(ends_at) AS ends_at FROM registration WHERE license_id = ? AND ends_at > ?',
  listEnded: `
    SELECT * FROM registration WHERE license_id = ? AND ends_at <= ?
    ORDER BY ends_at, "user" LIMIT ?`,
  countEnded: 'SELECT count(*) AS count FROM registration WHERE license_id = ? AND ends_at <= ?',
  putRegistration: `
    INSERT INTO registration
      (license_id, "user", hostname, address, info, registered_at, ends_at, borrowed_until)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (license_id, "user") DO UPDATE SET hostname = excluded.hostname,
      address = excluded.address, info = excluded.info, registered_at = excluded.registered_at,
      ends_at = excluded.ends_at, borrowed_until = excluded.borrowed_until`,
  removeRegistration: 'DELETE FROM registration WHERE license_id = ? AND "user" = ?',
  removeLiveRegistrations: 'DELETE FROM registration WHERE license_id = ? AND ends_at > ?',
  endRegistrationsBy: `
    UPDATE registration SET ends_at = :endsBy,
      borrowed_until = CASE WHEN borrowed_until > :endsBy THEN :endsBy
        ELSE borrowed_until END
    WHERE license_id = :id AND ends_at > :endsBy`,

  // the clock
  prolongLive: `
    UPDATE registration SET ends_at = :floor
    WHERE license_id = :id AND ends_at > :mark AND ends_at < :floor`,
  pullBackLive: `
    UPDATE registration SET registered_at = least(registered_at, :now),
      borrowed_until = CASE WHEN borrowed_until > :from THEN least(borrowed_until, :borrowCap) END,
      ends_at = greatest(:heartbeatEnd,
        CASE WHEN borrowed_until > :from THEN least(borrowed_until, :borrowCap) ELSE 0 END)
    WHERE license_id = :id`,
  pullBackRecalls: 'UPDATE recall SET recalled_at = :now WHERE recalled_at > :now',
  pullBackDenials: 'UPDATE denial SET denied_at = :now WHERE denied_at > :now',
  pullBackTokens: `
    UPDATE token SET used_at = least(used_at, :now), issued_at = least(issued_at, :now),
      expires_at = expires_at - greatest(issued_at - :now, 0)
    WHERE used_at > :now OR issued_at > :now`,
  getServer: 'SELECT * FROM server WHERE id = 1',
  saveHardwareId: 'UPDATE server SET hardware_id = ? WHERE id = 1',

  // denials and recalls
  listDenialsOf: 'SELECT * FROM denial WHERE license_id = ? AND "user" = ?',
  listDenialsBy: `
    SELECT * FROM denial WHERE license_id = ? AND denied_at <= ?
    ORDER BY denied_at, "user", feature, code LIMIT ?`,
  putDenial: `
    INSERT INTO denial (license_id, "user", feature, code, denied_at, repeated) VALUES (?, ?, ?, ?, ?, ?)
    ON CONFLICT (license_id, "user", feature, code) DO UPDATE SET denied_at = excluded.denied_at,
      repeated = excluded.repeated`,
  removeDenial: 'DELETE FROM denial WHERE license_id = ? AND "user" = ? AND feature = ? AND code = ?',
  countRecalls: 'SELECT count(*) AS count FROM recall WHERE license_id = ? AND recalled_at > ?',
  addRecall: 'INSERT INTO recall (license_id, recalled_at, "user", borrowed_until) VALUES (?, ?, ?, ?)',

  // consumption
  findMeter: 'SELECT * FROM meter WHERE license_id = ? AND feature = ?',
  putMeter: `
    INSERT INTO meter (license_id, feature, pending, reported, cloud_total, cloud_at, in_use)
    VALUES (?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (license_id, feature) DO UPDATE SET pending = excluded.pending, reported = excluded.reported,
      cloud_total = excluded.cloud_total, cloud_at = excluded.cloud_at, in_use = excluded.in_use`,
  findTotal: 'SELECT total FROM consumption_total WHERE license_id = ? AND feature = ? AND window_start = ?',
  putTotal: `
    INSERT INTO consumption_total (license_id, feature, window_start, total) VALUES (?, ?, ?, ?)
    ON CONFLICT (license_id, feature, window_start) DO UPDATE SET total = excluded.total`,
  listReports: 'SELECT * FROM report WHERE license_id = ? ORDER BY cut_at, id',
  addReport: 'INSERT INTO report (id, license_id, feature, amount, cut_at) VALUES (?, ?, ?, ?, ?)',
  markReportUncertain: 'UPDATE report SET uncertain_at = ? WHERE license_id = ? AND id = ?',
  removeReport: 'DELETE FROM report WHERE license_id = ? AND id = ?',

  // first answers
  findAnswer: `
    SELECT * FROM remembered_answer WHERE license_id = ? AND operation = ? AND "user" = ? AND key = ?`,
  rememberAnswer: `
    INSERT INTO remembered_answer (license_id, operation, "user", key, body_hash, answered_at, outcome)
    VALUES (?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (license_id, operation, "user", key) DO UPDATE SET body_hash = excluded.body_hash,
      answered_at = excluded.answered_at, outcome = excluded.outcome`,
  countStaleAnswers: `
    SELECT count(*) AS count FROM
      (SELECT 1 FROM remembered_answer WHERE answered_at <= ? AND license_id = ? LIMIT ?) AS stale`,
  removeStaleAnswers: `
    DELETE FROM remembered_answer WHERE (license_id, operation, "user", key) IN
      (SELECT license_id, operation, "user", key FROM remembered_answer
       WHERE answered_at <= ? AND license_id = ? LIMIT ?)`,
  removeOldestAnswers: `
    DELETE FROM remembered_answer WHERE (license_id, operation, "user", key) IN
      (SELECT license_id, operation, "user", key FROM remembered_answer ORDER BY answered_at LIMIT ?
       FOR UPDATE SKIP LOCKED)`,
  pullBackAnswers: 'UPDATE remembered_answer SET answered_at = :now WHERE answered_at > :now',

  // feature slots
  listFeatureSlotsOf: 'SELECT * FROM feature_slot WHERE license_id = ? AND "user" = ?',
  listEndedFeatureSlots: `
    SELECT * FROM feature_slot WHERE license_id = ? AND ends_at <= ? ORDER BY ends_at, "user", feature
    LIMIT ?`,
  findFirstFeatureEnd: 'SELECT min(ends_at) AS ends_at FROM feature_slot WHERE license_id = ?',
  findNextFeatureEnd: `
    SELECT feature_slot.ends_at FROM feature_slot JOIN registration USING (license_id, "user")
    WHERE license_id = :id AND feature = :feature
      AND feature_slot.ends_at > :now AND registration.ends_at > :now
    ORDER BY feature_slot.ends_at LIMIT 1`,
  countLiveFeatureSlots: `
    SELECT count(*) AS count FROM feature_slot JOIN registration USING (license_id, "user")
    WHERE license_id = :id AND (:feature::text IS NULL OR feature = :feature::text)
      AND feature_slot.ends_at > :now AND registration.ends_at > :now`,
  putFeatureSlot: `
    INSERT INTO feature_slot (license_id, "user", feature, registered_at, ends_at, borrowed_until)
    VALUES (?, ?, ?, ?, ?, ?)
    ON CONFLICT (license_id, "user", feature) DO UPDATE SET registered_at = excluded.registered_at,
      ends_at = excluded.ends_at, borrowed_until = excluded.borrowed_until`,
  removeFeatureSlot: 'DELETE FROM feature_slot WHERE license_id = ? AND "user" = ? AND feature = ?',
  listFeaturesInUse: 'SELECT DISTINCT feature FROM feature_slot WHERE license_id = ? ORDER BY feature',
  removeAllFeatureSlots: 'DELETE FROM feature_slot WHERE license_id = ?',
  endFeatureSlotsBy: `
    UPDATE feature_slot SET ends_at = :endsBy,
      borrowed_until = CASE WHEN borrowed_until > :endsBy THEN :endsBy
        ELSE borrowed_until END
    WHERE license_id = :id AND feature = :feature AND ends_at > :endsBy`,
  prolongLiveFeatures: `
    UPDATE feature_slot SET ends_at = :floor
    WHERE license_id = :id AND feature = :feature AND ends_at > :mark AND ends_at < :floor`,
  pullBackFeatures: `
    UPDATE feature_slot SET registered_at = least(registered_at, :now),
      borrowed_until = CASE WHEN borrowed_until > :from THEN least(borrowed_until, :borrowCap) END,
      ends_at = greatest(:heartbeatEnd,
        CASE WHEN borrowed_until > :from THEN least(borrowed_until, :borrowCap) ELSE 0 END)
    WHERE license_id = :id AND feature = :feature`,

  // files that a person carries
  findRequest: "SELECT answered_by FROM offline_request WHERE id = ? AND request = 'activation'",
  addRequest: 'INSERT INTO offline_request (id, request, product, made_at) VALUES (?, ?, ?, ?)',
  answerRequest: 'UPDATE offline_request SET answered_by = ? WHERE id = ?',
  voidRequests: `
    UPDATE offline_request SET answered_by = ?
    WHERE answered_by IS NULL AND (product IS NULL OR product = ?)`,
  removeOldRequests: `
    DELETE FROM offline_request WHERE id IN
      (SELECT id FROM offline_request WHERE answered_by IS NULL ORDER BY made_at DESC OFFSET ?)`,
  setUsageSequence: 'UPDATE server SET usage_sequence = ? WHERE id = 1',

  // rules
  putRules: 'UPDATE server SET rules = ?, rules_at = ? WHERE id = 1',
  pullBackRules: 'UPDATE server SET rules_at = :now WHERE rules_at > :now',

  // what was told
  findNotice: 'SELECT value FROM notice WHERE kind = ? AND subject = ?',
  putNotice: `
    INSERT INTO notice (kind, subject, value) VALUES (?, ?, ?)
    ON CONFLICT (kind, subject) DO UPDATE SET value = excluded.value`,
  removeNotice: 'DELETE FROM notice WHERE kind = ? AND subject = ?',
  setWebhookCursor: 'UPDATE server SET webhook_seq = ?, webhook_index = ? WHERE id = 1',

  // audit
  findSegment: 'SELECT * FROM audit_segment WHERE chain = ?',
  findLastLinkBefore: `
    SELECT n FROM audit_link WHERE chain = ? AND n > ? AND n <= ? AND at < ? ORDER BY n DESC LIMIT 1`,
  listLinksOf: 'SELECT n, at, events, mac FROM audit_link WHERE chain = ? AND n > ? AND n <= ? ORDER BY n',
  putSegment: `
    INSERT INTO audit_segment
      (chain, first_n, last_n, first_mac, last_mac, first_at, last_at, links, events, totals, mac)
    VALUES (:chain, :firstN, :lastN, :firstMac, :lastMac, :firstAt, :lastAt, :links, :events, :totals, :mac)
    ON CONFLICT (chain) DO UPDATE SET first_n = excluded.first_n, last_n = excluded.last_n,
      first_mac = excluded.first_mac, last_mac = excluded.last_mac, first_at = excluded.first_at,
      last_at = excluded.last_at, links = excluded.links, events = excluded.events,
      totals = excluded.totals, mac = excluded.mac`,
  removeLinks: 'DELETE FROM audit_link WHERE chain = ? AND n <= ?',

  // accounts and tokens
  findAccount: 'SELECT role, password_hash, one_time FROM account WHERE name = ?',
  countAdministrators: "SELECT count(*) AS count FROM account WHERE role = 'admin'",
  putAccount: `
    INSERT INTO account (name, role, password_hash, one_time, created_at) VALUES (?, ?, ?, ?, ?)`,
  putPassword: 'UPDATE account SET password_hash = ?, one_time = ? WHERE name = ?',
  putRole: 'UPDATE account SET role = ? WHERE name = ?',
  removeAccount: 'DELETE FROM account WHERE name = ?',
  endSetup: 'UPDATE server SET set_up_at = coalesce(set_up_at, ?) WHERE id = 1',
  findToken: `${SELECT_TOKEN} WHERE token_hash = ?`,
  findTokenById: `${SELECT_TOKEN} WHERE token.id = :id OR token.name = :id
    ORDER BY token.id = :id DESC LIMIT 1`,
  findTokenByName: `${SELECT_TOKEN} WHERE token.name = ?`,
  putToken: `
    INSERT INTO token (token_hash, id, kind, account, name, role, issued_at, used_at, expires_at)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  touchToken: 'UPDATE token SET used_at = ? WHERE token_hash = ?',
  removeToken: 'DELETE FROM token WHERE id = ?',
  removeTokensOf: 'DELETE FROM token WHERE account = ? AND token_hash <> ?',
  removeDeadTokens: `
    DELETE FROM token WHERE (kind = 'auth' AND used_at <= ?) OR (kind = 'session' AND used_at <= ?)`,
  removeSurplusTokens: `
    DELETE FROM token WHERE token_hash IN
      (SELECT token_hash FROM token WHERE account = ? ORDER BY used_at DESC OFFSET ?)`,

  // secrets
  listSecrets: 'SELECT name, sealed FROM sealed_secret',
  putSecret: `
    INSERT INTO sealed_secret (name, sealed) VALUES (?, ?)
    ON CONFLICT (name) DO UPDATE SET sealed = excluded.sealed`,
} as const satisfies Record<StatementName, string>;

/** A statement as this driver wants it, and where its values come from. */
export interface Compiled {
  readonly text: string;
  /** By place: the name of the value, or `null` where values come in their order. */
  readonly names: readonly string[] | null;
  readonly reads: readonly string[];
  readonly writes: readonly string[];
}

export const STATEMENTS = Object.fromEntries(
  Object.entries(SQL).map(([name, sql]) => [name, compile(sql)]),
) as Readonly<Record<StatementName, Compiled>>;

function compile(sql: string): Compiled {
  const names: string[] = [];
  let count = 0;
  const text = sql.replace(/\?|(?<!:):([a-zA-Z]+)/g, (_, name: string | undefined) => {
    if (name === undefined) return `$${++count}`;
    if (!names.includes(name)) names.push(name);
    return `$${names.indexOf(name) + 1}`;
  });
  const tables = [...sql.matchAll(/(?:FROM|JOIN|INTO|UPDATE)\s+([a-z_]+)/g)].map(
    ([, table]) => table as string,
  );
  const isWrite = !/^\s*SELECT/.test(sql);
  const [written] = tables;
  return {
    text: text.replace(/\s+/g, ' ').trim(),
    names: names.length > 0 ? names : null,
    reads: isWrite ? [] : tables,
    writes: isWrite && written !== undefined ? [written] : [],
  };
}

/**
 * The values of one call, in the order in which the driver wants them. What is no value fails its command.
 */
export function valuesOf(
  { names }: Compiled,
  args: readonly (RowValue | Record<string, RowValue>)[],
): RowValue[] {
  const named = args[0] as Record<string, RowValue>;
  const values = names === null ? (args as RowValue[]) : names.map((name) => named[name] as RowValue);
  for (const value of values) requireValue(value);
  return values;
}

function requireValue(value: unknown): void {
  if (value === null || typeof value === 'string' || value instanceof Uint8Array) return;
  if (typeof value === 'number' && Number.isFinite(value)) return;
  throw new TypeError(`A statement cannot be given a value of the type ${typeof value}.`);
}
