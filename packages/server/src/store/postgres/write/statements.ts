import { COMMON_SQL, HOLDER_END, IS_STILL_BORROWED } from '../../engine/common-sql.ts';
import type { RowValue } from '../../engine/rows.ts';
import type { StatementName } from '../../engine/statements.ts';

/**
 * The SQL behind the names of the engine, as in the other store: `?` in the order of the values, or `:name`.
 * Intervals are half-open: a slot is live while `ends_at > now`.
 */
const SQL = {
  ...COMMON_SQL,

  // licenses
  putLicense: `
    INSERT INTO license (id, product, facts, added_order, added_at, audit_mac)
    VALUES (:id, :product, :facts, :order, :now, :mac)
    ON CONFLICT (id) DO UPDATE SET product = excluded.product, facts = excluded.facts,
      added_order = excluded.added_order, removed_at = NULL,
      added_at = CASE WHEN license.removed_at IS NULL THEN license.added_at ELSE :now END`,

  // registrations
  findRegistration: 'SELECT * FROM registration WHERE license_id = ? AND "user" = ?',
  listEnded: `
    SELECT * FROM registration WHERE license_id = ? AND ends_at <= ?
    ORDER BY ends_at, "user" LIMIT ?`,
  putRegistration: `
    INSERT INTO registration
      (license_id, "user", hostname, address, info, registered_at, ends_at, borrowed_until, origin,
       credential, spelling)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (license_id, "user") DO UPDATE SET hostname = excluded.hostname,
      address = excluded.address, info = excluded.info, registered_at = excluded.registered_at,
      ends_at = excluded.ends_at, borrowed_until = excluded.borrowed_until, origin = excluded.origin,
      credential = excluded.credential, spelling = excluded.spelling`,
  renewRegistration: 'UPDATE registration SET ends_at = ? WHERE license_id = ? AND "user" = ?',
  removeRegistration: 'DELETE FROM registration WHERE license_id = ? AND "user" = ?',
  endRegistrationsBy: `
    UPDATE registration SET ends_at = :endsBy,
      borrowed_until = CASE WHEN borrowed_until > :endsBy THEN :endsBy
        ELSE borrowed_until END
    WHERE license_id = :id AND ends_at > :endsBy`,

  // borrows that have ended
  trimEndedBorrows: `
    DELETE FROM ended_borrow WHERE (license_id, "user", feature) IN
      (SELECT license_id, "user", feature FROM ended_borrow WHERE license_id = :id
       ORDER BY ended_at DESC, "user", feature OFFSET :kept)`,
  removeEndedBorrows: `
    DELETE FROM ended_borrow
    WHERE license_id = :id AND "user" = :user AND (:feature::text IS NULL OR feature = :feature::text)`,

  // the clock
  pullBackLive: `
    UPDATE registration SET registered_at = least(registered_at, :now),
      borrowed_until = CASE WHEN ${IS_STILL_BORROWED} THEN least(borrowed_until, :borrowCap) END,
      ends_at = greatest(:heartbeatEnd,
        CASE WHEN ${IS_STILL_BORROWED} THEN least(borrowed_until, :borrowCap) ELSE 0 END)
    WHERE license_id = :id`,
  pullBackTokens: `
    UPDATE token SET used_at = least(used_at, :now), issued_at = least(issued_at, :now),
      expires_at = expires_at - greatest(issued_at - :now, 0)
    WHERE used_at > :now OR issued_at > :now`,

  // denials
  listDenialsOf: 'SELECT * FROM denial WHERE license_id = ? AND "user" = ?',
  listDenialsBy: `
    SELECT * FROM denial WHERE license_id = ? AND denied_at <= ?
    ORDER BY denied_at, "user", feature, code LIMIT ?`,
  putDenial: `
    INSERT INTO denial (license_id, "user", feature, code, denied_at, repeated) VALUES (?, ?, ?, ?, ?, ?)
    ON CONFLICT (license_id, "user", feature, code) DO UPDATE SET denied_at = excluded.denied_at,
      repeated = excluded.repeated`,
  removeDenial: 'DELETE FROM denial WHERE license_id = ? AND "user" = ? AND feature = ? AND code = ?',

  // consumption
  putMeter: `
    INSERT INTO meter (license_id, feature, pending, reported, cloud_total, cloud_at, in_use)
    VALUES (?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (license_id, feature) DO UPDATE SET pending = excluded.pending, reported = excluded.reported,
      cloud_total = excluded.cloud_total, cloud_at = excluded.cloud_at, in_use = excluded.in_use`,
  putTotal: `
    INSERT INTO consumption_total (license_id, feature, window_start, total) VALUES (?, ?, ?, ?)
    ON CONFLICT (license_id, feature, window_start) DO UPDATE SET total = excluded.total`,
  listReports: 'SELECT * FROM report WHERE license_id = ? ORDER BY cut_at, id',

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

  // feature slots
  listFeatureSlotsOf: 'SELECT * FROM feature_slot WHERE license_id = ? AND "user" = ?',
  listEndedFeatureSlots: `
    SELECT * FROM feature_slot WHERE license_id = ? AND ends_at <= ? ORDER BY ends_at, "user", feature
    LIMIT ?`,
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
  endFeatureSlotsBy: `
    UPDATE feature_slot SET ends_at = :endsBy,
      borrowed_until = CASE WHEN borrowed_until > :endsBy THEN :endsBy
        ELSE borrowed_until END
    WHERE license_id = :id AND feature = :feature AND ends_at > :endsBy`,
  pullBackFeatures: `
    UPDATE feature_slot SET registered_at = least(registered_at, :now),
      borrowed_until =
        CASE WHEN ${IS_STILL_BORROWED} THEN least(borrowed_until, :borrowCap, ${HOLDER_END}) END,
      ends_at = greatest(:heartbeatEnd,
        CASE WHEN ${IS_STILL_BORROWED} THEN least(borrowed_until, :borrowCap, ${HOLDER_END}) ELSE 0 END)
    WHERE license_id = :id AND feature = :feature`,

  // files that a person carries
  removeOldRequests: `
    DELETE FROM offline_request WHERE id IN
      (SELECT id FROM offline_request WHERE answered_by IS NULL ORDER BY made_at DESC OFFSET ?)`,

  // what was told
  putNotice: `
    INSERT INTO notice (kind, subject, value) VALUES (?, ?, ?)
    ON CONFLICT (kind, subject) DO UPDATE SET value = excluded.value`,

  // audit
  putSegment: `
    INSERT INTO audit_segment
      (chain, first_n, last_n, first_mac, last_mac, first_at, last_at, links, events, totals, mac)
    VALUES (:chain, :firstN, :lastN, :firstMac, :lastMac, :firstAt, :lastAt, :links, :events, :totals, :mac)
    ON CONFLICT (chain) DO UPDATE SET first_n = excluded.first_n, last_n = excluded.last_n,
      first_mac = excluded.first_mac, last_mac = excluded.last_mac, first_at = excluded.first_at,
      last_at = excluded.last_at, links = excluded.links, events = excluded.events,
      totals = excluded.totals, mac = excluded.mac`,

  // accounts and tokens
  removeSurplusTokens: `
    DELETE FROM token WHERE token_hash IN
      (SELECT token_hash FROM token WHERE account = ? ORDER BY used_at DESC OFFSET ?)`,

  // secrets
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
