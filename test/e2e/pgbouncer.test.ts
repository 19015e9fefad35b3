import assert from 'node:assert/strict';
import { before, describe, type TestContext, test } from 'node:test';
import { openPatiently } from '../../packages/server/test/store/exam/postgres-database.ts';
import { Fleet, patienceOf } from '../faults/fleet/fleet.ts';
import { FleetBook, hotLicense } from '../faults/fleet/fleet-book.ts';
import { FleetLoad } from '../faults/fleet/fleet-load.ts';
import { inspectFleet } from '../faults/fleet/inspect-fleet.ts';
import { BerthApi } from '../support/berth-api.ts';
import { ensureTool } from '../support/install-tools.ts';
import { makeUpSeed } from '../support/random.ts';
import { startPgbouncer } from '../support/stores/pgbouncer.ts';
import { hasPostgres, sharedPostgres } from '../support/stores/postgres.ts';

const CLIENTS = 16;
const LEAST_ANSWERS = 300;
const TIMEOUT_MINUTES = 120;

const shared = sharedPostgres();
const isOurs = hasPostgres && process.env.BERTH_TEST_DATABASE_URL === undefined;
let hasPooler = false;
before(async () => {
  hasPooler = isOurs && (await ensureTool('pgbouncer'));
});

function isImpossible(t: TestContext): boolean {
  if (!hasPooler) t.skip('optional: needs PgBouncer and a PostgreSQL on this machine');
  return !hasPooler;
}

/** Servers behind a pooler of each kind that lend one license under load. */
async function lendTogether(t: TestContext, fleet: Fleet): Promise<FleetBook> {
  const book = new FleetBook(hotLicense(TIMEOUT_MINUTES));
  const longestAnswerMs = patienceOf('small') * 10_000;
  const api = new BerthApi(fleet.proxy.url, { connections: CLIENTS, answerTimeoutMs: 2 * longestAnswerMs });
  const seed = makeUpSeed();
  t.diagnostic(`seed ${seed}`);
  const load = new FleetLoad({ api, book, clients: CLIENTS, seed, tolerates: [], longestAnswerMs });
  const running = load.run(t);
  await book.waitForAnswers(LEAST_ANSWERS);
  load.end();
  await running;
  api.close();
  await inspectFleet(fleet, book);
  return book;
}

describe('behind PgBouncer', () => {
  test('servers lend from one license, with transaction and session pooling', async (t) => {
    if (isImpossible(t)) return;
    const postgres = await shared();
    const fleet = await Fleet.start(t, {
      postgres,
      size: 2,
      licenses: [hotLicense(TIMEOUT_MINUTES)],
      databasePorts: [
        (await startPgbouncer(t, postgres.port, 'transaction')).port,
        (await startPgbouncer(t, postgres.port, 'session')).port,
      ],
      envs: [{ BERTH_DATABASE_PREPARE_STATEMENTS: 'false' }],
    });
    const book = await lendTogether(t, fleet);
    assert.deepEqual(book.violations, []);
    const [first] = fleet.servers;
    const { stdout } = await fleet.runBerth(first as NonNullable<typeof first>, ['doctor']);
    assert.match(stdout, new RegExp(`behind a pooler or proxy \\(its own port is ${postgres.port}\\)`));
    assert.deepEqual(await fleet.stop(), []);
  });

  for (const [mode, message] of [
    ['transaction', /mixes up prepared statements\. Set database\.prepareStatements: false/],
    ['statement', /statement pooling mode.*Set pool_mode to transaction/],
  ] as const) {
    test(`a server says at its start why it does not work, with ${mode} pooling`, async (t) => {
      if (isImpossible(t)) return;
      const postgres = await shared();
      const url = new URL(await postgres.createDatabase());
      url.port = String((await startPgbouncer(t, postgres.port, mode)).port);
      await assert.rejects(openPatiently({ url: url.href }), message);
    });
  }
});
