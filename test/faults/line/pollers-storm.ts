import { setTimeout as delay } from 'node:timers/promises';
import type { BerthApi } from '../../support/berth-api.ts';
import { testLicense } from '../../support/test-license.ts';
import { ask, type LineOptions, LineSite, type Report, sayTimes, take } from './line-site.ts';

const REPEAT_MS = 1000;

/** Values of `lending.holdForRetries`. */
const HOLDS_SECONDS = [0, 2];

/** Those who wait beside those who repeat the call every second: how long either kind waits for a slot. */
export async function runPollersStorm(options: LineOptions): Promise<Report> {
  const lines: string[] = [];
  const violations: string[] = [];
  for (const holdSeconds of HOLDS_SECONDS) {
    const report = await runWith(holdSeconds, options);
    lines.push(...report.lines);
    violations.push(...report.violations);
  }
  return { lines, violations };
}

async function runWith(holdSeconds: number, options: LineOptions): Promise<Report> {
  const { waiters, pollers, slots, holdMs, seconds } = options;
  const args = ['--lending-hold-for-retries', String(holdSeconds)];
  const site = await LineSite.start(testLicense(7, { slots }), options, { args });
  try {
    const [api] = site.connect(waiters + pollers) as [BerthApi];
    const endMs = performance.now() + seconds * 1000;
    const isOver = () => performance.now() > endMs;
    const poll = async (user: string) => {
      for (; !isOver(); await delay(REPEAT_MS))
        if ((await api.register(ask(user))).status === 200) return true;
      return false;
    };
    const wait = async (user: string) => (await take(site, api, user, { isOver })) !== null;
    const live = async (user: string, getSlot: typeof poll, waitsMs: number[]) => {
      for (;;) {
        const startedMs = performance.now();
        if (!(await getSlot(user))) return;
        waitsMs.push(performance.now() - startedMs);
        await delay(holdMs);
        await api.unregister(ask(user));
      }
    };
    const [waiting, polling]: [number[], number[]] = [[], []];
    await Promise.all([
      ...Array.from({ length: waiters }, (_, index) => live(`waiter-${index}`, wait, waiting)),
      ...Array.from({ length: pollers }, (_, index) => live(`poller-${index}`, poll, polling)),
    ]);
    const lines = [
      `holdForRetries ${holdSeconds}: ${slots} slots, each held for ${holdMs} ms, for ${seconds} s`,
      sayTimes(`  ${waiters} who wait, until served`, waiting),
      sayTimes(`  ${pollers} who repeat the call every second, until served`, polling),
    ];
    return { lines, violations: site.violations };
  } finally {
    await site.stop();
  }
}
