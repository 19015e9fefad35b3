import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { showQrCode } from '@berth/protocol/carried/qr-code';
import { escapeUnprintable, toPrintableJson } from '@berth/protocol/hidden-characters';
import { suggest } from '@berth/protocol/suggest';
import type { CommandLine, Origin } from '@berth/shell/console/command-line';
import { toReadable } from '@berth/shell/console/console-text';
import { EXIT_FAILED, EXIT_OK, runCommandLine } from '@berth/shell/console/run-command-line';
import { BackupError } from '@berth/shell/files/backup-file';
import { ListenError } from '@berth/web/listen';
import manifest from '../../package.json' with { type: 'json' };
import { type Clock, systemClock } from '../clock.ts';
import { ValueError } from '../core/read-values.ts';
import { isRefusal, type Refusal } from '../core/refusal.ts';
import { isStoreFailure } from '../http/problem.ts';
import { type DataFolder, hasData, openDataFolder } from '../store/data-folder.ts';
import { DataFolderError } from '../store/data-folder-error.ts';
import { ForeignDatabase } from '../store/database.ts';
import { FileError } from './carried-files.ts';
import { type Command, FLAGS, type Flags } from './command.ts';
import { runRestore, showRestored } from './commands/backup-commands.ts';
import { serveDemo } from './demo.ts';
import { withNextStep } from './next-steps.ts';
import { serve } from './serve.ts';
import type { Terminal } from './terminal.ts';
import { describeFeatures, ENTRIES, type Entry, MEANINGS } from './usage.ts';

const DEFAULT_FOLDER = './cloud-data';
const DEFAULT_PORT = 8090;

interface CliOptions {
  /** The command as the user typed it, such as `./berth cloud`; used in hints. */
  readonly program: string;
  /** The folder that contains the default data folder. */
  readonly home: string;
  readonly findOrigin?: () => Origin | null;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly terminal: Terminal;
}

/** Runs a command and returns its exit code. */
export function runCli(argv: readonly string[], options: CliOptions): Promise<number> {
  const { env, home } = options;
  return runCommandLine(argv, {
    line: createLine(options),
    terminal: options.terminal,
    // Hints name the data folder: the user may run them from another folder or without our variables.
    carry: ({ data = env.LICENSING_CLOUD_DATA }) =>
      typeof data === 'string' && data !== '' ? { data: resolve(data) } : {},
    run({ command, words, flags: given }, terminal) {
      const flags = given as Flags;
      const path = resolve(flags.data ?? env.LICENSING_CLOUD_DATA ?? resolve(home, DEFAULT_FOLDER));
      const warnings = findUnknownVariables(env);
      return run(command, words, { flags, path, terminal, clock: systemClock, warnings });
    },
    isExpected,
    isWrongValue: (error) => error instanceof ValueError,
  });
}

/** Whether the message is enough for the user. Any other error is a bug and is printed with its stack. */
function isExpected(error: unknown): boolean {
  if (error instanceof ValueError || error instanceof DataFolderError || error instanceof BackupError) {
    return true;
  }
  if (error instanceof FileError || error instanceof ForeignDatabase || isStoreFailure(error)) return true;
  if (error instanceof ListenError) return true;
  return error instanceof Error && 'syscall' in error;
}

const VARIABLES = ['LICENSING_CLOUD_DATA'];

/** Variables with our prefix that are not used: probably typos. */
function findUnknownVariables(env: CliOptions['env']): readonly string[] {
  return Object.keys(env)
    .filter((name) => name.startsWith('LICENSING_CLOUD_') && !VARIABLES.includes(name))
    .map((name) => `The environment variable ${name} is unknown.${suggest(name, VARIABLES)}`);
}

interface Invocation {
  readonly flags: Flags;
  readonly path: string;
  readonly terminal: Terminal;
  readonly clock: Clock;
  /** Problems that do not stop the command. */
  readonly warnings: readonly string[];
}

