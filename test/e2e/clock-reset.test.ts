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
} from '../support/faked-clock.ts';
import { ServerUnderTest } from '../support/server-under-test.ts';
import { testLicense } from '../support/test-license.ts';

const TIMEOUT_MS = 10 * MINUTE_MS;
const LONGEST_HOURS = 48;
const WRONG_YEAR = Date.UTC(2031, 5, 1);

/** The true time lies between two looks at the clock; the server's own may be rounded. */
const CLOCKS_DIFFER_MS = 1000;

/**
 * A server that believes in 2031. Ada is live, Bea has borrowed, Fay's borrow is over but she goes on; Eve's
 * time is over and nobody has tidied. Then the clock is set right and the server started again.
 */
async function startPoisoned(t: TestContext, clock: FakedClock): Promise<ServerUnderTest> {
  clock.set(WRONG_YEAR - Date.now());
  const facts = { slots: 5, timeoutMinutes: TIMEOUT_MS / MINUTE_MS, maxBorrowHours: LONGEST_HOURS };
  const server = await ServerUnderTest.start(t, {
    licenses: [testLicense(1, facts)],
    args: ['--sweeper-interval-seconds', '0'],
    env: clock.env,
  });
  const borrow = (user: string, millis: number) =>
    server.api.borrow({ product: 'cad', user, borrowed_until: new Date(WRONG_YEAR + millis).toISOString() });
  await server.api.register({ product: 'cad', user: 'eve' });
  await borrow('bea', DAY_MS);
  await borrow('fay', 6 * MINUTE_MS);
  await passTime(server, clock, TIMEOUT_MS - 2 * MINUTE_MS);
  for (const user of ['ada', 'fay']) await server.api.register({ product: 'cad', user });
  await passTime(server, clock, 4 * MINUTE_MS);
  await server.stop();
  clock.set(0);
  await server.start();
  return server;
}

async function assertPoisoned(server: ServerUnderTest): Promise<void> {
  const { server_at, wall_at, jump } = await server.api.clock();
  assert.match(server_at, /^2031-/);
  assert.doesNotMatch(wall_at, /^2031-/);
  assert.equal(jump?.direction, 'behind');
  assert.match(server.log, /the wall clock was set back/);
  assert.deepEqual((await server.api.holders()).map(({ user }) => user).sort(), ['ada', 'bea', 'fay']);
}

/** The slots after a reset that happened between the two instants. */
async function assertReset(server: ServerUnderTest, from: number, to: number): Promise<void> {
  const isWithin = (text: unknown, millis: number) => {
    const at = Date.parse(String(text)) - millis;
    assert.ok(at >= from - CLOCKS_DIFFER_MS && at <= to + CLOCKS_DIFFER_MS, `${text}`);
  };
  const [event] = (await server.api.eventsAfter(0)).filter(({ kind }) => kind === 'clock_reset');
  isWithin(event?.to, 0);
  assert.equal(event?.by, 'control');
  const holders = new Map((await server.api.holders()).map((holder) => [holder.user, holder]));
  assert.deepEqual([...holders.keys()].sort(), ['ada', 'bea', 'fay'], 'nothing that had ended returns');
  for (const user of ['ada', 'fay']) {
    isWithin(holders.get(user)?.ends_at, TIMEOUT_MS);
    assert.equal(holders.get(user)?.borrowed_until, null, 'no borrow that had ended returns');
  }
  isWithin(holders.get('bea')?.borrowed_until, LONGEST_HOURS * HOUR_MS);
  assert.equal(holders.get('bea')?.ends_at, holders.get('bea')?.borrowed_until);
  assert.equal((await server.api.register({ product: 'cad', user: 'eve' })).body.floating_in_use, 4);
}

