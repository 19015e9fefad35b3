import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, test } from 'node:test';
import { inspect } from 'node:util';
import { type AddressRange, parseRange } from '@berth/protocol/address-range';
import { SLOT_ORDERS } from '@berth/protocol/admin/choices';
import { copyToPostgres } from '../../../../../../test/support/stores/copied-store.ts';
import { hasPostgres, sharedPostgres } from '../../../../../../test/support/stores/postgres.ts';
import { ODD_USERS, writeRichHistory } from '../../../../../../test/support/stores/rich-history.ts';
import { historyCutoffs } from '../../../../src/core/history/thinning.ts';
import { Fault } from '../../../../src/core/nouns/fault.ts';
import { DAY_MS, type Instant, MINUTE_MS, plus } from '../../../../src/core/nouns/instant.ts';
import { licenseId } from '../../../../src/core/nouns/license.ts';
import { type MasterKey, SealError } from '../../../../src/secrets/seal.ts';
import { createManualClock } from '../../../../src/store/clock.ts';
import { PostgresReader } from '../../../../src/store/postgres/read/reader.ts';
import { parseDatabaseUrl } from '../../../../src/store/postgres/wire/database-url.ts';
import { Pool } from '../../../../src/store/postgres/wire/pool.ts';
import type { ListAudit, ListRegistrations, Query, SearchAudit } from '../../../../src/store/query.ts';
import { openInThreadStore } from '../../../../src/store/sqlite/in-thread-store.ts';
import { SqliteReader } from '../../../../src/store/sqlite/read/reader.ts';
import { NOW } from '../../../core/examples.ts';

const skip = hasPostgres ? false : 'optional: needs PostgreSQL for this platform';
const shared = sharedPostgres();
const describeHost = () => 'db:5432';
const masterKey = randomBytes(32) as Uint8Array as MasterKey;

let folder: string;
let sqlite: SqliteReader;
let pool: Pool;
let postgres: PostgresReader;

/** What a history seldom leaves: feature slots that do not count, meters, and denials of odd users. */
const SELDOM = `
  INSERT INTO feature_slot (license_id, user, feature, registered_at, ends_at) VALUES
    (2, 'nobody', 'render', 0, 1e15), (2, 'late', 'render', 0, 1e15), (2, 'ada', 'export', 0, 1e15);
  INSERT INTO registration (license_id, user, registered_at, ends_at) VALUES (2, 'late', 0, 1);
  INSERT INTO meter (license_id, feature, pending, reported, in_use) VALUES
    (21, 'Z', 0, 3, 0), (5, 'Z', 1, 3, 0), (5, 'ä', 2, 0, 0), (5, 'a', 3, 0, 0);
  INSERT INTO history_denial (license_id, feature, grain, at, user, others, host, address, reason, rule,
    denials, first_at, last_at)
  SELECT 5, '', 60000, ${NOW}, value, 0, '', '', 'floating_not_available', '', 1, ${NOW}, ${NOW} + 5
  FROM json_each('${JSON.stringify(['Ada', 'ada', 'ada b', 'zoë', 'ß'])}')`;

before(async () => {
  if (skip) return;
  folder = mkdtempSync(join(tmpdir(), 'berth-reader-'));
  const file = join(folder, 'berth.db');
  const clock = createManualClock(NOW);
  const store = openInThreadStore({ file, masterKey, clock, onNotice: () => {} });
  await writeRichHistory(store, clock);
  await store.close();
  const db = new DatabaseSync(file);
  db.exec(SELDOM);
  db.close();
  const url = await (await shared()).createDatabase();
  await copyToPostgres(folder, url, masterKey);
  sqlite = new SqliteReader({ file });
  pool = new Pool({
    target: parseDatabaseUrl(url),
    max: 3,
    prepareStatements: true,
    acquireTimeoutMs: 10_000,
    connectTimeoutMs: 10_000,
    answerTimeoutMs: 30_000,
  });
  postgres = new PostgresReader({ pool, patientPool: pool, describeHost });
  // Not copied, because a store counts anew.
  using source = new DatabaseSync(file, { readOnly: true });
  const counts = source.prepare('SELECT counts FROM license WHERE counts IS NOT NULL').get()
    ?.counts as string;
  await pool.use((connection) =>
    connection.query("UPDATE license SET counts = $1 WHERE product = 'cad'", [counts]),
  );
});

