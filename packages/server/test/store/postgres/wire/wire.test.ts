import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { hasPostgres, sharedPostgres } from '../../../../../../test/support/stores/postgres.ts';
import type { Connection } from '../../../../src/store/postgres/wire/connection.ts';
import { openConnection } from '../../../../src/store/postgres/wire/database.ts';
import { parseDatabaseUrl } from '../../../../src/store/postgres/wire/database-url.ts';
import { MessageReader, readError } from '../../../../src/store/postgres/wire/message-reader.ts';
import { MessageWriter } from '../../../../src/store/postgres/wire/message-writer.ts';

const skip = hasPostgres ? false : 'optional: needs PostgreSQL for this platform';
const shared = sharedPostgres();

async function open(t: TestContext, url: string, prepareStatements: boolean): Promise<Connection> {
  const connection = await openConnection({
    target: parseDatabaseUrl(url),
    prepareStatements,
    answerTimeoutMs: 10_000,
    connectTimeoutMs: 10_000,
  });
  t.after(() => connection.close());
  return connection;
}

async function listOutcomes(asked: readonly Promise<unknown>[]): Promise<readonly string[]> {
  const ends = await Promise.allSettled(asked);
  return ends.map((end) => (end.status === 'fulfilled' ? 'done' : (end.reason.code ?? end.reason.name)));
}

for (const prepareStatements of [true, false]) {
  const how = prepareStatements ? 'with prepared statements' : 'without them';
  describe(`statements in one round trip, ${how}`, { skip }, () => {
    test('are answered each with its own rows', async (t) => {
      const connection = await open(t, (await shared()).url('postgres'), prepareStatements);
      for (let round = 0; round < 3; round++) {
        const answers = await connection.together(() =>
          Promise.all([
            connection.query('BEGIN'),
            connection.query('SELECT $1::bigint AS a FROM generate_series(1, 2)', [round]),
            connection.query('SELECT $1::text AS b WHERE false', ['x']),
            connection.query('SELECT $1::text AS b', [null]),
            connection.query('COMMIT'),
          ]),
        );
        const rows = answers.map((answer) => [...answer]);
        assert.deepEqual(rows, [[], [{ a: round }, { a: round }], [], [{ b: null }], []]);
      }
    });

    test('fail together: nothing after an error is carried out, not even the commit', async (t) => {
      const url = await (await shared()).createDatabase();
      const [connection, other] = [
        await open(t, url, prepareStatements),
        await open(t, url, prepareStatements),
      ];
      await connection.query('CREATE TABLE thing (n BIGINT PRIMARY KEY)');
      const insert = (n: number) => connection.query('INSERT INTO thing VALUES ($1)', [n]);
      for (let round = 0; round < 2; round++) {
        const asked = connection.together(() => [
          connection.query('BEGIN'),
          insert(1),
          insert(1),
          connection.query('COMMIT'),
        ]);
        const next = connection.query('SELECT $1::int AS n', [round]);
        assert.deepEqual(await listOutcomes(asked), ['23505', '23505', '23505', '23505']);
        await assert.rejects(next, { code: '25P02' }, 'the transaction is still open');
        await connection.query('ROLLBACK');
        assert.deepEqual([...(await other.query('SELECT n FROM thing'))], []);
      }
      await insert(2);
      assert.deepEqual([...(await other.query('SELECT n FROM thing'))], [{ n: 2 }]);
    });

    test('are not sent if one of their values cannot be', async (t) => {
      const url = await (await shared()).createDatabase();
      const connection = await open(t, url, prepareStatements);
      await connection.query('CREATE TABLE thing (n BIGINT)');
      const bad = {} as unknown as null;
      const asked = connection.together(() => [
        connection.query('BEGIN'),
        connection.query('INSERT INTO thing VALUES ($1)', [1]),
        connection.query('INSERT INTO thing VALUES ($1)', [bad]),
        connection.query('COMMIT'),
      ]);
      assert.deepEqual(await listOutcomes(asked), Array(4).fill('TypeError'));
      assert.deepEqual([...(await connection.query('SELECT n FROM thing'))], []);
      assert.equal(connection.isBusy, false);
    });
  });
}

