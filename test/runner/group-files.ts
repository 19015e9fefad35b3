import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative, sep } from 'node:path';
import type { TestEvent } from 'node:test/reporters';
import { hasMemory, MEMORY } from '../support/stores/postgres.ts';

/**
 * Starting a process and loading the code takes longer than most tests, so short files share a process. Each
 * file is a suite there and keeps its own hooks.
 */
const GROUPED = [
  { folders: ['packages', 'test/bench', 'test/docs', 'test/mutants', 'test/support', 'test/tidy'], size: 64 },
  { folders: ['test/browser'], size: 3 },
  { folders: ['test/faults', 'test/fuzz', 'test/model'], size: 8 },
  { folders: ['test/cli', 'test/client', 'test/conformance', 'test/e2e'], size: 16 },
];

/** Test files that change their process, share passwords with another one, or would delay a group. */
const ALONE = [
  'access.test.ts',
  'executable.test.ts',
  'install-doc.test.ts',
  'licenses-doc.test.ts',
  'notify.test.ts',
  'postgres-store.test.ts',
  'threaded-store.test.ts',
  'without-lane.test.ts',
];

/** The temporary files of these tests need no disk, and they would mostly wait for syncs. */
const IN_MEMORY = hasMemory() ? [`process.env.TMPDIR = ${JSON.stringify(MEMORY)};`] : [];

interface Groups {
  /** What to run instead: single files and group entries. */
  readonly entries: string[];
  /** Makes the events of a group look as if each file had run separately. */
  ungroup(events: AsyncIterable<TestEvent>): AsyncGenerator<TestEvent>;
}

/** Some quote code that a bundle replaces, others have packages of their own. */
const UNBUNDLED = ['test/tidy', 'test/client/generated'].map((folder) => join(sep, folder, sep));

export function mayBeBundled(file: string): boolean {
  return !UNBUNDLED.some((folder) => file.includes(folder));
}

/** Groups the short test files; writes the entries of the groups to a folder. */
export function groupFiles(
  files: readonly string[],
  root: string,
  folder: string,
  bundle: string | undefined,
): Groups {
  const groups = GROUPED.flatMap(({ folders, size }) => {
    const paths = folders.map((path) => join(root, path) + sep);
    const inside = files.filter((file) => paths.some((path) => file.startsWith(path)));
    const fit = inside.filter((file) => !ALONE.includes(basename(file)));
    return deal(fit, Math.ceil(fit.length / size));
  });
  const grouped = new Set(groups.flat());
  const single = files.filter((file) => !grouped.has(file));
  const entries = [
    ...groups.map((group) => writeEntry(group, join(folder, 'group'), bundle)),
    ...single.map((file) => writeEntry([file], join(folder, relative(root, file)), bundle)),
  ];
  return { entries, ungroup: (events) => ungroup(events, new Set(entries)) };
}

function deal(files: readonly string[], count: number): string[][] {
  return Array.from({ length: count }, (_, n) => files.filter((_, at) => at % count === n));
}

/**
 * The runner follows every promise to know which test it belongs to, which takes a tenth of the time of all
 * tests. That is only needed for files that are loaded asynchronously, and a test file may not begin with an
 * `await`. An unhandled rejection still fails the run, but names no test.
 */
const WITHOUT_PROMISES = [
  "const hooks = require('node:async_hooks');",
  'const { createHook } = hooks;',
  'hooks.createHook = (callbacks) => createHook({ ...callbacks, trackPromises: false });',
];

/**
 * A guess at a password or passphrase takes up to half a second, which is what protects it. In a group it
 * takes no time. The programs that tests start keep the real cost.
 */
const CHEAP_GUESSES = [
  "const crypto = require('node:crypto');",
  'const { scrypt } = crypto;',
  'crypto.scrypt = (text, salt, size, cost, done) => scrypt(text, salt, size, { ...cost, N: 16 }, done);',
  "require('node:module').syncBuiltinESMExports();",
];

