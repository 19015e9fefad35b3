import { client } from '../client/simulation/client-fault.ts';
import { compareMany } from '../fuzz/lane/compare-many.ts';
import { compareWhole } from '../fuzz/lane/whole-servers.ts';
import type { Fault } from './door/fault.ts';
import { fromSuite } from './door/from-suite.ts';

const WHOLE_SHARE = 100;

/** What the suite does in its own way, at full size. */
export const SUITE_FAULTS: readonly Fault[] = [
  fromSuite({
    name: 'model',
    promise: 'SQLite, PostgreSQL and a naive model answer random histories of lending alike.',
    unit: 'histories',
    sizes: { small: 4, full: 5000 },
    file: 'test/model/lending-model.test.ts',
    pattern: 'PostgreSQL',
    env: (count, seed) => ({ BERTH_MODEL_RUNS: String(count), BERTH_MODEL_SEED: String(seed) }),
  }),
  fromSuite({
    name: 'rule-trial',
    promise: 'What "rules try" says of the past is what the server would have answered, request by request.',
    unit: 'days of history',
    sizes: { small: 1, full: 30 },
    file: 'test/model/rule-trial.test.ts',
    env: (count) => ({ BERTH_TRIAL_DAYS: String(count) }),
  }),
  fromSuite({
    name: 'fuzz',
    promise: 'Every request is answered in good form and in time, and a refused one changes nothing.',
    unit: 'requests',
    sizes: { small: 1000, full: 200_000 },
    file: 'test/fuzz/fuzz.test.ts',
    env: (count) => ({ BERTH_FUZZ_REQUESTS: String(count) }),
  }),
  {
    name: 'lane',
    promise: 'The fast lane reads what Node reads, answers alike, and leaves everything else to Node.',
    unit: 'streams of bytes',
    sizes: { small: 700, full: 1_000_000 },
    async run({ count, seed, life, say }) {
      const { inLane, inNode } = await compareMany({ seed, streams: count, say });
      const streams = Math.ceil(count / WHOLE_SHARE);
      await compareWhole(life, { seed, streams, say });
      const facts = { 'in the lane': inLane, 'left to Node': inNode, 'to a whole server': streams };
      return { count, facts, violations: [] };
    },
  },
  client,
  fromSuite({
    name: 'consumption',
    promise: 'Many who count up to a limit at once reach it exactly.',
    unit: 'counts',
    sizes: { small: 150, full: 5000 },
    file: 'test/e2e/consumption-contention.test.ts',
    env: (count) => ({ BERTH_COUNTS: String(count) }),
  }),
  fromSuite({
    name: 'cloud-reports',
    promise: 'What a server reports to its cloud over a bad line is counted there once.',
    unit: 'reports',
    sizes: { small: 30, full: 1000 },
    file: 'test/faults/cloud/cloud-reports.test.ts',
    env: (count) => ({ BERTH_REPORTS: String(count) }),
  }),
  ...[
    {
      name: 'cloud-faults',
      promise:
        'Whatever happens to a call to the cloud, it is repeated or told, and nothing is stored by halves.',
      file: 'test/faults/cloud/cloud-faults.test.ts',
    },
    {
      name: 'rotation-disk',
      promise: 'A new master key is not lost when the disk fails while it is placed.',
      file: 'test/faults/crash/rotation-disk.test.ts',
    },
    {
      name: 'file-tampering',
      promise: 'Whoever changes the files behind the back of the server is found out.',
      file: 'test/faults/file-tampering.test.ts',
    },
    {
      name: 'first-exchange',
      promise: 'Whoever changes the first exchange with the cloud gets nothing accepted.',
      file: 'test/faults/cloud-mitm/first-exchange.test.ts',
    },
  ].map((facts) =>
    fromSuite({
      ...facts,
      unit: 'run of every case',
      sizes: { small: 1, full: 1 },
      env: () => ({ BERTH_ALL_FAULTS: '1' }),
    }),
  ),
  fromSuite({
    name: 'examples',
    promise: 'The examples without a client run, in every language that this machine has.',
    unit: 'run of every example',
    sizes: { small: 1, full: 1 },
    file: 'test/e2e/examples-without-sdk.test.ts',
    env: () => ({ BERTH_ALL_EXAMPLES: '1' }),
  }),
];