describe('a statement', { skip }, () => {
  test('that was skipped after an error is parsed when it comes again', async (t) => {
    const connection = await open(t, (await shared()).url('postgres'), true);
    const ask = () => connection.query('SELECT $1::text AS later', ['yes']);
    const asked = connection.together(() => [connection.query('SELECT 1 / $1::int', [0]), ask()]);
    assert.deepEqual(await listOutcomes(asked), ['22012', '22012']);
    assert.deepEqual([...(await ask())], [{ later: 'yes' }]);
  });

  test('may be large, and so may its rows', async (t) => {
    const connection = await open(t, (await shared()).url('postgres'), true);
    const text = 'ä'.repeat(1_000_000);
    const [small, large, last] = connection.together(() => [
      connection.query('SELECT $1::text AS t', ['small']),
      connection.query('SELECT $1::text AS t', [text]),
      connection.query('SELECT $1::text AS t', ['last']),
    ]);
    assert.deepEqual([...((await small) ?? [])], [{ t: 'small' }]);
    assert.equal((await large)?.[0]?.t === text, true);
    assert.deepEqual([...((await last) ?? [])], [{ t: 'last' }]);
  });

  test('that fails says why', async (t) => {
    const url = await (await shared()).createDatabase();
    const connection = await open(t, url, true);
    await connection.query('CREATE TABLE thing (n BIGINT CONSTRAINT small CHECK (n < 9))');
    await assert.rejects(connection.query('INSERT INTO thing VALUES ($1)', [9]), {
      name: 'DatabaseError',
      code: '23514',
      severity: 'ERROR',
      table_name: 'thing',
      constraint_name: 'small',
    });
  });

  test('does not wait for others that are sent meanwhile', async (t) => {
    const connection = await open(t, (await shared()).url('postgres'), true);
    const first = connection.query('SELECT pg_sleep($1)', [0.05]);
    await turn();
    const second = connection.query('SELECT $1::int AS n', [2]);
    assert.equal(connection.isBusy, true);
    await first;
    assert.deepEqual([...(await second)], [{ n: 2 }]);
  });
});

describe('messages', () => {
  const bytes = Buffer.concat([
    Buffer.from('C\0\0\0\x0dSELECT 1\0'),
    Buffer.from('Z\0\0\0\x05I'),
    Buffer.from('E\0\0\0\x13SERROR\0C22012\0\0'),
  ]);

  test('are the same however they are split', () => {
    for (let size = 1; size <= bytes.length; size++) {
      const reader = new MessageReader();
      const seen: string[] = [];
      for (let at = 0; at < bytes.length; at += size) {
        for (const message of reader.read(bytes.subarray(at, at + size))) {
          seen.push(message.type + message.bytes.toString('latin1', message.at, message.end));
          if (message.type === 'E') assert.equal(Reflect.get(readError(message), 'code'), '22012');
        }
      }
      assert.deepEqual(seen, ['CSELECT 1\0', 'ZI', 'ESERROR\0C22012\0\0'], `pieces of ${size}`);
    }
  });

  test('with a length that cannot be are refused', () => {
    assert.throws(() => [...new MessageReader().read(Buffer.from('Z\0\0\0\x01I'))], /wrong length/);
  });

  test('that were taken are never written over', () => {
    const writer = new MessageWriter();
    const taken = Array.from({ length: 300 }, (_, n) => {
      writer.run('name', [String(n).repeat(1000), null]);
      return writer.take();
    });
    for (const [n, one] of taken.entries()) {
      const text = Buffer.from(one).toString('latin1');
      assert.ok(text.startsWith('B') && text.includes(`${String(n).repeat(1000)}\xff\xff\xff\xff`));
    }
  });
});
