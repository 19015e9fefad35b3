import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { explainFlagError } from '@berth/protocol/explain-flag-error';
import { escapeUnprintable, toPrintableJson } from '@berth/protocol/hidden-characters';
import { showQrCode } from '@berth/protocol/qr-code';
import { suggest } from '@berth/protocol/suggest';
import manifest from '../../package.json' with { type: 'json' };
import { type Clock, systemClock } from '../clock.ts';
import { ValueError } from '../core/read-values.ts';
import { isRefusal, type Refusal } from '../core/refusal.ts';
import { isStoreFailure } from '../http/problem.ts';
import { type DataFolder, DataFolderError, hasData, openDataFolder } from '../store/data-folder.ts';
import { ForeignDatabase } from '../store/database.ts';
import { AIRGAP_COMMANDS } from './airgap-commands.ts';
import { type Command, FLAGS, type FlagName, type Flags, UsageError } from './command.ts';
import { serveDemo } from './demo.ts';
import { DEVICE_COMMANDS } from './device-commands.ts';
import { KEY_COMMANDS } from './key-commands.ts';
import { LICENSE_COMMANDS } from './license-commands.ts';
import { OFFLINE_COMMANDS } from './offline-commands.ts';
import { serve } from './serve.ts';
import type { Terminal } from './terminal.ts';
import { usage } from './usage.ts';

const COMMANDS: readonly Command[] = [
  ...KEY_COMMANDS,
  ...LICENSE_COMMANDS,
  ...OFFLINE_COMMANDS,
  ...AIRGAP_COMMANDS,
  ...DEVICE_COMMANDS,
];
const NAMES = ['serve', 'demo', ...COMMANDS.map(({ words }) => words)];

const EXIT_OK = 0;
const EXIT_FAILED = 1;
const EXIT_USAGE = 2;

const DEFAULT_FOLDER = './cloud-data';
const DEFAULT_PORT = 8090;

export interface CliOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly terminal: Terminal;
}

/** Runs one command and answers its exit code: 0 done, 1 refused or failed, 2 wrong words. */
export async function runCli(argv: readonly string[], options: CliOptions): Promise<number> {
  const { terminal } = options;
  try {
    return await dispatch(argv, options);
  } catch (error) {
    if (error instanceof UsageError) terminal.complain(`${error.message}\n\n${usage(COMMANDS)}`);
    else terminal.complain(isExpected(error) ? (error as Error).message : describeBug(error));
    return error instanceof UsageError || error instanceof ValueError ? EXIT_USAGE : EXIT_FAILED;
  }
}

/** An error whose message says all that a person needs; any other is a bug, and told with its stack. */
function isExpected(error: unknown): boolean {
  if (error instanceof ValueError || error instanceof DataFolderError) return true;
  if (error instanceof ForeignDatabase || isStoreFailure(error)) return true;
  return error instanceof Error && 'syscall' in error;
}

function describeBug(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

async function dispatch(argv: readonly string[], { env, terminal }: CliOptions): Promise<number> {
  const { words, flags } = parse(argv);
  if (flags.version) terminal.print(`cloud ${manifest.version}`);
  else if (flags.help) terminal.print(usage(COMMANDS));
  else {
    const path = resolve(flags.data ?? env.LICENSING_CLOUD_DATA ?? DEFAULT_FOLDER);
    return run(words, { flags, path, terminal, clock: systemClock });
  }
  return EXIT_OK;
}

interface Invocation {
  readonly flags: Flags;
  /** The data folder. */
  readonly path: string;
  readonly terminal: Terminal;
  readonly clock: Clock;
}

async function run(words: readonly string[], invocation: Invocation): Promise<number> {
  const [first = 'serve'] = words;
  if (first === 'serve') {
    rejectForeign(
      'serve',
      ['port', 'host', 'tls-cert', 'tls-key', 'trusted-proxies'],
      words.slice(1),
      invocation.flags,
    );
    return withFolder(invocation, (folder) => serve({ ...invocation, folder, defaultPort: DEFAULT_PORT }));
  }
  if (first === 'demo') {
    rejectForeign('demo', ['port', 'host'], words.slice(1), invocation.flags);
    return withFolder(invocation, (folder) => serveDemo({ ...invocation, folder, defaultPort: 0 }));
  }
  const { command, rest } = findCommand(words);
  return runCommand(command, rest, invocation);
}

/** A refusal is told to whoever asked; everything else went well. */
async function withFolder(
  { path, terminal, flags }: Invocation,
  work: (folder: DataFolder) => Promise<Refusal | null>,
): Promise<number> {
  const folder = openDataFolder(path);
  try {
    const result = await work(folder);
    return isRefusal(result) ? tellRefusal(result, terminal, flags) : EXIT_OK;
  } finally {
    folder.close();
  }
}

function tellRefusal({ code, message, details }: Refusal, terminal: Terminal, { json }: Flags): number {
  if (json) terminal.print(toPrintableJson({ code, message, ...details }, 2));
  terminal.complain(escapeUnprintable(message));
  return EXIT_FAILED;
}

async function runCommand(
  command: Command,
  words: readonly string[],
  invocation: Invocation,
): Promise<number> {
  const { path, flags, terminal, clock } = invocation;
  rejectForeign(command.words, command.flags, words.slice(command.arguments.length), flags);
  const missing = command.arguments.find(
    (name, index) => !name.startsWith('[') && words[index] === undefined,
  );
  if (missing !== undefined) throw new UsageError(`"cloud ${command.words}" needs ${missing}.`);
  if (!command.mayCreate && !hasData(path)) {
    throw new DataFolderError(
      `There is no cloud in ${path}. "cloud key create" makes one; --data says where.`,
    );
  }
  return withFolder(invocation, async ({ shelf, signingKey, airgapKey }) => {
    const { readSecret } = terminal;
    const now = clock.readWallMs();
    const result = await command.run({ shelf, signingKey, airgapKey, words, flags, now, readSecret });
    if (isRefusal(result)) return result;
    terminal.print(flags.json ? toPrintableJson(result, 2) : command.show(result as never));
    if (!flags.json && command.scan !== undefined)
      showQrCode(command.scan(result as never), flags.qr, terminal);
    return null;
  });
}

const COMMON_FLAGS: readonly string[] = ['data', 'json', 'help', 'version'];

/** A flag that a command does not know would do nothing, and nobody would notice. */
function rejectForeign(name: string, own: readonly FlagName[], extra: readonly string[], flags: Flags): void {
  if (extra[0] !== undefined) throw new UsageError(`"${extra[0]}" is one word too many.`);
  const foreign = Object.keys(flags).find(
    (flag) => !COMMON_FLAGS.includes(flag) && !own.includes(flag as FlagName),
  );
  if (foreign !== undefined) throw new UsageError(`"cloud ${name}" takes no --${foreign}.`);
}

function findCommand(words: readonly string[]): { command: Command; rest: readonly string[] } {
  for (const length of [2, 1]) {
    const command = COMMANDS.find((candidate) => candidate.words === words.slice(0, length).join(' '));
    if (command !== undefined) return { command, rest: words.slice(length) };
  }
  const said = words.slice(0, 2).join(' ');
  throw new UsageError(`Unknown command "${said}".${suggest(said, NAMES)}`);
}

function parse(argv: readonly string[]): { words: readonly string[]; flags: Flags } {
  try {
    const { values, positionals } = parseArgs({
      args: [...argv],
      options: FLAGS,
      allowPositionals: true,
    });
    return { words: positionals, flags: values as Flags };
  } catch (error) {
    throw new UsageError(explainFlagError(error, Object.keys(FLAGS)));
  }
}
