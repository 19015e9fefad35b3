import { pollUntil } from '../../support/poll.ts';
import { seedLicenses } from '../../support/server-process.ts';
import { ServerUnderTest } from '../../support/server-under-test.ts';
import { testLicense } from '../../support/test-license.ts';
import type { Fault, Findings, Order } from '../door/fault.ts';
import { STRACE } from '../door/needs.ts';
import { LendingRounds } from './lending-rounds.ts';
import { lostWrites } from './lost-writes.ts';
import { underStrace } from './under-strace.ts';

/**
 * Lets the Nth write or sync of the server fail, and some after it, while clients go on asking. Whatever it
 * could not store it must not acknowledge; it must go on, and work again when the disk does.
 */
export interface DiskFault {
  /** The system calls that fail. They are counted in each thread; one thread does all the writing. */
  readonly calls: string;
  readonly error: string;
  readonly first: number;
  /** How many fail in a row, at least two: the first attempt to heal fails too. `null`: all from then on. */
  readonly count: number | null;
}

interface DiskFaultReport {
  readonly outcome: 'did not start' | 'not reached' | 'recovered' | 'stayed broken';
  readonly acknowledged: number;
  readonly unavailable: number;
  readonly violations: readonly string[];
}

export function underFault({ calls, error, first, count }: DiskFault): readonly string[] {
  const last = count === null ? '+' : `..${first + count - 1}`;
  return underStrace(calls, `error=${error}:when=${first}${last}`);
}

interface TestLife {
  after(work: () => Promise<void>): void;
}

const LICENSES = [testLicense(1, { slots: 5 }), testLicense(2, { product: 'large', slots: 50 })];

interface DiskFaultOptions {
  readonly fault: DiskFault;
  readonly seed: number;
  /** How the server is ended before it is started on a disk that works. */
  readonly signal: NodeJS.Signals;
}

/** One server, one fault, and a restart on a disk that works. */
export async function runDiskFault(t: TestLife, options: DiskFaultOptions): Promise<DiskFaultReport> {
  const { fault, seed, signal } = options;
  const server = ServerUnderTest.make(t);
  await seedLicenses(server.data, LICENSES);
  const rounds = new LendingRounds(server, {
    licenseIds: LICENSES.map(({ id }) => id),
    seed,
    trustsUnavailable: fault.count !== null,
  });
  const { violations } = rounds.book;
  const outcome = await runOnBrokenDisk(server, rounds, fault);
  if (outcome !== 'did not start' && !server.isRunning) violations.push('the server has ended by itself');
  await server.stop(signal);
  await server.start({ isHere: true });
  await rounds.inspect();
  await rounds.run();
  await rounds.inspect();
  await server.stop();
  return { outcome, acknowledged: rounds.book.acknowledged, unavailable: rounds.unavailable, violations };
}

/** So many rounds more than the fault's number without an error, and it is beyond what they write. */
const ROUNDS_BEYOND = 50;

/** So many rounds after it works again. */
const ROUNDS_AFTER = 3;

async function runOnBrokenDisk(
  server: ServerUnderTest,
  rounds: LendingRounds,
  fault: DiskFault,
): Promise<DiskFaultReport['outcome']> {
  try {
    await server.start({ under: underFault(fault) });
  } catch {
    return 'did not start';
  }
  const hasFailed = () => rounds.unavailable > 0 || /the data cannot be written/.test(server.log);
  for (let round = 0; round < fault.first + ROUNDS_BEYOND && !hasFailed(); round++) await rounds.run();
  if (!hasFailed()) return 'not reached';
  if (await rounds.isHealthy()) rounds.book.violations.push('health was good while the disk was not');
  if (fault.count !== null) {
    await pollUntil('the server is healthy again', async () => (await rounds.isHealthy()) || undefined);
  }
  for (let round = 0; round < ROUNDS_AFTER; round++) await rounds.run();
  if (fault.count === null) return 'stayed broken';
  await rounds.inspect();
  return 'recovered';
}

const SYNC = { calls: 'fsync,fdatasync', error: 'EIO' } as const;
const WRITE = { calls: 'pwrite64', error: 'ENOSPC' } as const;

/** From the Nth on some syncs fail, or some writes, or all syncs for good; N grows with every third. */
function pickFault(index: number): DiskFault {
  const first = 2 + Math.floor(index / 3);
  if (index % 3 === 0) return { ...SYNC, first, count: 3 };
  return index % 3 === 1 ? { ...WRITE, first: first * 10, count: 3 } : { ...SYNC, first, count: null };
}

async function failAgainAndAgain({ count, seed, life, say }: Order): Promise<Findings> {
  const outcomes = new Map<string, number>();
  const violations: string[] = [];
  let [faults, acknowledged] = [0, 0];
  while (faults < count && violations.length === 0) {
    const fault = pickFault(faults);
    const signal = faults % 2 === 0 ? 'SIGTERM' : 'SIGKILL';
    const report = await runDiskFault(life, { fault, seed: seed + faults, signal });
    faults += 1;
    acknowledged += report.acknowledged;
    outcomes.set(report.outcome, (outcomes.get(report.outcome) ?? 0) + 1);
    violations.push(...report.violations.map((violation) => `${JSON.stringify(fault)}: ${violation}`));
    if (faults % 10 === 0) say(`${faults} faults`);
  }
  return { count: faults, facts: { acknowledged, ...Object.fromEntries(outcomes) }, violations };
}

export const disk: Fault = {
  name: 'disk',
  promises: [1, 2, 5],
  promise:
    'The server acknowledges nothing that a failing disk did not store, and works again when the disk does.',
  unit: 'faults of the disk',
  sizes: { small: 3, full: 120 },
  needs: [STRACE],
  run: failAgainAndAgain,
  controls: [lostWrites],
};
