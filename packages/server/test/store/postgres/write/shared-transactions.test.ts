import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { hasPostgres, sharedPostgres } from '../../../../../../test/support/stores/postgres.ts';
import { licenseId } from '../../../../src/core/nouns/license.ts';
import type { Connection } from '../../../../src/store/postgres/wire/connection.ts';
import { type OpeningOptions, openConnection } from '../../../../src/store/postgres/wire/database.ts';
import { parseDatabaseUrl } from '../../../../src/store/postgres/wire/database-url.ts';
import type { Store } from '../../../../src/store/store.ts';
import { consume, exampleLicense, register } from '../../../core/examples.ts';
import { openPatiently } from '../../exam/postgres-database.ts';
import { expectSound } from '../../exam/soundness.ts';

const skip = hasPostgres ? false : 'optional: needs PostgreSQL for this platform';
const shared = sharedPostgres();

interface Site {
  readonly url: string;
  readonly store: Store;
  /** What was sent to the database, by all stores, without what each server does every second. */
  readonly sent: string[];
  /** Codes of errors of the database. */
  readonly errors: string[];
  openBeside(): Promise<Store>;
}

async function openSite(t: TestContext, products: number): Promise<Site> {
  const url = await (await shared()).createDatabase();
  const [sent, errors]: [string[], string[]] = [[], []];
  const open = async (options: OpeningOptions) => watch(await openConnection(options), sent, errors);
  const openBeside = async () => {
    const store = await openPatiently({ url, open });
    t.after(() => store.close());
    return store;
  };
  const store = await openBeside();
  for (let n = 1; n <= products; n++) {
    const license = exampleLicense({ id: licenseId(n), product: productOf(n), slots: 100 });
    await store.execute({ kind: 'install_license', license, by: 'admin' });
  }
  sent.length = 0;
  return { url, store, sent, errors, openBeside };
}

/** A connection that no store knows of. */
async function openBesideStore(t: TestContext, url: string): Promise<Connection> {
  const target = parseDatabaseUrl(url);
  const patience = { answerTimeoutMs: 60_000, connectTimeoutMs: 60_000 };
  const connection = await openConnection({ target, prepareStatements: false, ...patience });
  t.after(() => connection.close());
  return connection;
}

const COUNT_WAITING = `SELECT count(*) AS count FROM pg_stat_activity
  WHERE datname = current_database() AND wait_event_type = 'Lock'`;
const LIST_FREE = 'SELECT id FROM license ORDER BY id FOR UPDATE SKIP LOCKED';

function watch(connection: Connection, sent: string[], errors: string[]): Connection {
  const query = connection.query.bind(connection);
  connection.query = ((text, values) => {
    sent.push(text.trim());
    const answer = query(text, values);
    answer.catch((error) => errors.push(String(error.code)));
    return answer;
  }) as typeof connection.query;
  return connection;
}

function productOf(n: number): string {
  return `product-${n}`;
}

function askAll(store: Store, user: string, products: readonly number[]) {
  return products.map((n) => store.execute(register(user, { product: productOf(n) })));
}

const PRODUCTS = Array.from({ length: 8 }, (_, index) => index + 1);