/** Ada and Bob borrow at the right time. In the wrong year their borrows end, and Eve takes a slot. */
async function startEndedBorrows(t: TestContext, clock: FakedClock) {
  const facts = { slots: 2, timeoutMinutes: TIMEOUT_MS / MINUTE_MS, maxBorrowHours: LONGEST_HOURS };
  const server = await ServerUnderTest.start(t, {
    licenses: [testLicense(1, facts)],
    env: clock.env,
    // Where the clock is right, no process with a faked one is needed.
    isHere: true,
  });
  const until = new Date(Math.floor(Date.now() / 1000) * 1000 + DAY_MS).toISOString();
  for (const user of ['ada', 'bob']) {
    await server.api.borrow({ product: 'cad', user, borrowed_until: until });
  }
  await server.stop();
  clock.set(WRONG_YEAR - Date.now());
  await server.start({ isHere: false });
  await passTime(server, clock, TIMEOUT_MS + MINUTE_MS);
  await server.api.register({ product: 'cad', user: 'eve' });
  assert.deepEqual(
    (await server.api.holders()).map(({ user }) => user),
    ['eve'],
  );
  await server.stop();
  clock.set(0);
  await server.start();
  return { server, until };
}

describe('borrows that ended because the server was in a wrong year', () => {
  test('are restored with their date, after those that cannot be are named', async (t) => {
    const clock = await makeFakedClock(t);
    if (clock === null) return t.skip('optional: needs libfaketime');
    const { server, until } = await startEndedBorrows(t, clock);
    const careful = await runBerth(server.data, ['clock', 'reset']);
    assert.equal(careful.code, 1);
    assert.match(careful.stdout, /1 borrow that cannot be restored\. Nothing was changed\./);
    assert.match(careful.stdout, /^1 +cad +- +bob +\S+Z +All 2 slots of "cad" are in use/m);
    assert.match(careful.stdout, /add --yes/);
    assert.match((await server.api.clock()).server_at, /^2031-/);
    const trial = await runBerth(server.data, ['clock', 'reset', '--dry-run']);
    assert.equal(trial.code, 0);
    assert.match(trial.stdout, /Would be restored:.*ada.*Cannot be restored:.*bob/s);
    assert.match((await server.api.clock()).server_at, /^2031-/);
    const forced = await runBerth(server.data, ['clock', 'reset', '--yes']);
    assert.equal(forced.code, 0, forced.stderr);
    assert.match(forced.stdout, /Restored:.*ada.*Not restored:.*bob/s);
    const holders = (await server.api.holders()).map(({ user, borrowed_until }) => [user, borrowed_until]);
    assert.deepEqual(holders, [
      ['ada', until],
      ['eve', null],
    ]);
    assert.equal((await server.api.verifyAudit()).ok, true);
  });
});

describe('a server that was started in a wrong year', () => {
  test('stays in it, until a reset while it runs', async (t) => {
    const clock = await makeFakedClock(t);
    if (clock === null) return t.skip('optional: needs libfaketime');
    const server = await startPoisoned(t, clock);
    await assertPoisoned(server);
    const from = Date.now();
    const shown = await askBerth<ClockFacts>(server.data, ['clock', 'reset']);
    assert.equal(shown.jump, null);
    await assertReset(server, from, Date.now());
    const again = await runBerth(server.data, ['clock', 'reset', '--json']);
    assert.equal(again.code, 1);
    assert.equal(JSON.parse(again.stdout).code, 'clock_not_poisoned');
    assert.equal((await server.api.verifyAudit()).ok, true);
  });

  test('stays in it, until a reset while it is stopped', async (t) => {
    const clock = await makeFakedClock(t);
    if (clock === null) return t.skip('optional: needs libfaketime');
    const server = await startPoisoned(t, clock);
    await assertPoisoned(server);
    assert.equal(await server.stop(), 0);
    const from = Date.now();
    await askBerth<ClockFacts>(server.data, ['clock', 'reset'], clock.env);
    await server.start();
    assert.equal((await server.api.clock()).jump, null);
    await assertReset(server, from, Date.now());
    assert.equal((await server.api.verifyAudit()).ok, true);
  });
});
