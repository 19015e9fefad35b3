import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, globSync, renameSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { delimiter, join } from 'node:path';
import { run } from 'node:test';
import type { TestEvent } from 'node:test/reporters';
import { fileURLToPath } from 'node:url';
import { BUILT, buildProgram, writeBuilt } from './runner/build-program.ts';
import { TestBundle } from './runner/bundle-tests.ts';
import { Durations } from './runner/durations.ts';
import { groupFiles, mayBeBundled } from './runner/group-files.ts';
import { formatCounts, Ledger } from './runner/ledger.ts';
import { formatFailure, reportCompactly } from './runner/reporter.ts';
import { installTools } from './support/install-tools.ts';
import { makeRsaKeys } from './support/rsa-keys.ts';
import { hasMemory, hasPostgres, MEMORY, SHARED_SETTINGS, startPostgres } from './support/stores/postgres.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const TOOLS = join(ROOT, 'node_modules', '.bin');
const TEST_TIMEOUT_MS = 10 * 60 * 1000;
/** Many tests wait for processes or timers, so more files run at once than there are cores. */
const CONCURRENCY = availableParallelism() * 3;
const CACHE = join(ROOT, 'node_modules', '.cache');
/** Several threads check the same types more than once, and the tests need the cores. */
const TSC = 'tsc --noEmit --singleThreaded';
const STATIC_CHECKS = [TSC, `${TSC} -p packages/admin`, 'biome check .'];

function print(text: string): void {
  process.stdout.write(text);
}

/** Runs a tool with the project's Node and returns its output if it fails. */
async function runTool(commandLine: string): Promise<string | undefined> {
  const [command = '', ...args] = commandLine.split(' ');
  const env = { ...process.env, PATH: `${TOOLS}${delimiter}${process.env.PATH ?? ''}` };
  const tool = spawn(join(TOOLS, command), args, { cwd: ROOT, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [tool.stdout, tool.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  const [code] = await once(tool, 'close');
  return code === 0 ? undefined : output || `${commandLine} ended with ${code}`;
}

async function runStaticCheck(commandLine: string, ledger: Ledger): Promise<void> {
  const output = await runTool(commandLine).catch((error: Error) => error.message);
  print(`# ${commandLine}\n${output === undefined ? '' : `${output.trimEnd()}\n`}`);
  ledger.add({ kind: output === undefined ? 'passed' : 'failed', name: commandLine, place: ROOT });
}

function findTestFiles(filters: string[]): string[] {
  const patterns = ['packages/*/test/**/*.test.ts', 'test/**/*.test.ts'];
  return globSync(patterns, { cwd: ROOT, exclude: ['**/node_modules'] })
    .filter((path) => filters.length === 0 || filters.some((filter) => path.includes(filter)))
    .sort()
    .map((path) => join(ROOT, path));
}

/**
 * One PostgreSQL server for all files, each with separate databases. Files that stop the server start another
 * one. The variable's name is not one that a server reads as a setting.
 */
async function startSharedPostgres(files: readonly string[]): Promise<() => Promise<void>> {
  const isOurs = process.env.BERTH_TEST_DATABASE_URL === undefined && hasPostgres && files.length > 1;
  if (!isOurs) return async () => {};
  const settings = { ...SHARED_SETTINGS, max_connections: '500' };
  const postgres = await startPostgres({ settings, isModel: true });
  process.env.TEST_POSTGRES_URL = postgres.url('postgres');
  process.env.TEST_POSTGRES_MODEL = postgres.folder;
  return () => postgres.end();
}

/** Returns the file with the keys, which stays for the next run. */
function keepRsaKeys(): string {
  const file = join(BUILT, 'rsa-keys.json');
  if (!existsSync(file)) renameSync(writeBuilt('rsa-keys', 'json', JSON.stringify(makeRsaKeys())), file);
  return file;
}

async function* recordDurations(
  events: AsyncIterable<TestEvent>,
  durations: Durations,
): AsyncGenerator<TestEvent> {
  for await (const event of events) {
    durations.record(event);
    yield event;
  }
}

async function runTestFiles(files: string[], ledger: Ledger, isWhole: boolean): Promise<void> {
  print(`# ${files.length} test ${files.length === 1 ? 'file' : 'files'}\n`);
  if (files.length === 0) return;
  const bundle = isWhole ? await TestBundle.make(files.filter(mayBeBundled), ROOT) : undefined;
  const { entries, ungroup } = groupFiles(files, ROOT, BUILT, bundle?.file);
  const durations = new Durations(join(CACHE, 'test-durations.json'));
  const endPostgres = await startSharedPostgres(files);
  const events = run({
    files: durations.sort(entries),
    cwd: ROOT,
    isolation: 'process',
    concurrency: CONCURRENCY,
    timeout: TEST_TIMEOUT_MS,
  });
  for await (const text of reportCompactly(
    ungroup(recordDurations(events, durations)),
    ledger,
    files.length,
  )) {
    print(bundle?.translate(text) ?? text);
  }
  await endPostgres();
  durations.save();
  for (const file of ledger.listSilent(files)) {
    const reason = 'It reported no test: it has none, or its process ended before they were done.';
    print(formatFailure(ledger.add({ kind: 'failed', name: 'test file', place: file, reason })));
  }
}

process.chdir(ROOT);
// Test files and the servers they start share compiled code, which saves about half a second each.
process.env.NODE_COMPILE_CACHE ??= join(CACHE, 'berth');
// The tools written in Go end before their garbage matters, and would spend a quarter of their time on it.
process.env.GOGC ??= 'off';
if (process.env.TEST_PROGRAM === undefined) Object.assign(process.env, await buildProgram());
process.env.TEST_RSA_KEYS ??= keepRsaKeys();
// Syncs are free in memory.
if (hasMemory()) process.env.TMPDIR ??= MEMORY;
const filters = process.argv.slice(2);
const isCi = process.env.CI === 'true';
const ledger = new Ledger({ skipsFail: isCi });
const staticChecks = filters.length === 0 ? STATIC_CHECKS : [];
await Promise.all([
  filters.length === 0 ? installTools() : undefined,
  ...staticChecks.map((commandLine) => runStaticCheck(commandLine, ledger)),
  runTestFiles(findTestFiles(filters), ledger, filters.length === 0),
]);

const { passed, failed } = ledger.counts;
if (passed + failed === staticChecks.length) print('No test ran.\n');
process.exitCode = failed > 0 || passed + failed === staticChecks.length ? 1 : 0;
print(`${formatCounts(ledger.counts)}\n`);
