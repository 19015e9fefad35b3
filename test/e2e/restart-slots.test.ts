import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, type TestContext, test } from 'node:test';
import {
  DAY_MS,
  type FakedClock,
  HOUR_MS,
  MINUTE_MS,
  makeFakedClock,
  passTime,
} from '../support/faked-clock.ts';
import { pollUntil } from '../support/poll.ts';
import { ServerUnderTest } from '../support/server-under-test.ts';
import { askDatabase, describeStores } from '../support/stores/test-stores.ts';
import { testLicense } from '../support/test-license.ts';

const TIMEOUT_MS = 10 * MINUTE_MS;
const BORROWED_UNTIL = new Date(Date.now() + 5 * DAY_MS).toISOString();

function startServer(t: TestContext, clock: FakedClock): Promise<ServerUnderTest> {
  return ServerUnderTest.start(t, {
    licenses: [testLicense(1, { slots: 3, timeoutMinutes: TIMEOUT_MS / MINUTE_MS })],
    args: ['--sweeper-interval-seconds', '0'],
    env: clock.env,
  });
}

async function fill({ api }: ServerUnderTest): Promise<void> {
  for (const user of ['ada', 'bob']) await api.register({ product: 'cad', user });
  await api.borrow({ product: 'cad', user: 'cyd', borrowed_until: BORROWED_UNTIL });
}

/** Everyone has a slot, everyone has time to come back, and nobody else gets in. */
async function assertStillFull({ api }: ServerUnderTest, startedAt: number): Promise<void> {
  const holders = await api.holders();
  assert.deepEqual(
    holders.map(({ user, borrowed_until }) => [user, borrowed_until]),
    [
      ['ada', null],
      ['bob', null],
      ['cyd', BORROWED_UNTIL],
    ],
  );
  for (const { ends_at } of holders) assert.ok(Date.parse(ends_at) >= startedAt + TIMEOUT_MS);
  const denied = await api.register({ product: 'cad', user: 'dan' });
  assert.deepEqual([denied.body.code, denied.body.in_use], ['floating_not_available', 3]);
}

/** What a crash would leave: read from the file, because asking the server would make it remember. */
async function waitForMark(server: ServerUnderTest, at: number): Promise<void> {
  const db = new DatabaseSync(join(server.data, 'berth.db'), { readOnly: true });
  const readMark = () => db.prepare('SELECT mark FROM server').get()?.mark as number;
  await pollUntil('the server remembers the time', () => (readMark() >= at ? true : undefined));
  db.close();
}

/** The clocks of these servers are faked; where several share a database, its clock counts: see below. */
describe('a full license', () => {
  test('is as full after every restart, though the clock ran on for an hour each time', async (t) => {
    const clock = await makeFakedClock(t);
    if (clock === null) return t.skip('optional: needs libfaketime');
    const server = await startServer(t, clock);
    await fill(server);
    for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
      const code = await server.stop(signal);
      assert.equal(code, signal === 'SIGTERM' ? 0 : null);
      clock.set(clock.shiftMs + HOUR_MS);
      const startedAt = Date.now() + clock.shiftMs;
      await server.start();
      await assertStillFull(server, startedAt);
    }
    assert.equal((await server.api.register({ product: 'cad', user: 'ada' })).status, 200);
    assert.equal(
      (await server.api.register({ product: 'cad', user: 'cyd' })).body.borrowed_until,
      BORROWED_UNTIL,
    );
    assert.equal((await server.api.verifyAudit()).ok, true);
  });

  test('does not restore ended slots, even after kill -9', async (t) => {
    const clock = await makeFakedClock(t);
    if (clock === null) return t.skip('optional: needs libfaketime');
    const server = await startServer(t, clock);
    await fill(server);
    await passTime(server, clock, TIMEOUT_MS - 2 * MINUTE_MS);
    await server.api.register({ product: 'cad', user: 'bob' });
    const end = Date.parse((await server.api.holder('ada'))?.ends_at ?? '');
    await passTime(server, clock, 2 * MINUTE_MS - 10_000);
    clock.set(clock.shiftMs + 20_000);
    await waitForMark(server, end);
    for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
      await server.stop(signal);
      clock.set(clock.shiftMs + HOUR_MS);
      await server.start();
      const users = (await server.api.holders()).map(({ user }) => user);
      assert.deepEqual(users, ['bob', 'cyd'], signal);
    }
    assert.equal((await server.api.holder('cyd'))?.borrowed_until, BORROWED_UNTIL);
    assert.equal((await server.api.register({ product: 'cad', user: 'dan' })).status, 200);
    assert.equal((await server.api.register({ product: 'cad', user: 'ada' })).status, 400);
    assert.equal((await server.api.verifyAudit()).ok, true);
  });
});

/** As if the database had stood still for so long, with nobody alive. */
async function setAside({ data }: ServerUnderTest, millis: number): Promise<void> {
  for (const column of ['alive_at', 'mark']) {
    await askDatabase(data, `UPDATE server SET ${column} = ${column} - ${millis}`);
  }
}

describeStores('a license that was full', (store) => {
  test('is as full after a crash, and slots last a timeout from then on, or as long as before', async (t) => {
    const licenses = [testLicense(1, { slots: 3, timeoutMinutes: TIMEOUT_MS / MINUTE_MS })];
    const server = await ServerUnderTest.start(t, { licenses });
    await fill(server);
    const before = await server.api.holders();
    const crash = async (whileAway = async () => {}) => {
      await server.stop('SIGKILL');
      await whileAway();
      await server.start();
      const after = await server.api.holders();
      const [ada = 0, bob = 0, cyd] = ['ada', 'bob', 'cyd'].map(
        (user) => endOf(after, user) - endOf(before, user),
      );
      assert.equal(cyd, 0, 'a borrow keeps its date');
      return [ada, bob] as const;
    };
    const expectLonger = (changes: readonly number[]) =>
      assert.ok(
        changes.every((change) => change > 0),
        String(changes),
      );
    const changes = await crash();
    const denied = await server.api.register({ product: 'cad', user: 'dan' });
    assert.deepEqual([denied.body.code, denied.body.in_use], ['floating_not_available', 3]);
    if (store === 'SQLite') expectLonger(changes);
    else {
      // Another server may have been there all the time: within half a minute nobody missed a heartbeat.
      assert.deepEqual(changes, [0, 0]);
      expectLonger(await crash(() => setAside(server, MINUTE_MS)));
    }
    assert.equal((await server.api.verifyAudit()).ok, true);
  });
});

function endOf(holders: Awaited<ReturnType<ServerUnderTest['api']['holders']>>, user: string): number {
  return Date.parse(holders.find((holder) => holder.user === user)?.ends_at ?? '');
}