after(async () => {
  if (skip) return;
  await postgres.close();
  await pool.close();
  sqlite.close();
  rmSync(folder, { recursive: true });
});

/** When everything of the history is live, when some of it has ended, and when all of it has. */
const TIMES = [plus(NOW, 3 * MINUTE_MS), plus(NOW, DAY_MS + 12 * MINUTE_MS), plus(NOW, 60 * DAY_MS)];

const REGISTRATIONS: ListRegistrations = {
  kind: 'list_registrations',
  licenseId: null,
  product: null,
  user: null,
  limit: 1000,
  after: null,
};

const EVERYWHERE = parseRange('0.0.0.0/0') as AddressRange;

const AUDIT: ListAudit = { kind: 'list_audit', chain: null, limit: 1000, before: null };

/** Over all of the history, and over a short time. */
const HISTORY = { since: plus(NOW, -DAY_MS), until: plus(NOW, 90 * DAY_MS), licenseId: null };
const DENIAL = {
  ...{ user: 'ada', others: 0, host: '', address: '', rule: '', grain: 60_000 },
  at: NOW,
};
const RECENT = { ...HISTORY, until: plus(NOW, DAY_MS) };
const SEARCH: SearchAudit = {
  kind: 'search_audit',
  ...{ chains: null, since: null, until: null, user: null, kinds: null, before: null },
  ...{ scanned: 1000, links: 100 },
};

const AMONG = { among: [2, 5].map(licenseId) };