function run({ command }: Entry, words: readonly string[], invocation: Invocation): Promise<number> {
  if (command === 'serve') {
    return withFolder(invocation, (folder) => serve({ ...invocation, folder, defaultPort: DEFAULT_PORT }));
  }
  if (command === 'demo') {
    return withFolder(invocation, (folder) => serveDemo({ ...invocation, folder, defaultPort: 0 }));
  }
  if (command === 'restore') return restore(words, invocation);
  return runCommand(command, words, invocation);
}

/** It replaces the data, so it must not open it. */
async function restore(
  words: readonly string[],
  { path, flags, terminal, clock, warnings }: Invocation,
): Promise<number> {
  for (const warning of warnings) terminal.warn(warning);
  const restored = await runRestore(path, words, flags, clock.readWallMs());
  terminal.print(flags.json ? toPrintableJson(restored, 2) : showRestored(restored));
  return EXIT_OK;
}

/** Prints a refusal and returns the exit code. */
async function withFolder(
  { path, terminal, flags }: Invocation,
  work: (folder: DataFolder) => Promise<Refusal | null>,
): Promise<number> {
  const folder = openDataFolder(path);
  try {
    const result = await work(folder);
    return isRefusal(result) ? showRefusal(result, terminal, flags) : EXIT_OK;
  } finally {
    folder.close();
  }
}

function showRefusal(refusal: Refusal, terminal: Terminal, { json }: Flags): number {
  const { code, details } = refusal;
  const message = withNextStep(refusal);
  if (json) terminal.print(toPrintableJson({ code, message, ...details }, 2));
  terminal.fail(escapeUnprintable(message));
  return EXIT_FAILED;
}

async function runCommand(
  command: Command,
  words: readonly string[],
  invocation: Invocation,
): Promise<number> {
  const { path, flags, terminal, clock, warnings } = invocation;
  for (const warning of warnings) terminal.warn(warning);
  if (!command.mayCreate && !hasData(path)) {
    throw new DataFolderError(
      `There is no cloud in ${path}. Create one with "cloud key create", or select its folder with --data.`,
    );
  }
  return withFolder(invocation, async ({ store, keyRing, airgapKey }) => {
    const { readSecret } = terminal;
    const now = clock.readWallMs();
    const signingKeys = keyRing.read();
    const call = { store, keyRing, signingKeys, airgapKey, words, flags, now, readSecret };
    const result = await command.run(call);
    if (isRefusal(result)) return result;
    const { screen } = terminal;
    terminal.print(
      flags.json ? toPrintableJson(result, 2) : command.show(toReadable(result, screen) as never),
    );
    if (!flags.json && command.scan !== undefined)
      showQrCode(command.scan(result as never), flags.qr, terminal);
    const found = command.warn?.(result as never, call) ?? [];
    for (const warning of found) terminal.warn(escapeUnprintable(warning));
    return null;
  });
}

function createLine({ program, home, findOrigin }: CliOptions): CommandLine<Entry> {
  return {
    program,
    name: 'cloud',
    version: manifest.version,
    findOrigin,
    commands: ENTRIES,
    options: FLAGS,
    allowNegative: false,
    commonFlags: ['data', 'json', 'help', 'version'],
    ...MEANINGS,
    topics: { features: { about: 'explains --feature SPEC', describe: describeFeatures } },
    note:
      'Every command takes --json and --data DIR, and works with the cloud running or stopped; "restore"\n' +
      'needs it stopped. Dates are UTC: 2027-01-31T12:00:00Z, or 2027-01-31, which means the end of that\n' +
      'day for --valid-until, --until and expires, and its start for --starts-at and --ends-before.\n\n' +
      `Unless set otherwise (--data, LICENSING_CLOUD_DATA), the data is in ${resolve(home, DEFAULT_FOLDER)}.`,
    parse: (config) => parseArgs(config) as ReturnType<CommandLine<Entry>['parse']>,
  };
}
