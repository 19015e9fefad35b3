import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { hasPostgres, sharedPostgres } from '../../../../../../test/support/stores/postgres.ts';
import { HOUR_MS } from '../../../../src/core/nouns/instant.ts';
import { createManualClock } from '../../../../src/store/clock.ts';
import { type OpeningOptions, openConnection } from '../../../../src/store/postgres/wire/database.ts';
import { exampleLicense, NOW, register } from '../../../core/examples.ts';
import { askBeside } from '../../exam/ask-beside.ts';
import { grantedOf, refusedOf } from '../../exam/exam-store.ts';
import { openPatiently } from '../../exam/postgres-database.ts';

const skip = hasPostgres ? false : 'optional: needs PostgreSQL for this platform';
const shared = sharedPostgres();

/** A license with so many slots, of which ada holds one. */
async function openSite(t: TestContext, slots: number) {
  const url = await (await shared()).createDatabase();
  const clock = createManualClock(NOW);
  const sent: string[] = [];
  const open = async (options: OpeningOptions) => {
    const connection = await openConnection(options);
    const query = connection.query.bind(connection);
    connection.query = ((text, values) => {
      sent.push(text);
      return query(text, values);
    }) as typeof connection.query;
    return connection;
  };
  const store = await openPatiently({ url, open, clock });
  t.after(() => store.close());
  await store.execute({ kind: 'install_license', license: exampleLicense({ slots }), by: 'admin' });
  const held = grantedOf(await store.execute(register('ada')));
  return { url, clock, sent, store, held };
}

/** Whoever waits for a row is the next to get it, which is a lock of its own. */
const LIST_WAITING = `SELECT 1 FROM pg_locks JOIN pg_database ON pg_database.oid = database
  WHERE locktype = 'tuple' AND datname = current_database()`;

describe('a batch reads which slots end', { skip }, () => {
  test('next with everything else, where somebody will be refused and told', async (t) => {
    const { store, sent, held } = await openSite(t, 1);
    sent.length = 0;
    const { details } = refusedOf(await store.execute(register('bob')));
    assert.equal((details as { nextFreeAt?: unknown }).nextFreeAt, held.registration.endsAt);
    const ends = sent.filter((text) => /FROM registration .*ORDER BY ends_at/.test(text));
    assert.equal(ends.length, 1);
  });

  test('soon, and again if so much time has passed before it had its locks', async (t) => {
    const { url, clock, store } = await openSite(t, 2);
    await askBeside(url, 'BEGIN; SELECT id FROM license FOR UPDATE');
    const asked = store.execute(register('bob'));
    while ((await askBeside(url, LIST_WAITING)).length === 0);
    clock.advance(HOUR_MS);
    await askBeside(url, `UPDATE server SET alive_at = ${clock.readWall()}; COMMIT`);
    assert.equal(grantedOf(await asked).inUse, 1, 'that of ada has ended');
  });
});
