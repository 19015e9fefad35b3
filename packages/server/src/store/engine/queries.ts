import { DENIAL_WINDOW_MS, PLACE_WINDOW_MS } from '../../core/lending/deny.ts';
import { ANSWER_LIFETIME_MS } from '../../core/lending/repeat-answer.ts';
import type { Instant } from '../../core/nouns/instant.ts';
import type { MasterKey } from '../../secrets/seal.ts';
import type { Answer, Answers, Query } from '../query.ts';
import type { RuleHistory } from '../rules-record.ts';
import { describeSegment, writtenLinkFromRow } from './audit/link-texts.ts';
import { LINK_PLACE, queryAuditSearch } from './audit/search-audit.ts';
import { barFromRow, revisionFromRow, rulesFromRows } from './counts/rule-rows.ts';
import { countsFromRow } from './counts/stored-counts.ts';
import { HISTORY_QUERIES } from './history/history-queries.ts';
import { queryLicenses } from './list-licenses.ts';
import { queryRegistrations } from './list-registrations.ts';
import { type PreparedQuery, prepareQuery } from './prepared-query.ts';
import {
  accountFromRow,
  type BacklogRow,
  backlogFromRows,
  cursorFromRow,
  followerFromRow,
  type Row,
  requestFromRow,
  type SettingRow,
  type StoreRow,
  storeFromRow,
  type TokenRow,
  tokenRecordFromRow,
  type UsageRow,
  usageFromRow,
} from './rows.ts';
import {
  findSealingFingerprint,
  openChannels,
  openCloudKeys,
  openGrantKeys,
  openSecondFactor,
  openSetting,
  openWebhookSecret,
  type SealedSecrets,
  secretsFromRows,
} from './sealed-secrets.ts';
import { inEach, readable } from './sql.ts';
import { FIND_RULES, HAS_ENDED, LIST_BARS, LIST_SETTINGS, SELECT_TOKEN } from './statements.ts';
import type { RowOf } from './tables.ts';

/** All secrets as of one moment. */
export function querySecrets<A>(answer: (secrets: SealedSecrets) => A): PreparedQuery<A> {
  return prepareQuery(
    'SELECT name, sealed FROM sealed_secret',
    {},
    (rows: readonly RowOf<'sealed_secret'>[]) => answer(secretsFromRows(rows)),
  );
}

/** What both stores say of themselves. */
export function queryStore(now: Instant) {
  const sql = `SELECT identity, hardware_id, test_clock_ms,
      (SELECT count(*) FROM license WHERE removed_at IS NULL) AS licenses,
      (SELECT count(*) FROM registration JOIN license ON id = license_id
       WHERE ends_at > :now AND removed_at IS NULL) AS registrations,
      (SELECT count(*) FROM account WHERE one_time_at IS NOT NULL) AS one_time
    FROM server`;
  return prepareQuery(sql, { now }, ([row]: readonly StoreRow[]) => storeFromRow(row as StoreRow));
}

type ServerRow = RowOf<'server'>;

/** Those with a name first, since others come and go; then the newest. */
const TOKEN_ORDER = 'ORDER BY token.name IS NULL, token.issued_at DESC, token.id';

const LIST_UNTIDY = inEach(
  (dialect) => `SELECT id FROM license
  WHERE EXISTS (SELECT 1 FROM registration WHERE license_id = license.id AND ${HAS_ENDED[dialect]})
    OR EXISTS (SELECT 1 FROM feature_slot WHERE license_id = license.id AND ends_at <= :now)
    OR EXISTS (SELECT 1 FROM denial WHERE license_id = license.id AND denied_at <= :windowStart)
    OR EXISTS (SELECT 1 FROM place_denial WHERE license_id = license.id AND repeated > 0)
    OR EXISTS (SELECT 1 FROM place_denial WHERE license_id = license.id AND denied_at <= :placeStart)
    OR EXISTS (SELECT 1 FROM remembered_answer WHERE answered_at <= :forgotten AND license_id = license.id)
  ORDER BY id`,
);

/** Once for each license: with a thousand features, its facts would otherwise be parsed a thousand times. */
const HELD = {
  sqlite: `held AS MATERIALIZED (SELECT id, product, removed_at,
    facts ->> 'key' AS license_key, facts ->> 'source' AS source FROM license)`,
  postgres: `held AS MATERIALIZED (SELECT id, product, removed_at,
    facts::json ->> 'key' AS license_key, facts::json ->> 'source' AS source FROM license)`,
};

const LIST_METERS = inEach(
  (dialect) => `WITH ${HELD[dialect]}
  SELECT held.product, held.source, held.removed_at, meter.*
  FROM meter JOIN held ON held.id = meter.license_id
  WHERE removed_at IS NULL OR pending <> 0 OR EXISTS (SELECT 1 FROM report
    WHERE report.license_id = meter.license_id AND report.feature = meter.feature)
  ORDER BY license_id, feature`,
);

