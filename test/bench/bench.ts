import { parseArgs } from 'node:util';
import { BenchRun } from './bench-run.ts';
import type { Measurement } from './measurement.ts';
import { POSTGRES_SCENARIOS } from './postgres-scenarios.ts';
import {
  describeMachine,
  formatHeading,
  formatMeasurement,
  formatVerdicts,
  type Report,
  type StoreKind,
  writePage,
} from './report.ts';
import { SCENARIOS, type Scenario, type Verdict } from './scenarios.ts';

const ALL: Readonly<Record<StoreKind, readonly Scenario[]>> = {
  sqlite: SCENARIOS,
  postgres: POSTGRES_SCENARIOS,
};

const USAGE = `npm run bench -- [--store STORE] [--scenario NAME]… [--seconds N] [--json] [--write]

  --store STORE    sqlite, or postgres, which is started beside the server; sqlite unless told
  --scenario NAME  only this one; may be given more than once
  --seconds N      how long one measurement takes; 3 unless told, which makes all of them take under 3 minutes
  --json           print the results as JSON
  --write          put the tables into docs/performance.md; needs all scenarios
  --help           print this

sqlite:
${listScenarios('sqlite')}
postgres:
${listScenarios('postgres')}
`;

function listScenarios(store: StoreKind): string {
  return ALL[store].map(({ name, about }) => `  ${name.padEnd(18)} ${about}`).join('\n');
}

interface Options {
  readonly store: StoreKind;
  readonly scenarios: readonly Scenario[];
  readonly seconds: number;
  readonly json: boolean;
  readonly write: boolean;
}

function readOptions(): Options {
  const { values } = parseArgs({
    options: {
      store: { type: 'string', default: 'sqlite' },
      scenario: { type: 'string', multiple: true, default: [] },
      seconds: { type: 'string', default: '3' },
      json: { type: 'boolean', default: false },
      write: { type: 'boolean', default: false },
    },
  });
  const { store, scenario: names, json, write } = values;
  if (store !== 'sqlite' && store !== 'postgres') throw new Error('--store takes sqlite or postgres.');
  const unknown = names.find((name) => !ALL[store].some((scenario) => scenario.name === name));
  if (unknown !== undefined) throw new Error(`There is no scenario "${unknown}" for ${store}.`);
  const seconds = Number(values.seconds);
  if (!(seconds >= 0.5 && seconds <= 60)) throw new Error('--seconds takes a number from 0.5 to 60.');
  if (write && names.length > 0) throw new Error('--write needs all scenarios.');
  const scenarios = ALL[store].filter(({ name }) => names.length === 0 || names.includes(name));
  return { store, scenarios, seconds, json, write };
}

function tryReadOptions(): Options | null {
  try {
    return readOptions();
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n\n${USAGE}`);
    return null;
  }
}

async function runScenarios({ store, scenarios, seconds, json }: Options): Promise<Report> {
  const print = (text: string) => json || process.stdout.write(text);
  const bench = new BenchRun(seconds, (measurement: Measurement) =>
    print(formatMeasurement(store, measurement)),
  );
  const interrupt = () => bench.end().finally(() => process.exit(130));
  process.once('SIGINT', interrupt).once('SIGTERM', interrupt);
  const verdicts: Verdict[] = [];
  try {
    print(formatHeading(store));
    for (const scenario of scenarios) verdicts.push(...(await scenario.run(bench)));
  } finally {
    await bench.end();
  }
  for (const { name, value } of bench.notes) print(`${name}: ${value}\n`);
  const { measurements, notes, facts } = bench;
  return { store, machine: { ...describeMachine(seconds), ...facts }, measurements, notes, verdicts };
}

async function main(options: Options): Promise<void> {
  const report = await runScenarios(options);
  if (options.json) process.stdout.write(`${JSON.stringify(report, null, 2)}\n`);
  else process.stdout.write(`\n${formatVerdicts(report.verdicts)}`);
  if (options.write) writePage(report);
}

if (process.argv.includes('--help')) process.stdout.write(USAGE);
else {
  const options = tryReadOptions();
  if (options === null) process.exitCode = 2;
  else await main(options);
}
