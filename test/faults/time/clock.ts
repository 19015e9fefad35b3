import { DAY_MS, HOUR_MS, MINUTE_MS, YEAR_MS } from '../../support/faked-clock.ts';
import { pollUntil } from '../../support/poll.ts';
import { createRandom, pickNumber, pickOne, type Random } from '../../support/random.ts';
import type { Fault, Findings, Order } from '../door/fault.ts';
import { FAKED_CLOCK } from '../door/needs.ts';
import { TimedOffice } from './timed-office.ts';

/** A new server after so many. */
const CHANGES_PER_SERVER = 40;

/** The server follows so far ahead at once. */
const FOLLOWED_MS = 5 * MINUTE_MS;
/** So near to it, it may go either way. */
const UNCLEAR_MS = 10_000;

/** By how much a clock is set, at most. */
const JUMPS_MS = [20_000, 4 * MINUTE_MS, HOUR_MS, DAY_MS, YEAR_MS];

/** It ends by SIGKILL or in good order, the clock is set, and it is started again. */
const RESTARTS = 0.25;

/** How much later than before the server's time is, by the rules of `docs/leases.md`. */
function followedMs(serverMs: number, wallMs: number): number {
  const aheadMs = wallMs - serverMs;
  return aheadMs > 0 && aheadMs <= FOLLOWED_MS ? aheadMs : 0;
}

function pickShift(random: Random, office: TimedOffice, serverMs: number): number {
  const most = pickOne(random, JUMPS_MS);
  const back = pickNumber(random, { from: -most, to: most });
  // In one of three cases to where the server's time is, or a little ahead: or it would never follow again.
  const near = serverMs - Date.now() + pickNumber(random, { from: 0, to: FOLLOWED_MS - 2 * UNCLEAR_MS });
  const shiftMs = random() < 0.35 ? near : office.clock.shiftMs + back;
  const aheadMs = Date.now() + shiftMs - serverMs;
  return Math.abs(aheadMs - FOLLOWED_MS) < UNCLEAR_MS ? shiftMs - 2 * UNCLEAR_MS : shiftMs;
}

/** While it runs. */
async function setClock(office: TimedOffice, random: Random): Promise<void> {
  const counting = office.startCounting();
  const serverMs = await office.readServerMs();
  const shiftMs = pickShift(random, office, serverMs);
  office.clock.set(shiftMs);
  const movedMs = followedMs(serverMs, Date.now() + shiftMs);
  await pollUntil('the server looks at its clock', async () =>
    (await office.readServerMs()) >= serverMs + movedMs ? true : undefined,
  ).catch((error: Error) => office.violations.push(error.message));
  office.passDowntime(serverMs, serverMs + movedMs);
  await counting.stop();
  const drift = (await office.readServerMs()) - serverMs - movedMs;
  if (drift > UNCLEAR_MS) office.violations.push(`the server's time jumped by ${drift} ms more than it may`);
  await office.inspect(`after the clock was set to ${Math.round(shiftMs / 1000)} s`);
}

/** Whatever the clock says at a start is followed, if it is later than what the server has known. */
async function restart(office: TimedOffice, random: Random): Promise<void> {
  const serverMs = await office.readServerMs();
  await office.server.stop(random() < 0.5 ? 'SIGKILL' : 'SIGTERM');
  const shiftMs = pickShift(random, office, serverMs);
  office.clock.set(shiftMs);
  await office.server.start();
  const nowMs = await office.readServerMs();
  if (nowMs < serverMs) office.violations.push(`the server's time ran back by ${serverMs - nowMs} ms`);
  office.passDowntime(serverMs, nowMs, { isRestart: true });
  await office.inspect(`after a restart with the clock at ${Math.round(shiftMs / 1000)} s`);
}

async function changeAgainAndAgain({ count, seed, life, say }: Order): Promise<Findings> {
  const random = createRandom(seed);
  const violations: string[] = [];
  let [changes, answered] = [0, 0];
  while (changes < count && violations.length === 0) {
    const office = await TimedOffice.open(life, random);
    const last = Math.min(count, changes + CHANGES_PER_SERVER);
    for (; changes < last && office.violations.length === 0; changes++) {
      await office.work();
      await (random() < RESTARTS ? restart(office, random) : setClock(office, random));
    }
    await office.verify();
    await office.server.stop();
    answered += office.answered;
    violations.push(...office.violations);
    say(`${changes} changes, ${answered} answered`);
  }
  return { count: changes, facts: { answered }, violations };
}

export const clock: Fault = {
  name: 'clock',
  promises: [1, 3, 4, 5],
  promise:
    'Setting the clock back gives nobody extra time; setting it forward while the server runs takes no slot.',
  unit: 'changes of the clock',
  sizes: { small: 4, full: 200 },
  needs: [FAKED_CLOCK],
  run: changeAgainAndAgain,
};