const QUERIES: {
  readonly [K in Exclude<
    Query['kind'],
    'describe_store' | 'describe_engine' | 'check_file'
  >]: readonly Query[];
} = {
  list_licenses: [null, 'cad', 'p0', 'p9', 'c\0d', "'; DROP TABLE license; --"].map((product) => ({
    kind: 'list_licenses',
    product,
  })),
  list_products: [{ kind: 'list_products' }],
  list_registrations: [
    REGISTRATIONS,
    { ...REGISTRATIONS, among: [2, 5].map(licenseId) },
    { ...REGISTRATIONS, among: [] },
    { ...REGISTRATIONS, licenseId: licenseId(2) },
    { ...REGISTRATIONS, product: 'p1' },
    ...['zoe', 'Zoë', "o'brien", 'z\0e', '\u{1F600}', '\uD83D'].map((user) => ({ ...REGISTRATIONS, user })),
    ...ODD_USERS.map((user) => ({ ...REGISTRATIONS, limit: 4, after: { licenseId: licenseId(5), user } })),
    { ...REGISTRATIONS, after: { licenseId: licenseId(5), user: 'ada\0' } },
    { ...REGISTRATIONS, after: { licenseId: licenseId(5), user: 'ad\0a' } },
    ...SLOT_ORDERS.flatMap((order) => [
      { ...REGISTRATIONS, order },
      { ...REGISTRATIONS, order, isDescending: true, offset: 2, limit: 3 },
    ]),
    { ...REGISTRATIONS, isBorrowed: true },
    { ...REGISTRATIONS, isBorrowed: false, licenseId: licenseId(5) },
    ...['A', 'ZOË', '%', "' OR 1=1 --"].map((text) => ({ ...REGISTRATIONS, search: { text, origin: null } })),
    { ...REGISTRATIONS, search: { text: 'none', origin: EVERYWHERE } },
    { ...REGISTRATIONS, origin: EVERYWHERE, search: { text: 'a', origin: null } },
    { ...REGISTRATIONS, feature: 'render' },
  ],
  list_audit: [
    AUDIT,
    { ...AUDIT, chain: 'system' },
    { ...AUDIT, chain: licenseId(2), limit: 3 },
    { ...AUDIT, chain: licenseId(99) },
    { ...AUDIT, before: 20, limit: 7 },
    { ...AUDIT, after: 20, limit: 7 },
    { ...AUDIT, after: 0, eventLimit: 5 },
    { ...AUDIT, limit: 0 },
  ],
  search_audit: [
    SEARCH,
    { ...SEARCH, links: 3 },
    { ...SEARCH, scanned: 4, before: 20 },
    { ...SEARCH, chains: [2, 0] },
    { ...SEARCH, chains: [99] },
    { ...SEARCH, since: plus(NOW, 1) },
    { ...SEARCH, until: NOW },
    ...['zoe', 'Zoë', "o'brien", 'z\0e', '"', '\u{1F600}', '%'].map((user) => ({ ...SEARCH, user })),
    { ...SEARCH, kinds: ['slot_denied', 'slot_lent'], user: 'eve' },
    ...['A', 'ZOË', 'zoë', '%', '"', "'", '\u{1F600}'].map((search) => ({ ...SEARCH, search })),
  ],
  verify_audit: [{ kind: 'verify_audit' }],
  describe_audit: [{ kind: 'describe_audit' }],
  list_links: [
    { kind: 'list_links', after: 0, upTo: 1e9, limit: 1e6 },
    { kind: 'list_links', after: 12, upTo: 30, limit: 5 },
  ],
  list_segments: [{ kind: 'list_segments' }],
  find_account: ['ada', 'Zoë', 'nobody', 'a\0a'].map((name) => ({ kind: 'find_account', name })),
  list_accounts: [{ kind: 'list_accounts' }],
  find_token: ['ada 1', 't1', 'none', "' OR 1=1 --", 't\0'].map((tokenHash) => ({
    kind: 'find_token',
    tokenHash,
  })),
  list_tokens: [1, 4, 100].map((limit) => ({ kind: 'list_tokens', limit })),
  is_set_up: [{ kind: 'is_set_up' }],
  find_cursor: [{ kind: 'find_cursor', follower: 'webhook' }],
  find_follower: [
    { kind: 'find_follower', follower: 'webhook' },
    { kind: 'find_follower', follower: 'channel ops' },
  ],
  find_notice: ['a-cloud', '', 'none', "' OR 1=1 --"].map((subject) => ({
    kind: 'find_notice',
    key: { kind: 'cloud_held', subject },
  })),
  list_notices: ['cloud_held', 'license_nearly_full'].map((of) => ({ kind: 'list_notices', of }) as Query),
  list_untidy: [{ kind: 'list_untidy' }],
  list_backlog: [{ kind: 'list_backlog' }],
  list_usage: [{ kind: 'list_usage' }],
  list_open_requests: [{ kind: 'list_open_requests' }],
  list_slot_history: [MINUTE_MS, DAY_MS].flatMap((stepMs) => [
    { kind: 'list_slot_history', ...HISTORY, feature: null, stepMs },
    { kind: 'list_slot_history', ...HISTORY, licenseId: licenseId(5), feature: '', stepMs },
    { kind: 'list_slot_history', ...HISTORY, feature: 'render', stepMs },
    { kind: 'list_slot_history', ...HISTORY, ...AMONG, feature: null, stepMs },
  ]),
  list_denial_history: [
    { kind: 'list_denial_history', ...HISTORY, feature: null, user: null, reason: null, limit: 10 },
    { kind: 'list_denial_history', ...HISTORY, ...AMONG, feature: null, user: 'zoe', reason: null, limit: 9 },
    { kind: 'list_denial_history', ...HISTORY, feature: '', user: 'Zoë', reason: 'blacklisted', limit: 3 },
    { kind: 'list_denial_history', ...RECENT, feature: null, user: 'z\0e', reason: null, limit: 3 },
    {
      kind: 'list_denial_history',
      ...RECENT,
      feature: null,
      user: null,
      search: 'E',
      reason: null,
      limit: 9,
    },
  ],
  list_user_history: [
    { kind: 'list_user_history', ...HISTORY, user: null, limit: 100 },
    { kind: 'list_user_history', ...RECENT, user: 'zoe', limit: 100 },
    { kind: 'list_user_history', ...HISTORY, ...AMONG, user: null, limit: 2 },
    { kind: 'list_user_history', ...RECENT, licenseId: licenseId(2), user: null, limit: 2 },
    ...['A', 'ZOË', '_', '~'].map((search) => {
      return { kind: 'list_user_history', ...HISTORY, user: null, search, limit: 100 } as const;
    }),
    { kind: 'list_user_history', ...HISTORY, user: null, isByDay: true, limit: 100 },
  ],
  list_wait_history: [
    { kind: 'list_wait_history', ...HISTORY, feature: null },
    { kind: 'list_wait_history', ...HISTORY, ...AMONG, feature: null },
    { kind: 'list_wait_history', ...HISTORY, licenseId: licenseId(2), feature: '' },
  ],
  list_consumption_history: [
    { kind: 'list_consumption_history', ...HISTORY, feature: null, limit: 100 },
    { kind: 'list_consumption_history', ...HISTORY, ...AMONG, feature: null, limit: 100 },
    { kind: 'list_consumption_history', ...HISTORY, licenseId: licenseId(2), feature: '', limit: 1 },
  ],
  begin_what_if: ['', 'render', 'nothing'].map((feature) => ({
    kind: 'begin_what_if',
    ...HISTORY,
    licenseId: licenseId(5),
    feature,
  })),
  list_what_if_buckets: ['', 'render'].map((feature) => ({
    kind: 'list_what_if_buckets',
    ...HISTORY,
    licenseId: licenseId(5),
    feature,
    limit: 2,
  })),
  list_what_if_denials: [null, DENIAL].map((after) => ({
    kind: 'list_what_if_denials',
    ...HISTORY,
    licenseId: licenseId(5),
    feature: '',
    after,
    limit: 2,
  })),
  list_old_history: [40, 800].map((days) => ({
    kind: 'list_old_history',
    ...historyCutoffs(plus(NOW, days * DAY_MS), 730),
  })),
  find_identity_key: [{ kind: 'find_identity_key' }],
  describe_seal: [{ kind: 'describe_seal' }],
  find_cloud_keys: [{ kind: 'find_cloud_keys' }],
  find_grant_keys: [{ kind: 'find_grant_keys' }],
  find_rules: [{ kind: 'find_rules' }],
  list_rules_revisions: [{ kind: 'list_rules_revisions' }],
  list_rule_history: [{ kind: 'list_rule_history', since: plus(NOW, -DAY_MS) }],
  list_rule_counts: [{ kind: 'list_rule_counts' }],
  list_bars: [{ kind: 'list_bars' }],
  list_settings: [{ kind: 'list_settings' }],
  find_webhook_secret: [{ kind: 'find_webhook_secret' }],
  list_channels: [{ kind: 'list_channels' }],
  find_second_factor: ['Zoë', 'a\0a'].map((account) => ({ kind: 'find_second_factor', account })),
};

