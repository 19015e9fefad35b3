import type { Fault } from '../door/fault.ts';
import { POSTGRES } from '../door/needs.ts';
import type { LineOptions, Report } from './line-site.ts';
import { runOrderStorm } from './order-storm.ts';
import { runPollersStorm } from './pollers-storm.ts';
import { measureWaiters } from './waiter-memory.ts';

const OPTIONS: Omit<LineOptions, 'seed' | 'waiters'> = {
  slots: 5,
  holdMs: 1000,
  postgres: false,
  tls: false,
  byTimeout: false,
  killed: 0,
  pollers: 20,
  seconds: 60,
};

interface LineStorm extends Pick<Fault, 'name' | 'promise' | 'promises' | 'unit' | 'sizes'> {
  readonly options?: Partial<LineOptions>;
  readonly storm: (options: LineOptions) => Promise<Report>;
}

function makeFault({ options, storm, ...facts }: LineStorm): Fault {
  return {
    ...facts,
    ...(options?.postgres ? { needs: [POSTGRES] } : {}),
    async run({ count, seed }) {
      const { lines, violations } = await storm({ ...OPTIONS, ...options, seed, waiters: count });
      return { count, facts: { measured: lines.join('; ') }, violations };
    },
  };
}

const IN_ORDER = 'Users who wait get slots in the order of the line, and no slot is used by two';
const KILLED = { holdMs: 200, killed: 400 };

/** `npm run bench -- --scenario waiting` measures heartbeats beside those who wait. */
export const LINE_FAULTS: readonly Fault[] = [
  makeFault({
    name: 'line',
    promises: [1],
    promise: `${IN_ORDER}.`,
    unit: 'waiters',
    sizes: { small: 100, full: 1000 },
    storm: runOrderStorm,
  }),
  makeFault({
    name: 'line-timeout',
    promises: [1, 4],
    promise: `${IN_ORDER}, where slots end by their timeout.`,
    unit: 'waiters',
    sizes: { small: 100, full: 1000 },
    options: { byTimeout: true },
    storm: runOrderStorm,
  }),
  makeFault({
    name: 'line-postgres',
    promises: [1],
    promise: `${IN_ORDER}, with two servers on one database.`,
    unit: 'waiters',
    sizes: { small: 50, full: 300 },
    options: { postgres: true },
    storm: runOrderStorm,
  }),
  makeFault({
    name: 'line-killed',
    promises: [1],
    promise: 'When a client that waits is killed, its slot is neither lost nor lent twice.',
    unit: 'waiters',
    sizes: { small: 500, full: 1000 },
    options: KILLED,
    storm: runOrderStorm,
  }),
  makeFault({
    name: 'line-killed-tls',
    promises: [1],
    promise: 'When a client that waits is killed, its slot is neither lost nor lent twice, over TLS.',
    unit: 'waiters',
    sizes: { small: 500, full: 1000 },
    options: { ...KILLED, tls: true },
    storm: runOrderStorm,
  }),
  makeFault({
    name: 'line-pollers',
    promises: [],
    promise: 'Clients that wait and clients that repeat the call are both served.',
    unit: 'waiters',
    sizes: { small: 20, full: 20 },
    storm: runPollersStorm,
  }),
  makeFault({
    name: 'line-memory',
    promises: [],
    promise: 'Ten thousand clients that wait need a few kilobytes of memory each.',
    unit: 'waiters',
    sizes: { small: 1000, full: 10_000 },
    storm: measureWaiters,
  }),
];