describe('commands of many products', { skip }, () => {
  test('share one transaction: two round trips, whatever their number', async (t) => {
    const { store, sent } = await openSite(t, PRODUCTS.length);
    // The server hears of the last license with the next transaction.
    await store.execute(register('ada', { product: productOf(1) }));
    sent.length = 0;
    for (const outcome of await Promise.all(askAll(store, 'ada', PRODUCTS)))
      assert.equal(outcome.kind, 'granted');
    assert.equal(sent.filter((text) => text === 'COMMIT').length, 1);
    assert.equal(sent.filter((text) => text.startsWith('BEGIN')).length, 1);
    await expectSound(store);
  });

  test('are locked in one order: who waits for a license holds none with a higher id', async (t) => {
    const { url, store, errors } = await openSite(t, PRODUCTS.length);
    const [holder, observer] = [await openBesideStore(t, url), await openBesideStore(t, url)];
    let free: readonly unknown[] = [];
    do {
      // Again if the machine was too slow: then the locks were given up meanwhile.
      errors.length = 0;
      await holder.query('BEGIN; SELECT id FROM license WHERE id = 4 FOR UPDATE');
      const asked = askAll(store, 'ada', PRODUCTS.toReversed());
      const count = async () => (await observer.query(COUNT_WAITING))[0]?.count;
      while ((await count()) === 0 && errors.length === 0);
      free = (await observer.query(LIST_FREE)).map(({ id }) => id);
      await holder.query('ROLLBACK');
      await Promise.all(asked);
    } while (errors.length > 0);
    assert.deepEqual(free, PRODUCTS.slice(4));
  });

  test('of two servers that cross never deadlock', async (t) => {
    const { store, errors, openBeside } = await openSite(t, PRODUCTS.length);
    const other = await openBeside();
    for (let round = 0; round < 7; round++) {
      await Promise.all([
        ...askAll(store, `user-${round}`, PRODUCTS.slice(round % 5)),
        ...askAll(other, `user-${round}-b`, PRODUCTS.toReversed().slice(round % 3)),
        store.execute({ kind: 'collect', licenseId: licenseId(8 - round) }),
        other.execute({ kind: 'forget_user', user: `user-${round - 1}`, by: 'admin' }),
      ]);
    }
    assert.deepEqual(errors, []);
    await expectSound(other);
  });

  test('wait only for their own product when somebody keeps it locked', async (t) => {
    const { url, store, errors } = await openSite(t, 3);
    const holder = await openBesideStore(t, url);
    await holder.query('BEGIN; SELECT id FROM license WHERE id = 2 FOR UPDATE');
    const [first, second, third] = askAll(store, 'ada', [1, 2, 3]);
    let isHeld = true;
    // On a slow machine it may wait too long, and fail.
    const held = second?.then(
      () => {
        isHeld = false;
      },
      () => {},
    );
    assert.deepEqual([(await first)?.kind, (await third)?.kind], ['granted', 'granted']);
    assert.equal(errors[0], '55P03', 'the lock was not waited for');
    const counted = [1, 3].map((n) => store.execute(consume(1, { product: productOf(n) })));
    for (const outcome of await Promise.all(counted)) assert.equal(outcome.kind, 'measured');
    assert.equal(isHeld, true);
    await holder.query('ROLLBACK');
    await held;
    assert.equal((await store.execute(register('ada', { product: productOf(2) }))).kind, 'granted');
    await expectSound(store);
  });

  test('one that the database refuses fails alone', async (t) => {
    const { store, errors } = await openSite(t, 4);
    const asked = askAll(store, 'ada', [1, 2, 3, 4]);
    const refused = assert.rejects(store.execute(register('nul\0', { product: productOf(2) })));
    const after = askAll(store, 'bob', [1, 2, 3, 4]);
    for (const outcome of await Promise.all([...asked, ...after])) assert.equal(outcome.kind, 'granted');
    await refused;
    assert.match(String(errors[0]), /^22/);
    await expectSound(store);
  });
});

describe('a server whose tables a newer one has changed', { skip }, () => {
  test('goes on, with statements that fit them', async (t) => {
    const { url, store, errors } = await openSite(t, 2);
    const ask = (user: string) => Promise.all(askAll(store, user, [1, 2]));
    const list = () => store.read({ kind: 'list_licenses', product: null });
    await ask('ada');
    const before = await list();
    const newer = await openBesideStore(t, url);
    for (const table of ['registration', 'feature_slot', 'denial', 'meter', 'consumption_total'])
      await newer.query(`ALTER TABLE ${table} ADD COLUMN added BIGINT`);
    await ask('bob');
    assert.equal(errors.length, 0, 'it names its columns');
    await newer.query('ALTER TABLE license ADD COLUMN added BIGINT');
    await ask('cyd');
    assert.ok(errors.includes('0A000'), 'a row that is locked as a whole is another one now');
    assert.equal((await list()).length, before.length);
    await expectSound(store);
  });
});