function ask<Q extends Query>(query: Q, now: Instant = NOW) {
  return postgres.answer(query, now, [masterKey]);
}

describe('PostgreSQL answers as SQLite does', { skip }, () => {
  for (const [kind, queries] of Object.entries(QUERIES)) {
    test(kind, async () => {
      for (const query of queries) {
        for (const now of TIMES) {
          const expected = sqlite.answer(query, now, [masterKey]);
          assert.deepEqual(plain(await ask(query, now)), plain(expected), inspect(query));
        }
      }
    });
  }

  test('describe_store', async () => {
    for (const now of TIMES) {
      const { kind, engine, host, ...described } = await ask({ kind: 'describe_store' }, now);
      const {
        kind: _,
        engine: __,
        host: file,
        ...expected
      } = sqlite.answer({ kind: 'describe_store' }, now, []);
      assert.deepEqual([host, file], ['db:5432', null]);
      assert.equal(kind, 'postgres');
      assert.match(engine, /^PostgreSQL \d+\.\d+$/);
      assert.deepEqual(described, expected);
    }
  });

  test('the history has something for every query', () => {
    const isEmpty = (query: Query) => {
      const answers = TIMES.map((now) => sqlite.answer(query, now, [masterKey]));
      return answers.every((answer) => answer === null || (Array.isArray(answer) && answer.length === 0));
    };
    const firsts = Object.values(QUERIES).flatMap(([query]) => (query === undefined ? [] : [query]));
    assert.deepEqual(firsts.filter(isEmpty), []);
  });
});