/**
 * Named after its content: another run may use the folder at the same time. Opening a data folder changes the
 * mask of the process for new files, which the next file must not notice.
 */
function writeEntry(group: readonly string[], path: string, bundle: string | undefined): string {
  const suites = group.map((file) => {
    const name = JSON.stringify(file);
    const isBundled = bundle !== undefined && mayBeBundled(file);
    const load = isBundled ? `require(${JSON.stringify(bundle)}).load(${name});` : `require(${name});`;
    return `describe(${name}, () => { before(() => process.umask(mask)); ${load} });`;
  });
  const head = ["const { before, describe } = require('node:test');", 'const mask = process.umask();'];
  const guesses = group.length > 1 ? CHEAP_GUESSES : [];
  const text = [...guesses, ...WITHOUT_PROMISES, ...head, ...IN_MEMORY, ...suites, ''].join('\n');
  const hash = createHash('sha256').update(text).digest('hex').slice(0, 16);
  const entry = `${path}-${hash}.cjs`;
  mkdirSync(dirname(entry), { recursive: true });
  writeFileSync(entry, text);
  return entry;
}

type Data = Extract<TestEvent, { type: 'test:fail' }>['data'];

/** The state of a group while its events arrive. */
interface GroupState {
  file: string | undefined;
  hasTests: boolean;
  output: string;
}

async function* ungroup(events: AsyncIterable<TestEvent>, entries: Set<string>): AsyncGenerator<TestEvent> {
  const states = new Map<string, GroupState>();
  for await (const event of events) {
    const { entryFile } = event.data as Partial<Data>;
    if (entryFile === undefined || !entries.has(entryFile)) {
      yield event;
      continue;
    }
    const state = states.get(entryFile) ?? { file: undefined, hasTests: false, output: '' };
    states.set(entryFile, state);
    yield* translate(event, state);
  }
}

function* translate(event: TestEvent, state: GroupState): Generator<TestEvent> {
  const data = event.data as Data;
  switch (event.type) {
    case 'test:stdout':
    case 'test:stderr':
      state.output += event.data.message;
      return;
    case 'test:start':
    case 'test:plan':
    case 'test:pass':
    case 'test:fail':
    case 'test:diagnostic':
      if (data.nesting > 0) {
        state.hasTests ||= event.type === 'test:start';
        yield move(event, { nesting: data.nesting - 1, entryFile: state.file });
      } else if (event.type === 'test:start') {
        Object.assign(state, { file: data.name, hasTests: false });
      } else if (event.type === 'test:pass' || event.type === 'test:fail') {
        yield* endFile(event, data, state);
      } else if (event.type === 'test:diagnostic') {
        yield event;
      }
      return;
    // Comes at once, while the others keep the order of the files.
    case 'test:complete':
      if (data.nesting === 0) yield move(event, { file: data.name, entryFile: data.name });
  }
}

/** The output of a group cannot be assigned to its files, so all of it is shown with a failed file. */
function* endFile(
  event: TestEvent,
  data: Data,
  { file, hasTests, output }: GroupState,
): Generator<TestEvent> {
  const isFailure = event.type === 'test:fail';
  const place = { file, entryFile: file };
  if (isFailure && !isOfTests(data.details.error)) yield move(event, { ...place, name: 'test file' });
  if (isFailure && output !== '')
    yield { type: 'test:stdout', data: { ...place, message: output } } as TestEvent;
  if (!hasTests && !isFailure) return;
  const { duration_ms } = data.details;
  yield {
    type: 'test:summary',
    data: { ...place, duration_ms, success: !isFailure },
  } as unknown as TestEvent;
}

/** Whether a file failed only because of its tests, which are reported separately. */
function isOfTests(error: Error): boolean {
  return 'failureType' in error && error.failureType === 'subtestsFailed';
}

function move(event: TestEvent, changes: object): TestEvent {
  return { type: event.type, data: { ...event.data, ...changes } } as TestEvent;
}
