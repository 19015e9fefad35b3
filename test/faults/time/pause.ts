import { setTimeout as delay } from 'node:timers/promises';
import { MINUTE_MS } from '../../support/faked-clock.ts';
import { createRandom, pickNumber } from '../../support/random.ts';
import { hasPostgres } from '../../support/stores/postgres.ts';
import type { Fault, Findings, Order } from '../door/fault.ts';
import { FAKED_CLOCK } from '../door/needs.ts';
import { SharedOffice } from './shared-office.ts';
import { TimedOffice } from './timed-office.ts';

/** A new server after so many. */
const PAUSES_PER_SERVER = 50;

/** Which part of them. */
const ON_POSTGRES = 0.4;

/** How long it is really stopped; the rest is on the wall clock, as for a machine that was frozen. */
const STOPPED_MS = { from: 5, to: 60 };

/** Up to five minutes are a pause; what is more is a jump of the clock. */
const GAP_MS = { from: 0, to: 5 * MINUTE_MS - 10_000 };

async function pauseOnce(office: TimedOffice, gapMs: number, stoppedMs: number): Promise<void> {
  const { server } = office;
  await office.work();
  const counting = office.startCounting();
  const from = await office.readServerMs();
  process.kill(server.pid, 'SIGSTOP');
  await office.passGap(gapMs);
  const asked = office.askAtOnce();
  await delay(stoppedMs);
  process.kill(server.pid, 'SIGCONT');
  office.passDowntime(from, from + gapMs);
  await asked.settle();
  await counting.stop();
  await office.inspect(`after a pause of ${Math.round(gapMs / 1000)} s`);
}

async function pauseAgainAndAgain(order: Order): Promise<Findings> {
  const sharedCount = hasPostgres ? Math.floor(order.count * ON_POSTGRES) : 0;
  const alone = await pauseOn(TimedOffice, { ...order, count: order.count - sharedCount });
  const shared = await pauseOn(SharedOffice, { ...order, count: sharedCount });
  return {
    count: alone.count + shared.count,
    facts: { ...alone.facts, 'on PostgreSQL': shared.count, 'answered there': shared.facts.answered ?? 0 },
    violations: [...alone.violations, ...shared.violations],
  };
}

async function pauseOn(kind: Pick<typeof TimedOffice, 'open'>, order: Order): Promise<Findings> {
  const random = createRandom(order.seed);
  const violations: string[] = [];
  let pauses = 0;
  let answered = 0;
  while (pauses < order.count && violations.length === 0) {
    const office = await kind.open(order.life, random);
    const last = Math.min(order.count, pauses + PAUSES_PER_SERVER);
    for (; pauses < last && office.violations.length === 0; pauses++) {
      // Half of them are short: then nothing is extended.
      const gapMs = random() < 0.5 ? pickNumber(random, GAP_MS) : random() * 20_000;
      await pauseOnce(office, gapMs, pickNumber(random, STOPPED_MS));
    }
    await office.verify();
    await office.server.stop();
    answered += office.answered;
    violations.push(...office.violations);
    order.say(`${pauses} pauses, ${answered} answered`);
  }
  return { count: pauses, facts: { answered }, violations };
}

export const pause: Fault = {
  name: 'pause',
  promises: [1, 3, 4, 5],
  promise: 'A server that was paused or frozen takes no slot from its holder, and lends no slot twice.',
  unit: 'pauses',
  sizes: { small: 3, full: 200 },
  needs: [FAKED_CLOCK],
  run: pauseAgainAndAgain,
};
