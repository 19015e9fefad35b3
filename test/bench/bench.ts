import { BenchRun } from './bench-run.ts';
import type { Measurement } from './measurement.ts';
import { type Options, readOptions, USAGE } from './options.ts';
import { writePerformancePage } from './report/performance-page.ts';
import { writeRecord } from './report/record.ts';
import {
  describeMachine,
  formatHeading,
  formatMeasurement,
  formatVerdicts,
  type Report,
} from './report/report.ts';
import type { Verdict } from './scenarios.ts';

function tryReadOptions(): Options | null {
  try {
    return readOptions(process.argv.slice(2));
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n\n${USAGE}`);
    return null;
  }
}

async function runScenarios(options: Options): Promise<Report> {
  const { store, scenarios, seconds, patienceMinutes, json } = options;
  const print = (text: string) => json || process.stdout.write(text);
  const onMeasured = (measurement: Measurement) => print(formatMeasurement(store, measurement));
  const bench = new BenchRun(seconds, patienceMinutes * 60_000, onMeasured);
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
  const reports: Report[] = [];
  while (reports.length < options.runs) {
    const report = await runScenarios(options);
    reports.push(report);
    if (options.json) process.stdout.write(`${JSON.stringify(report, null, 2)}\n`);
    else process.stdout.write(`\n${formatVerdicts(report.verdicts)}\n`);
  }
  if (!options.write) return;
  writeRecord(reports);
  writePerformancePage();
}

if (process.argv.includes('--help')) process.stdout.write(USAGE);
else {
  const options = tryReadOptions();
  if (options === null) process.exitCode = 2;
  else await main(options);
}