/** Each license has a row, whether or not anything was counted. */
const LIST_USAGE = inEach(
  (dialect) => `WITH ${HELD[dialect]}, part AS (
    SELECT id AS license_id, '' AS feature FROM license
    UNION SELECT license_id, feature FROM meter)
  SELECT part.*, held.product, held.license_key, held.removed_at,
    coalesce(pending, 0) + CAST(coalesce((SELECT sum(amount) FROM report
      WHERE report.license_id = part.license_id AND report.feature = part.feature), 0) AS bigint) AS consumed
  FROM part JOIN held ON held.id = part.license_id
  LEFT JOIN meter ON meter.license_id = part.license_id AND meter.feature = part.feature
  WHERE held.source IN ('offline', 'airgap') ORDER BY part.license_id, part.feature`,
);

type QueryPlan<K extends Query['kind']> = (
  query: Extract<Query, { kind: K }>,
  now: Instant,
  masterKeys: readonly MasterKey[],
) => PreparedQuery<Answers[K]>;

/** Refusals belong to licenses, reservations to products. */
const LIST_RULE_HISTORY = `SELECT product, feature, rule, CAST(sum(refused) AS bigint) AS refused,
    CAST(sum(minutes) AS bigint) AS minutes, CAST(sum(reserved) AS bigint) AS reserved,
    CAST(sum(unused) AS bigint) AS unused, min(first_at) AS first_at
  FROM (SELECT license.product, feature, rule, denials AS refused, 0 AS minutes, 0 AS reserved, 0 AS unused,
        CAST(NULL AS bigint) AS first_at
      FROM history_denial JOIN license ON license.id = license_id WHERE rule <> '' AND at >= :since
    UNION ALL SELECT product, feature, rule, 0, minutes, reserved, unused, at FROM history_reservation
      WHERE at >= :since) AS done
  GROUP BY product, feature, rule HAVING sum(refused) > 0 OR sum(minutes) > 0
  ORDER BY product, feature, rule`;

type RuleHistoryRow = Omit<RuleHistory, 'firstAt'> & { readonly first_at: Instant | null };

