import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { pollUntil } from '../../../../../test/support/poll.ts';
import { hasPostgres, sharedPostgres } from '../../../../../test/support/stores/postgres.ts';
import { testLicense } from '../../../../../test/support/test-license.ts';
import type { StoreNotice } from '../../../src/core/nouns/store-notice.ts';
import { PostgresStore } from '../../../src/store/postgres/postgres-store.ts';
import { openConnection } from '../../../src/store/postgres/wire/database.ts';
import { parseDatabaseUrl } from '../../../src/store/postgres/wire/database-url.ts';
import type { Store } from '../../../src/store/store.ts';
import { register } from '../../core/examples.ts';
import { askBeside } from '../exam/ask-beside.ts';
import { openPatiently } from '../exam/postgres-database.ts';

const skip = hasPostgres ? false : 'optional: needs PostgreSQL for this platform';
const shared = sharedPostgres();

async function install(store: Store, id: number, product: string): Promise<void> {
  const license = testLicense(id, { product });
  await store.execute({ kind: 'install_license', license, by: 'admin' });
}

/** A database, and a copy of it that stands for a standby which was behind when it was promoted. */
async function createPair() {
  const postgres = await shared();
  const [primary, standby] = [await postgres.createDatabase(), await postgres.createDatabase()];
  const [name, copy] = [primary, standby].map((url) => parseDatabaseUrl(url).database);
  const first = await openPatiently({ url: primary, isServing: false });
  await install(first, 1, 'cad');
  await first.close();
  const admin = postgres.url('postgres');
  await askBeside(admin, `DROP DATABASE ${copy}`);
  await askBeside(admin, `CREATE DATABASE ${copy} TEMPLATE ${name}`);
  return { primary, standby };
}

/** A server whose host leads to the one or the other. */
async function openServer(t: TestContext, primary: string) {
  const notices: Extract<StoreNotice, { kind: 'database_moved' }>[] = [];
  let place = { url: primary, timeline: 1 };
  const store = await openPatiently({
    url: primary,
    onNotice: (notice) => notice.kind === 'database_moved' && notices.push(notice),
    open: async (options) => {
      const { database } = parseDatabaseUrl(place.url);
      const connection = await openConnection({ ...options, target: { ...options.target, database } });
      connection.lineage = { system: 'one', timeline: place.timeline };
      return connection;
    },
  });
  t.after(() => store.close());
  return {
    store,
    async moveTo(url: string): Promise<void> {
      const old = parseDatabaseUrl(place.url).database;
      place = { url, timeline: place.timeline + 1 };
      const admin = (await shared()).url('postgres');
      const statement = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${old}'`;
      await askBeside(admin, statement);
    },
    nextNotice: () => pollUntil('the move was noticed', () => notices.shift()),
  };
}

test('a server whose database is silent looks for another primary', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  let looks = 0;
  const store = new PostgresStore({
    writer: { memory: {} },
    election: { attend: () => new Promise(() => {}) },
    signal: null,
    lookAround: async () => {
      looks += 1;
    },
  } as unknown as ConstructorParameters<typeof PostgresStore>[0]);
  void store.keepClock();
  assert.equal(looks, 0);
  t.mock.timers.tick(4000);
  assert.equal(looks, 2);
});

describe('a server whose database fails over', { skip }, () => {
  test('notices what the standby lacked, and believes nothing that it remembers', async (t) => {
    const { primary, standby } = await createPair();
    const { store, moveTo, nextNotice } = await openServer(t, primary);
    const other = await openPatiently({ url: standby });
    t.after(() => other.close());
    await install(store, 2, 'lost');
    assert.equal((await store.execute(register('ada', { product: 'cad' }))).kind, 'granted');
    // The same number of changes as on the old primary.
    await install(other, 3, 'new');
    await moveTo(standby);
    const renewed = await store.execute(register('ada', { product: 'new' }));
    assert.equal(renewed.kind, 'granted');
    assert.equal((await nextNotice()).lost, 2, 'the new license, and the slot of the old one');
  });

  test('and says so if nothing is missing', async (t) => {
    const { primary } = await createPair();
    const { store, moveTo, nextNotice } = await openServer(t, primary);
    assert.equal((await store.execute(register('ada'))).kind, 'granted');
    await moveTo(primary);
    assert.equal((await store.execute(register('bob'))).kind, 'granted');
    const { lost, host } = await nextNotice();
    assert.equal(lost, 0);
    assert.match(host, /^127\.0\.0\.1:\d+$/);
  });
});
