import { parseArgs } from 'node:util';
import { BenchRun } from './bench-run.ts';
import type { Measurement } from './measurement.ts';
import {
  describeMachine,
  formatHeading,
  formatMeasurement,
  formatVerdicts,
  type Report,
  writePage,
} from './report.ts';
import { SCENARIOS, type Scenario, type Verdict } from './scenarios.ts';

const USAGE = `npm run bench -- [--scenario NAME]… [--seconds N] [--json] [--write]

  --scenario NAME  only this one; may be given more than once
  --seconds N      how long one measurement takes; 3 unless told, which makes all of them take under 3 minutes
  --json           print the results as JSON
  --write          put the tables into docs/performance.md; needs all scenarios
  --help           print this

${SCENARIOS.map(({ name, about }) => `  ${name.padEnd(18)} ${about}`).join('\n')}
`;

interface Options {
  readonly scenarios: readonly Scenario[];
  readonly seconds: number;
  readonly json: boolean;
  readonly write: boolean;
}

function readOptions(): Options {
  const { values } = parseArgs({
    options: {
      scenario: { type: 'string', multiple: true, default: [] },
      seconds: { type: 'string', default: '3' },
      json: { type: 'boolean', default: false },
      write: { type: 'boolean', default: false },
    },
  });
  const { scenario: names, json, write } = values;
  const unknown = names.find((name) => !SCENARIOS.some((scenario) => scenario.name === name));
  if (unknown !== undefined) throw new Error(`There is no scenario "${unknown}".`);
  const seconds = Number(values.seconds);
  if (!(seconds >= 0.5 && seconds <= 60)) throw new Error('--seconds takes a number from 0.5 to 60.');
  if (write && names.length > 0) throw new Error('--write needs all scenarios.');
  const scenarios = SCENARIOS.filter(({ name }) => names.length === 0 || names.includes(name));
  return { scenarios, seconds, json, write };
}

function tryReadOptions(): Options | null {
  try {
    return readOptions();
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n\n${USAGE}`);
    return null;
  }
}

async function runScenarios({ scenarios, seconds, json }: Options): Promise<Report> {
  const print = (text: string) => json || process.stdout.write(text);
  const bench = new BenchRun(seconds, (measurement: Measurement) => print(formatMeasurement(measurement)));
  const interrupt = () => bench.end().finally(() => process.exit(130));
  process.once('SIGINT', interrupt).once('SIGTERM', interrupt);
  const verdicts: Verdict[] = [];
  try {
    print(formatHeading());
    for (const scenario of scenarios) verdicts.push(...(await scenario.run(bench)));
  } finally {
    await bench.end();
  }
  for (const { name, value } of bench.notes) print(`${name}: ${value}\n`);
  const { measurements, notes } = bench;
  return { machine: describeMachine(seconds), measurements, notes, verdicts };
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
