import { parseArgs } from 'node:util';
import { makeUpSeed } from '../../support/random.ts';
import type { LineOptions, Report } from './line-site.ts';
import { runOrderStorm } from './order-storm.ts';
import { runPollersStorm } from './pollers-storm.ts';
import { measureWaiters } from './waiter-memory.ts';

/**
 * Storms of the waiting line:
 *
 *   node test/faults/line/line-storm.ts order [--waiters 1000] [--by-timeout] [--postgres] [--tls]
 *   node test/faults/line/line-storm.ts order --killed 300 --hold-ms 200 [--tls] [--seed N]
 *   node test/faults/line/line-storm.ts pollers [--waiters 20] [--pollers 20] [--seconds 60]
 *   node test/faults/line/line-storm.ts memory [--waiters 10000]
 *
 * `npm run bench -- --scenario waiting` measures heartbeats beside those who wait.
 */
const STORMS: Readonly<Record<string, { run: (options: LineOptions) => Promise<Report>; waiters: string }>> =
  {
    order: { run: runOrderStorm, waiters: '1000' },
    pollers: { run: runPollersStorm, waiters: '20' },
    memory: { run: measureWaiters, waiters: '10000' },
  };

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    waiters: { type: 'string' },
    slots: { type: 'string', default: '5' },
    'hold-ms': { type: 'string', default: '1000' },
    seed: { type: 'string', default: String(makeUpSeed()) },
    postgres: { type: 'boolean', default: false },
    tls: { type: 'boolean', default: false },
    'by-timeout': { type: 'boolean', default: false },
    killed: { type: 'string', default: '0' },
    pollers: { type: 'string', default: '20' },
    seconds: { type: 'string', default: '60' },
  },
});

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

const storm = STORMS[positionals[0] ?? 'order'];
if (storm === undefined) throw new Error(`There are: ${Object.keys(STORMS).join(', ')}.`);
print(`seed ${values.seed}`);
const { lines, violations } = await storm.run({
  waiters: Number(values.waiters ?? storm.waiters),
  slots: Number(values.slots),
  holdMs: Number(values['hold-ms']),
  seed: Number(values.seed),
  postgres: values.postgres,
  tls: values.tls,
  byTimeout: values['by-timeout'],
  killed: Number(values.killed),
  pollers: Number(values.pollers),
  seconds: Number(values.seconds),
});
for (const line of lines) print(line);
for (const violation of violations.slice(0, 20)) print(`VIOLATION ${violation}`);
if (violations.length > 0) process.exitCode = 1;
process.exit();
