import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import type { ClockFacts } from '../support/berth-api.ts';
import { askBerth, runBerth } from '../support/berth-command.ts';
import {
  DAY_MS,
  type FakedClock,
  HOUR_MS,
  MINUTE_MS,
  makeFakedClock,
  passTime,
  YEAR_MS,
} from '../support/faked-clock.ts';
import { ServerUnderTest } from '../support/server-under-test.ts';
import { testLicense } from '../support/test-license.ts';

const TIMEOUT_MS = 10 * MINUTE_MS;

interface Stopped {
  readonly server: ServerUnderTest;
  /** The server's time a moment before it stopped. */
  readonly stoppedAt: number;
  readonly borrowedUntil: string;
}

/** Three slots: Ada is live, Bea has borrowed, Zoe's time is over and nobody has tidied. Then it stops. */
async function stopWithSlots(t: TestContext, clock: FakedClock): Promise<Stopped> {
  const server = await ServerUnderTest.start(t, {
    licenses: [testLicense(1, { slots: 3, timeoutMinutes: TIMEOUT_MS / MINUTE_MS })],
    args: ['--sweeper-interval-seconds', '0'],
    env: clock.env,
  });
  const borrowedUntil = new Date(Date.now() + DAY_MS).toISOString();
  await server.api.register({ product: 'cad', user: 'zoe' });
  await server.api.borrow({ product: 'cad', user: 'bea', borrowed_until: borrowedUntil });
  await passTime(server, clock, TIMEOUT_MS - 2 * MINUTE_MS);
  await server.api.register({ product: 'cad', user: 'ada' });
  await passTime(server, clock, 4 * MINUTE_MS);
  assert.deepEqual((await server.api.holders()).map(({ user }) => user).sort(), ['ada', 'bea']);
  const stoppedAt = Date.parse((await server.api.clock()).server_at);
  assert.equal(await server.stop(), 0);
  return { server, stoppedAt, borrowedUntil };
}

/** One slot is free, and it is the one whose time was over. */
async function assertOneIsFree({ api }: ServerUnderTest): Promise<void> {
  assert.deepEqual((await api.holders()).map(({ user }) => user).sort(), ['ada', 'bea']);
  assert.equal((await api.register({ product: 'cad', user: 'bob' })).status, 200);
  assert.equal((await api.register({ product: 'cad', user: 'zoe' })).status, 400);
}

/** Not one moment less than a whole timeout after the start, and none more. */
async function assertOneTimeout({ api }: ServerUnderTest, user: string, startedAt: number): Promise<void> {
  const end = Date.parse((await api.holder(user))?.ends_at ?? '');
  const now = Date.parse((await api.clock()).server_at);
  assert.ok(end >= startedAt + TIMEOUT_MS && end <= now + TIMEOUT_MS);
}

async function readJump({ api }: ServerUnderTest) {
  const jumps = (await api.eventsAfter(0)).filter(({ kind }) => kind === 'clock_jumped');
  return jumps.map(({ direction, followed }) => ({ direction, followed }));
}

describe('the wall clock is set while the server is down', () => {
  test('an hour back: time continues where it was', async (t) => {
    const clock = await makeFakedClock(t);
    if (clock === null) return t.skip('optional: needs libfaketime');
    const { server, stoppedAt, borrowedUntil } = await stopWithSlots(t, clock);
    clock.set(clock.shiftMs - HOUR_MS);
    await server.start();
    const { server_at, jump } = await server.api.clock();
    assert.ok(Date.parse(server_at) >= stoppedAt);
    assert.equal(jump?.direction, 'behind');
    assert.match(server.log, /the wall clock was set back/);
    assert.match((await runBerth(server.data, ['clock'])).stdout, /JUMPED behind/);
    assert.match((await runBerth(server.data, ['status'])).stdout, /JUMPED behind/);
    assert.deepEqual(await readJump(server), [{ direction: 'behind', followed: false }]);
    await assertOneTimeout(server, 'ada', stoppedAt);
    const borrower = await server.api.holder('bea');
    assert.deepEqual([borrower?.borrowed_until, borrower?.ends_at], [borrowedUntil, borrowedUntil]);
    await assertOneIsFree(server);
  });

  test('a year ahead: it is followed and reported, and counts as downtime', async (t) => {
    const clock = await makeFakedClock(t);
    if (clock === null) return t.skip('optional: needs libfaketime');
    const { server, stoppedAt } = await stopWithSlots(t, clock);
    clock.set(clock.shiftMs + YEAR_MS);
    await server.start();
    const shown = await askBerth<ClockFacts>(server.data, ['clock']);
    assert.equal(shown.jump, null);
    assert.ok(Date.parse(shown.server_at) >= stoppedAt + YEAR_MS);
    assert.match(server.log, /the clock is far ahead of the last run/);
    assert.match((await runBerth(server.data, ['clock'])).stdout, /JUMPED AHEAD/);
    assert.match((await runBerth(server.data, ['status'])).stdout, /JUMPED AHEAD/);
    assert.deepEqual(await readJump(server), [{ direction: 'ahead', followed: true }]);
    await assertOneTimeout(server, 'ada', stoppedAt + YEAR_MS);
    await assertOneTimeout(server, 'bea', stoppedAt + YEAR_MS);
    assert.equal((await server.api.holder('bea'))?.is_borrowed, false, 'its date is over');
    await assertOneIsFree(server);
  });
});
