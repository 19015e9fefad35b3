import { client } from '../client/simulation/client-fault.ts';
import { compareMany } from '../fuzz/lane/compare-many.ts';
import { compareWhole } from '../fuzz/lane/whole-servers.ts';
import type { Fault } from './door/fault.ts';
import { fromSuite } from './door/from-suite.ts';
import { POSTGRES, STRACE } from './door/needs.ts';

const WHOLE_SHARE = 100;

interface Cases extends Pick<Fault, 'name' | 'promises' | 'promise' | 'needs'> {
  readonly files: readonly string[];
  readonly pattern?: string;
}

/** They have no size: every case is tried once. */
const CASES: readonly Cases[] = [
  {
    name: 'cloud-faults',
    promises: [],
    promise: 'A call to the cloud that fails is repeated or reported, and nothing is stored in part.',
    files: ['test/faults/cloud/cloud-faults.test.ts'],
  },
  {
    name: 'rotation-disk',
    promises: [2, 5],
    promise: 'A new master key is not lost when the disk fails while the key is written.',
    needs: [STRACE],
    files: ['test/faults/crash/rotation-disk.test.ts'],
  },
  {
    name: 'file-tampering',
    promises: [],
    promise: 'What is signed, in a file, a code or a grant, is refused if it was changed or cut short.',
    files: [
      'test/faults/file-tampering.test.ts',
      'packages/cloud/test/store/offline/tampering.test.ts',
      'packages/protocol/test/carried/license-file.test.ts',
      'packages/protocol/test/carried/offline-request.test.ts',
      'packages/protocol/test/carried/usage-file.test.ts',
      'packages/server/test/http/routes/v4/grants.test.ts',
      'test/client/proof/stored-borrow.test.ts',
    ],
    pattern: 'one bit|flipped bit',
  },
  {
    name: 'first-exchange',
    promises: [],
    promise: 'A change to the first exchange with the cloud is refused, or has no effect.',
    files: ['test/faults/cloud-mitm/first-exchange.test.ts'],
  },
];

/** What the suite does in its own way, at full size. */
export const SUITE_FAULTS: readonly Fault[] = [
  fromSuite({
    name: 'model',
    promises: [6],
    promise: 'SQLite, PostgreSQL and a naive model give the same answers to random histories of lending.',
    unit: 'histories',
    needs: [POSTGRES],
    sizes: { small: 2, full: 5000 },
    files: ['test/model/lending-model.test.ts'],
    pattern: 'PostgreSQL',
    env: (count, seed) => ({ BERTH_MODEL_RUNS: String(count), BERTH_MODEL_SEED: String(seed) }),
    hasFound: [
      'When a slot and a feature became free together, the feature could go past whoever was first in line.',
    ],
  }),
  fromSuite({
    name: 'rule-trial',
    promises: [],
    promise: '"rules try" gives the answers that the server would have given under other rules.',
    unit: 'days of history',
    sizes: { small: 1, full: 30 },
    files: ['test/model/rule-trial.test.ts'],
    env: (count) => ({ BERTH_TRIAL_DAYS: String(count) }),
  }),
  fromSuite({
    name: 'fuzz',
    promises: [5],
    promise: 'Every request gets a well-formed answer in time, and a refused request changes nothing.',
    unit: 'requests',
    sizes: { small: 1000, full: 200_000 },
    files: ['test/fuzz/fuzz.test.ts'],
    env: (count) => ({ BERTH_FUZZ_REQUESTS: String(count) }),
  }),
  {
    name: 'lane',
    promises: [],
    promise:
      'The fast lane reads requests as Node does, gives the same answers, and leaves the rest to Node.',
    unit: 'byte streams',
    sizes: { small: 700, full: 1_000_000 },
    async run({ count, seed, life, say }) {
      const { inLane, inNode } = await compareMany({ seed, streams: count, say });
      const streams = Math.ceil(count / WHOLE_SHARE);
      await compareWhole(life, { seed, streams, say });
      const facts = {
        'requests read by the lane': inLane,
        'requests left to Node': inNode,
        'byte streams to a whole server': streams,
      };
      return { count, facts, violations: [] };
    },
  },
  client,
  fromSuite({
    name: 'consumption',
    promises: [2, 3, 5],
    promise: 'When many clients count towards a limit at once, the total reaches it exactly.',
    unit: 'requests',
    sizes: { small: 150, full: 5000 },
    files: ['test/e2e/consumption-contention.test.ts'],
    env: (count) => ({ BERTH_COUNTS: String(count) }),
  }),
  fromSuite({
    name: 'cloud-reports',
    promises: [3],
    promise: 'Consumption that a server reports to its cloud over a bad connection counts there once.',
    unit: 'reports',
    sizes: { small: 30, full: 1000 },
    files: ['test/faults/cloud/cloud-reports.test.ts'],
    env: (count) => ({ BERTH_REPORTS: String(count) }),
  }),
  fromSuite({
    name: 'slow-clients',
    promises: [],
    promise: 'Clients that send or read too slowly are cut, and others are served meanwhile.',
    unit: 'slow clients',
    sizes: { small: 100, full: 1000 },
    files: ['test/faults/slow-clients.test.ts'],
    env: (count) => ({ BERTH_SLOW_CLIENTS: String(count) }),
  }),
  ...CASES.map((facts) =>
    fromSuite({
      ...facts,
      unit: 'cases',
      sizes: { small: 1, full: 1 },
      env: () => ({ BERTH_ALL_FAULTS: '1' }),
    }),
  ),
  fromSuite({
    name: 'examples',
    promises: [],
    promise: 'The examples that use the API without a client run in every language that is installed.',
    unit: 'tests',
    sizes: { small: 1, full: 1 },
    files: ['test/e2e/examples-without-sdk.test.ts'],
    env: () => ({ BERTH_ALL_EXAMPLES: '1' }),
  }),
];
