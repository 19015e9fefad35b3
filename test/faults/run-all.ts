import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

interface Storm {
  readonly name: string;
  /** What node is given, from the root of the project. */
  readonly words: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

const LINE = 'test/faults/line/line-storm.ts';

/** What the suite runs small, at full size. */
const STORMS: readonly Storm[] = [
  {
    name: 'lending-model',
    words: ['--test', '--test-name-pattern', 'PostgreSQL', 'test/model/lending-model.test.ts'],
    env: { BERTH_MODEL_RUNS: '5000' },
  },
  {
    name: 'rule-trial',
    words: ['--test', 'test/model/rule-trial.test.ts'],
    env: { BERTH_TRIAL_DAYS: '30' },
  },
  { name: 'fuzz', words: ['test/fuzz/fuzz.test.ts', '200000'] },
  { name: 'lane', words: ['test/fuzz/lane/lane-storm.ts', '--streams', '1000000', '--whole', '10000'] },
  { name: 'client', words: ['test/client/simulation/exclusion-storm.ts', '--seeds', '10000'] },
  { name: 'kill-storm', words: ['test/faults/crash/kill-storm.ts', '--cycles', '100'] },
  { name: 'count-storm', words: ['test/faults/crash/count-storm.ts', '--cycles', '20'] },
  {
    name: 'consumption',
    words: ['--test', 'test/e2e/consumption-contention.test.ts'],
    env: { BERTH_COUNTS: '5000' },
  },
  { name: 'line', words: [LINE, 'order'] },
  { name: 'line-timeout', words: [LINE, 'order', '--by-timeout'] },
  { name: 'line-postgres', words: [LINE, 'order', '--waiters', '300', '--postgres'] },
  { name: 'line-killed', words: [LINE, 'order', '--killed', '400', '--hold-ms', '200'] },
  { name: 'line-killed-tls', words: [LINE, 'order', '--killed', '400', '--hold-ms', '200', '--tls'] },
  { name: 'line-pollers', words: [LINE, 'pollers'] },
  { name: 'line-memory', words: [LINE, 'memory'] },
  { name: 'fleet-storm', words: ['test/faults/fleet/fleet-storm.ts', '--seconds', '60'] },
  { name: 'database-storm', words: ['test/faults/fleet/database-storm.ts', '--cycles', '20'] },
  { name: 'stopped-server', words: ['test/faults/fleet/stopped-server.ts', '--seconds', '70'] },
  { name: 'takeover', words: ['test/faults/fleet/takeover.ts', '--cycles', '5'] },
  { name: 'clocks', words: ['test/faults/fleet/clocks.ts', '--seconds', '60'] },
  {
    name: 'cloud-reports',
    words: ['--test', 'test/faults/cloud/cloud-reports.test.ts'],
    env: { BERTH_REPORTS: '1000' },
  },
  {
    name: 'cloud-faults',
    words: ['--test', 'test/faults/cloud/cloud-faults.test.ts'],
    env: { BERTH_ALL_FAULTS: '1' },
  },
  { name: 'disk-errors', words: ['test/faults/crash/disk-errors.ts', '--to', '40'] },
  {
    name: 'rotation-disk',
    words: ['--test', 'test/faults/crash/rotation-disk.test.ts'],
    env: { BERTH_ALL_FAULTS: '1' },
  },
  {
    name: 'file-tampering',
    words: ['--test', 'test/faults/file-tampering.test.ts'],
    env: { BERTH_ALL_FAULTS: '1' },
  },
  { name: 'backup', words: ['test/faults/backup/backup-faults.ts', '--backups', '100'] },
  {
    name: 'backup-postgres',
    words: ['test/faults/backup/backup-faults.ts', '--backups', '100', '--postgres'],
  },
  {
    name: 'examples',
    words: ['--test', 'test/e2e/examples-without-sdk.test.ts'],
    env: { BERTH_ALL_EXAMPLES: '1' },
  },
  {
    name: 'first-exchange',
    words: ['--test', 'test/faults/cloud-mitm/first-exchange.test.ts'],
    env: { BERTH_ALL_FAULTS: '1' },
  },
  { name: 'cloud-mitm', words: ['test/faults/cloud-mitm/cloud-mitm.ts', '--exchanges', '10000'] },
];

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** One at a time: each wants the machine for itself. */
async function runStorm({ name, words, env }: Storm): Promise<string> {
  print(`# ${name}: node ${words.join(' ')}`);
  const startedMs = performance.now();
  // All clients of a storm have one address.
  const unlimited = { ...process.env, BERTH_LIMITS_NEW_SLOTS_PER_HOUR: '0' };
  const options = { cwd: ROOT, env: { ...unlimited, ...env }, stdio: 'inherit' } as const;
  const [code] = await once(spawn(process.execPath, words, options), 'exit');
  const seconds = Math.round((performance.now() - startedMs) / 1000);
  if (code !== 0) process.exitCode = 1;
  return `${code === 0 ? 'passed' : 'FAILED'}  ${name} in ${seconds} s`;
}

const words = process.argv.slice(2);
const names = words.filter((word) => word !== '--list');
const unknown = names.filter((name) => !STORMS.some((storm) => storm.name === name));
if (unknown.length > 0) {
  print(`There is no ${unknown.join(', ')}. There are: ${STORMS.map(({ name }) => name).join(', ')}.`);
  process.exitCode = 1;
} else if (words.includes('--list')) {
  for (const { name, words } of STORMS) print(`${name.padEnd(16)} node ${words.join(' ')}`);
} else {
  const chosen = STORMS.filter(({ name }) => names.length === 0 || names.includes(name));
  const results: string[] = [];
  for (const storm of chosen) results.push(await runStorm(storm));
  print(`\n${results.join('\n')}`);
}