/** Bytes are equal in any kind of array, and some lists have no order. */
function plain(value: unknown): unknown {
  if (value instanceof Uint8Array) return Buffer.from(value).toString('hex');
  return Array.isArray(value) && value.every(Number.isInteger) ? value.toSorted() : value;
}

describe('a query', { skip }, () => {
  test('about secrets needs the master key', async () => {
    const other = randomBytes(32) as Uint8Array as MasterKey;
    for (const kind of ['find_identity_key', 'find_cloud_keys', 'verify_audit'] as const) {
      await assert.rejects(postgres.answer({ kind }, NOW, [other]), SealError);
    }
    assert.equal((await ask({ kind: 'verify_audit' })).ok, true);
  });

  test('leaves no transaction open, even when it fails', async () => {
    const isFresh = new Set<unknown>();
    const patient: Pick<Pool, 'use'> = {
      use: (work) =>
        pool.use(async (connection) => {
          const outcome = await work(connection).catch((error: unknown) => error);
          const sql =
            'SELECT pg_current_xact_id_if_assigned() AS xact, now() = statement_timestamp() AS fresh';
          const [row] = await connection.query(sql);
          isFresh.add(row?.fresh);
          if (outcome instanceof Error) throw outcome;
          return outcome as never;
        }),
    };
    const one = new PostgresReader({ pool: patient, patientPool: patient, describeHost });
    await one.answer({ kind: 'list_licenses', product: null }, NOW, []);
    const tooLarge = { ...REGISTRATIONS, limit: 1e30 };
    await assert.rejects(one.answer(tooLarge, NOW, []), Fault);
    await assert.rejects(one.answer({ kind: 'verify_audit' }, NOW, []), SealError);
    assert.deepEqual([...isFresh], [true]);
  });

  test('about everything takes as many statements for many licenses as for one', async () => {
    let statements = 0;
    const counting = new PostgresReader({
      patientPool: pool,
      describeHost,
      pool: {
        use: (work) =>
          pool.use((connection) => {
            const query: typeof connection.query = (...args) => {
              statements += 1;
              return connection.query(...args);
            };
            return work(new Proxy(connection, { get: (_, name) => (name === 'query' ? query : undefined) }));
          }),
      },
    });
    const all = await counting.answer({ kind: 'list_licenses', product: null }, NOW, []);
    const forAll = statements;
    const one = await counting.answer({ kind: 'list_licenses', product: 'cad' }, NOW, []);
    assert.ok(all.length > one.length);
    assert.equal(statements, 2 * forAll);
  });

  test('is refused when the reader is closed during a verification', async () => {
    const closing = new PostgresReader({ pool, patientPool: pool, describeHost });
    const verdict = closing.answer({ kind: 'verify_audit' }, NOW, [masterKey]);
    await Promise.all([assert.rejects(verdict, /stopping/), closing.close()]);
  });
});
