import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hasPostgres, sharedPostgres } from '../../../../../../test/support/stores/postgres.ts';
import { HOUR_MS } from '../../../../src/core/nouns/instant.ts';
import { openConnection } from '../../../../src/store/postgres/wire/database.ts';
import { parseDatabaseUrl } from '../../../../src/store/postgres/wire/database-url.ts';
import { exampleLicense, register } from '../../../core/examples.ts';
import { openPatiently } from '../../exam/postgres-database.ts';

const getPostgres = sharedPostgres();

/** Leaves what an hour with a wrong clock leaves. */
const POISON = [
  'UPDATE server SET mark = mark + $1, alive_at = alive_at + $1',
  'UPDATE license SET mark = mark + $1',
  'UPDATE registration SET ends_at = ends_at + $1',
];

test("after a reset, lists and rests of all servers use the database's clock again", async (t) => {
  if (!hasPostgres) return t.skip('optional: needs PostgreSQL');
  const url = await (await getPostgres()).createDatabase();
  const store = await openPatiently({ url });
  t.after(() => store.close());
  const connection = await openConnection({
    target: parseDatabaseUrl(url),
    prepareStatements: true,
    connectTimeoutMs: 10_000,
    answerTimeoutMs: 30_000,
  });
  t.after(() => connection.close());
  await store.execute({ kind: 'install_license', license: exampleLicense(), by: 'test' });
  assert.equal((await store.execute(register('ada'))).kind, 'granted');
  for (const text of POISON) await connection.query(text, [HOUR_MS]);
  const { jump, wall } = await store.keepClock();
  assert.equal(jump?.direction, 'behind');
  assert.equal((await store.execute({ kind: 'reset_clock', by: 'test' })).kind, 'clock_reset');
  assert.equal((await store.keepClock()).jump, null);
  const all = { licenseId: null, product: null, user: null, limit: 10, after: null };
  const { registrations } = await store.read({ kind: 'list_registrations', ...all });
  assert.equal(registrations.length, 1);
  const [row] = await connection.query('SELECT alive_at FROM server');
  assert.ok((row?.alive_at as number) < wall + HOUR_MS / 2);
});
