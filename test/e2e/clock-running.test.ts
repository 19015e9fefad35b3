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
import { pollUntil } from '../support/poll.ts';
import { ServerUnderTest } from '../support/server-under-test.ts';
import { testLicense } from '../support/test-license.ts';

const TIMEOUT_MS = 10 * MINUTE_MS;

function startServer(t: TestContext, clock: FakedClock, slots: number): Promise<ServerUnderTest> {
  const licenses = [testLicense(1, { slots, timeoutMinutes: TIMEOUT_MS / MINUTE_MS })];
  const args = ['--sweeper-interval-seconds', '0'];
  return ServerUnderTest.start(t, { licenses, args, env: clock.env });
}

async function register(server: ServerUnderTest, user: string): Promise<number> {
  return (await server.api.register({ product: 'cad', user })).status;
}

async function endOf(server: ServerUnderTest, user: string): Promise<string | undefined> {
  return (await server.api.holder(user))?.ends_at;
}

/** Nobody asks for the clock here: the server looks by itself. */
async function waitForLog(server: ServerUnderTest, pattern: RegExp): Promise<void> {
  await pollUntil(`the log says ${pattern}`, () => (pattern.test(server.log) ? true : undefined));
}

async function assertJumpIsShown(server: ServerUnderTest, direction: 'ahead' | 'behind'): Promise<void> {
  const words = await runBerth(server.data, ['clock']);
  assert.match(words.stdout, new RegExp(`JUMPED ${direction}`));
  const status = await askBerth<{ clock: ClockFacts }>(server.data, ['status']);
  assert.equal(status.clock.jump?.direction, direction);
  const jumps = (await server.api.eventsAfter(0)).filter(({ kind }) => kind === 'clock_jumped');
  assert.deepEqual(
    jumps.map((event) => [event.direction, event.followed]),
    [[direction, false]],
  );
}

describe('the wall clock is set while the server runs', () => {
  test('an hour back: no slot lives longer, and the jump is reported', async (t) => {
    const clock = await makeFakedClock(t);
    if (clock === null) return t.skip('optional: needs libfaketime');
    const server = await startServer(t, clock, 1);
    await register(server, 'ada');
    const before = await server.api.clock();
    const end = await endOf(server, 'ada');
    clock.set(-HOUR_MS);
    await waitForLog(server, /the wall clock was set back/);
    await assertJumpIsShown(server, 'behind');
    assert.ok((await server.api.clock()).server_at >= before.server_at, 'time does not run back');
    assert.equal(await endOf(server, 'ada'), end);
    const denied = await server.api.register({ product: 'cad', user: 'bob' });
    assert.equal(denied.body.next_free_at, end);
    clock.set(0);
    await waitForLog(server, /agrees with the server's time again/);
    await passTime(server, clock, TIMEOUT_MS + MINUTE_MS);
    assert.equal(await register(server, 'bob'), 200, 'the slot was free at its time');
  });

  test('a year ahead: no slot ends early, until an administrator accepts the clock', async (t) => {
    const clock = await makeFakedClock(t);
    if (clock === null) return t.skip('optional: needs libfaketime');
    const server = await startServer(t, clock, 2);
    await register(server, 'ada');
    const borrowed_until = new Date(Date.now() + DAY_MS).toISOString();
    await server.api.borrow({ product: 'cad', user: 'bea', borrowed_until });
    const end = await endOf(server, 'ada');
    clock.set(YEAR_MS);
    await waitForLog(server, /the wall clock jumped ahead and is ignored/);
    await assertJumpIsShown(server, 'ahead');
    assert.equal(await endOf(server, 'ada'), end);
    assert.equal((await server.api.holder('bea'))?.borrowed_until, borrowed_until);
    assert.equal(await register(server, 'cyd'), 400);
    await acceptClock(server);
    assert.equal(await register(server, 'cyd'), 400, 'who was live has a whole timeout again');
    await passTime(server, clock, TIMEOUT_MS + MINUTE_MS);
    assert.equal(await register(server, 'cyd'), 200);
    assert.equal(await register(server, 'dan'), 200, 'the borrow has ended too');
  });

  /** The server's time jumps, and counts as if it had been down. */
  async function acceptClock(server: ServerUnderTest): Promise<void> {
    const before = await server.api.clock();
    const accepted = await askBerth<ClockFacts>(server.data, ['clock', 'accept']);
    assert.equal(accepted.jump, null);
    assert.ok(Date.parse(accepted.server_at) >= Date.parse(before.wall_at));
    const event = (await server.api.eventsAfter(0)).find(({ kind }) => kind === 'clock_accepted');
    assert.equal(event?.by, 'control');
    for (const user of ['ada', 'bea']) {
      const holder = await server.api.holder(user);
      assert.equal(Date.parse(holder?.ends_at ?? ''), Date.parse(String(event?.to)) + TIMEOUT_MS);
      assert.equal(holder?.is_borrowed, false);
    }
    const again = await runBerth(server.data, ['clock', 'accept', '--json']);
    assert.equal(again.code, 1);
    assert.equal(JSON.parse(again.stdout).code, 'clock_not_ahead');
  }

  test('ahead in small steps: they are followed, and a slot ends at its time', async (t) => {
    const clock = await makeFakedClock(t);
    if (clock === null) return t.skip('optional: needs libfaketime');
    const server = await startServer(t, clock, 1);
    await register(server, 'ada');
    const end = await endOf(server, 'ada');
    await passTime(server, clock, TIMEOUT_MS - 2 * MINUTE_MS);
    assert.equal(await register(server, 'bob'), 400, 'two minutes are left');
    await passTime(server, clock, 3 * MINUTE_MS);
    assert.deepEqual(await server.api.holders(), [], 'nobody has tidied, and yet nobody holds it');
    assert.equal(await register(server, 'bob'), 200);
    assert.equal(await register(server, 'ada'), 400);
    const events = await server.api.eventsAfter(0);
    assert.equal(events.find(({ kind }) => kind === 'slot_expired')?.ended_at, end);
    assert.equal(
      events.find(({ kind }) => kind === 'clock_jumped'),
      undefined,
    );
  });
});