/** The questions that both stores answer with the same SQL. */
const QUERIES = {
  list_registrations: (query, now) => queryRegistrations(query, now),
  list_licenses: ({ product }, now) => queryLicenses(product, now),
  list_untidy: (_, now) => {
    const [windowStart, placeStart] = [now - DENIAL_WINDOW_MS, now - PLACE_WINDOW_MS];
    const values = { now, windowStart, placeStart, forgotten: now - ANSWER_LIFETIME_MS };
    return prepareQuery(LIST_UNTIDY, values, (rows: readonly RowOf<'license'>[]) => rows.map(({ id }) => id));
  },
  list_backlog: () => ({
    statements: [LIST_METERS, 'SELECT * FROM report ORDER BY cut_at, id'].map((sql) => ({ sql, values: {} })),
    answer: ([meters, reports]) =>
      backlogFromRows(meters as readonly BacklogRow[], reports as readonly RowOf<'report'>[]),
  }),
  list_usage: () => prepareQuery(LIST_USAGE, {}, (rows: readonly UsageRow[]) => rows.map(usageFromRow)),
  list_open_requests: () =>
    prepareQuery(
      `SELECT * FROM offline_request WHERE answered_by IS NULL AND request <> 'deactivation'
       ORDER BY made_at DESC, id LIMIT 20`,
      {},
      (rows: readonly RowOf<'offline_request'>[]) => rows.map(requestFromRow),
    ),

  find_account: ({ name }) =>
    prepareQuery(
      'SELECT * FROM account WHERE name = :name',
      { name },
      ([row]: readonly RowOf<'account'>[]) => (row === undefined ? null : accountFromRow(row)),
    ),
  list_accounts: () =>
    prepareQuery('SELECT * FROM account ORDER BY name', {}, (rows: readonly RowOf<'account'>[]) =>
      rows.map(accountFromRow),
    ),
  find_token: ({ tokenHash }, now) =>
    prepareQuery(
      `${SELECT_TOKEN} WHERE token_hash = :tokenHash`,
      { tokenHash },
      ([row]: readonly TokenRow[]) => (row === undefined ? null : tokenRecordFromRow(row, now)),
    ),
  list_tokens: ({ limit, endingWithinMs }, now) => {
    const read = (rows: readonly TokenRow[]) => rows.map((row) => tokenRecordFromRow(row, now));
    if (endingWithinMs === undefined)
      return prepareQuery(`${SELECT_TOKEN} ${TOKEN_ORDER} LIMIT :limit`, { limit }, read);
    return prepareQuery(
      `${SELECT_TOKEN} WHERE expires_at > :now AND expires_at <= :until
       ORDER BY expires_at, token.id LIMIT :limit`,
      { now, until: now + endingWithinMs, limit },
      read,
    );
  },

  is_set_up: () =>
    prepareQuery(
      'SELECT set_up_at FROM server',
      {},
      ([row]: readonly ServerRow[]) => (row?.set_up_at ?? null) !== null,
    ),
  find_follower: ({ follower }) =>
    prepareQuery(
      'SELECT * FROM follower WHERE name = :follower',
      { follower },
      ([row]: readonly RowOf<'follower'>[]) => followerFromRow(row),
    ),
  find_cursor: ({ follower }) =>
    prepareQuery(
      'SELECT * FROM follower WHERE name = :follower',
      { follower },
      ([row]: readonly RowOf<'follower'>[]) => cursorFromRow(row),
    ),
  find_rules: () => ({
    statements: [FIND_RULES, LIST_BARS].map((sql) => ({ sql, values: {} })),
    answer: ([revisions, bars]) => {
      const [row] = revisions as readonly RowOf<'rules_revision'>[];
      return {
        rules: rulesFromRows(row, bars as readonly RowOf<'bar'>[]),
        applied: row === undefined ? null : revisionFromRow(row),
      };
    },
  }),
  list_rule_counts: (_, now) =>
    prepareQuery(
      'SELECT * FROM license WHERE removed_at IS NULL AND counts IS NOT NULL ORDER BY id',
      {},
      (rows: readonly RowOf<'license'>[]) => ({
        now,
        counts: rows.flatMap((row) => countsFromRow(row, now)),
      }),
    ),
  list_rule_history: ({ since }) =>
    prepareQuery(LIST_RULE_HISTORY, { since }, (rows: readonly RuleHistoryRow[]) =>
      rows.map(({ first_at: firstAt, ...row }) => ({ ...row, firstAt })),
    ),
  list_rules_revisions: () =>
    prepareQuery(
      // Not the rules as JSON: those of a hundred revisions, with all members of groups, are long.
      `SELECT revision, text, written_in, group_ages, applied_by, applied_at
        FROM rules_revision ORDER BY revision DESC`,
      {},
      (rows: readonly Omit<RowOf<'rules_revision'>, 'rules'>[]) => rows.map(revisionFromRow),
    ),
  list_bars: () => prepareQuery(LIST_BARS, {}, (rows: readonly RowOf<'bar'>[]) => rows.map(barFromRow)),
  list_settings: (_, __, masterKeys) =>
    prepareQuery(LIST_SETTINGS, {}, (rows: readonly SettingRow[]) =>
      rows.map((row) => openSetting(row, masterKeys)),
    ),
  find_notice: ({ key: { kind, subject } }) =>
    prepareQuery(
      'SELECT * FROM notice WHERE kind = :kind AND subject = :subject',
      { kind, subject },
      ([row]: readonly RowOf<'notice'>[]) => row?.value ?? null,
    ),
  list_notices: ({ of }) =>
    prepareQuery(
      'SELECT * FROM notice WHERE kind = :of ORDER BY subject',
      { of },
      (rows: readonly RowOf<'notice'>[]) => rows.map(({ subject }) => subject),
    ),
  describe_seal: () => querySecrets((secrets) => ({ sealedBy: findSealingFingerprint(secrets) ?? '' })),
  find_cloud_keys: (_, __, masterKeys) => querySecrets((secrets) => openCloudKeys(secrets, masterKeys)),
  find_webhook_secret: (_, __, masterKeys) =>
    querySecrets((secrets) => openWebhookSecret(secrets, masterKeys)),
  list_channels: (_, __, masterKeys) => querySecrets((secrets) => openChannels(secrets, masterKeys)),
  find_second_factor: ({ account }, _, masterKeys) =>
    querySecrets((secrets) => openSecondFactor(secrets, account, masterKeys)),
  find_grant_keys: (_, __, masterKeys) => querySecrets((secrets) => openGrantKeys(secrets, masterKeys)),

  search_audit: (query) => queryAuditSearch(query),
  list_links: ({ after, upTo, limit }) =>
    prepareQuery(
      `SELECT ${LINK_PLACE}, events, mac FROM audit_link
       WHERE audit_link.seq > :after AND audit_link.seq <= :upTo ORDER BY audit_link.seq LIMIT :limit`,
      { after, upTo, limit },
      (rows: readonly Row[]) => rows.map(writtenLinkFromRow),
    ),
  describe_audit: () =>
    prepareQuery(
      `SELECT ${readable('max(seq)', 'seq')} FROM audit_link`,
      {},
      ([row]: readonly RowOf<'audit_link'>[]) => ({
        lastSeq: row?.seq ?? 0,
      }),
    ),
  list_segments: () =>
    prepareQuery(
      'SELECT * FROM audit_segment ORDER BY chain',
      {},
      (rows: readonly RowOf<'audit_segment'>[]) => rows.map(describeSegment),
    ),
  ...HISTORY_QUERIES,
} satisfies { readonly [K in Query['kind']]?: QueryPlan<K> };

/** What both stores answer in the same way. */
type SharedQuery = Extract<Query, { kind: keyof typeof QUERIES }>;

export function isShared(query: Query): query is SharedQuery {
  return query.kind in QUERIES;
}

export function planQuery<Q extends SharedQuery>(
  query: Q,
  now: Instant,
  masterKeys: readonly MasterKey[],
): PreparedQuery<Answer<Q>> {
  const plan = QUERIES[query.kind] as QueryPlan<Query['kind']>;
  return plan(query, now, masterKeys) as PreparedQuery<Answer<Q>>;
}
