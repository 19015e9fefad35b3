import { parseArgs } from 'node:util';
import { explainFlagError } from '@berth/protocol/explain-flag-error';
import { escapeUnprintable, toPrintableJson } from '@berth/protocol/hidden-characters';
import { showQrCode } from '@berth/protocol/qr-code';
import { suggest } from '@berth/protocol/suggest';
import { type Config, ConfigError, flagOf, loadConfig } from '../config.ts';
import { SETTINGS } from '../settings.ts';
import {
  type AdminAnswer,
  type AdminClient,
  connectAdmin,
  ServerUnreachable,
  type StoppedServer,
} from './admin-client.ts';
import type {
  Command,
  Flags as CommandFlags,
  FollowingCommand,
  LocalContext,
  MoveDirection,
} from './command.ts';
import { COMMANDS } from './commands.ts';
import { InputError } from './read-secrets.ts';
import { type StartServer, serve } from './serve.ts';
import { processTerminal, type Terminal } from './terminal.ts';
import { usage } from './usage.ts';

/** What the command line needs from the house; handed in, so that it can be wired in one place. */
export interface CliDependencies {
  readonly version: string;
  readonly startServer: StartServer;
  openStoppedServer(config: Config, env: NodeJS.ProcessEnv): Promise<StoppedServer | null>;
  importMasterKey(
    options: { config: Config; env: NodeJS.ProcessEnv },
    text: string,
    passphrase: string,
  ): Promise<string>;
  moveStore(options: { config: Config; env: NodeJS.ProcessEnv }, direction: MoveDirection): Promise<object>;
  /** An error whose message says all that a person needs; any other is a bug, and told with its stack. */
  isExpected(error: unknown): boolean;
}

/** Wrong words; the message says which. */
class UsageError extends Error {}

/** The commands by their names. */
const NAMES = ['serve', ...COMMANDS.map((command) => command.words)];

const EXIT_OK = 0;
const EXIT_FAILED = 1;
const EXIT_USAGE = 2;

/** Runs one command and answers its exit code: 0 done, 1 refused or failed, 2 wrong words. */
export async function runCli(argv: readonly string[], deps: CliDependencies): Promise<number> {
  const terminal = processTerminal;
  try {
    return await dispatch(argv, deps, terminal);
  } catch (error) {
    if (error instanceof UsageError) {
      terminal.complain(`${error.message}\n`);
      terminal.complain(usage(COMMANDS));
      return EXIT_USAGE;
    }
    const isExpected =
      error instanceof ConfigError ||
      error instanceof ServerUnreachable ||
      error instanceof InputError ||
      deps.isExpected(error);
    terminal.complain(isExpected ? (error as Error).message : describeBug(error));
    return error instanceof ConfigError ? EXIT_USAGE : EXIT_FAILED;
  }
}

function describeBug(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

async function dispatch(argv: readonly string[], deps: CliDependencies, terminal: Terminal): Promise<number> {
  const { words, flags } = parse(argv);
  if (flags.version === true) {
    terminal.print(`berth ${deps.version}`);
    return EXIT_OK;
  }
  if (flags.help === true || words.length === 0) {
    terminal.print(usage(COMMANDS));
    return words.length === 0 && flags.help !== true ? EXIT_USAGE : EXIT_OK;
  }
  const loaded = loadConfig({ flags, env: process.env, file: (flags.config as string | undefined) ?? null });
  if (words[0] === 'serve') {
    rejectExtra(words.slice(1), 'serve');
    rejectForeignFlags(flags, '--demo --demo-cloud', 'serve');
    return serve({
      ...loaded,
      demo: flags.demo === true,
      demoCloud: flags['demo-cloud'] === true,
      start: deps.startServer,
      connect: (config) => connect(config, deps),
      terminal,
      json: flags.json === true,
    });
  }
  const { command, rest } = findCommand(words);
  const { config } = loaded;
  const open = () => connect(config, deps);
  const importMasterKey = (text: string, passphrase: string) =>
    deps.importMasterKey({ config, env: process.env }, text, passphrase);
  const moveStore = (direction: MoveDirection) => deps.moveStore({ config, env: process.env }, direction);
  return runCommand(command, { words: rest, flags, config, importMasterKey, moveStore }, open, terminal);
}

function connect(config: Config, deps: CliDependencies): Promise<AdminClient> {
  return connectAdmin(config, () => deps.openStoppedServer(config, process.env));
}

interface Invocation extends Omit<LocalContext, 'lines' | 'flags'> {
  readonly flags: Flags;
}

async function runCommand(
  command: Command,
  { words, flags, ...context }: Invocation,
  open: () => Promise<AdminClient>,
  terminal: Terminal,
): Promise<number> {
  const given = words.slice(0, command.arguments.length);
  rejectExtra(words.slice(command.arguments.length), command.words);
  rejectForeignFlags(flags, command.flags, command.words);
  for (const [index, name] of command.arguments.entries()) {
    if (given[index] !== undefined || name.startsWith('[')) continue;
    throw new UsageError(`"berth ${command.words}" needs ${name}.`);
  }
  const own = flags as CommandFlags;
  if ('follow' in command) {
    const follow = (client: AdminClient) =>
      command.follow({ client, flags: own, isJson: flags.json === true, print: terminal.print });
    return reportFailure(await withClient(open, follow), flags, terminal) ?? EXIT_OK;
  }
  const lines = await terminal.readSecrets(command.reads?.(own) ?? []);
  const answer = await answerWith(command, { ...context, words: given, flags: own, lines }, open);
  const failure = reportFailure(answer, flags, terminal);
  if (failure !== null) return failure;
  const isFailure = command.isFailure?.(answer.body) === true;
  if (answer.isPrinted !== true) {
    terminal.print(flags.json === true ? toPrintableJson(answer.body, 2) : command.show(answer.body));
    if (flags.json !== true && command.scan !== undefined)
      showQrCode(command.scan(answer.body), flags.qr as boolean | undefined, terminal);
  } else if (isFailure) {
    terminal.complain(command.show(answer.body));
  }
  return isFailure ? EXIT_FAILED : EXIT_OK;
}

function reportFailure({ ok, body }: AdminAnswer, flags: Flags, terminal: Terminal): number | null {
  if (ok) return null;
  if (flags.json === true) terminal.print(toPrintableJson(body, 2));
  terminal.complain(escapeUnprintable((body as { message: string }).message));
  return EXIT_FAILED;
}

function answerWith(
  command: Exclude<Command, FollowingCommand>,
  context: LocalContext,
  open: () => Promise<AdminClient>,
): Promise<AdminAnswer> {
  const { words, flags, lines } = context;
  if (!('ask' in command)) return command.local(context);
  if ('local' in command && command.isLocal(flags)) return command.local(context);
  return withClient(open, (client) => command.ask(client, words, flags, lines));
}

async function withClient<T>(open: () => Promise<AdminClient>, work: (client: AdminClient) => Promise<T>) {
  const client = await open();
  try {
    return await work(client);
  } finally {
    await client.close();
  }
}

function rejectExtra(words: readonly string[], command: string): void {
  if (words.length === 0) return;
  const longer = NAMES.filter((name) => name.startsWith(`${command} `));
  throw new UsageError(`"${words[0]}" is one word too many.${suggest(`${command} ${words[0]}`, longer)}`);
}

/** A flag that a command does not know would do nothing, and nobody would notice. */
function rejectForeignFlags(flags: Flags, own: string, command: string): void {
  const foreign = OWN_FLAGS.find((name) => flags[name] !== undefined && !own.includes(`--${name}`));
  if (foreign !== undefined) throw new UsageError(`"berth ${command}" takes no --${foreign}.`);
}

function findCommand(words: readonly string[]): { command: Command; rest: readonly string[] } {
  for (const length of [2, 1]) {
    const command = COMMANDS.find((candidate) => candidate.words === words.slice(0, length).join(' '));
    if (command !== undefined) return { command, rest: words.slice(length) };
  }
  throw new UsageError(`Unknown command "${words.join(' ')}".${suggest(words.slice(0, 2).join(' '), NAMES)}`);
}

type Flags = Readonly<Record<string, string | boolean | undefined>>;

/** Flags of commands; those of settings come from their table. */
const COMMAND_FLAGS = {
  help: { type: 'boolean', short: 'h' },
  version: { type: 'boolean' },
  json: { type: 'boolean' },
  demo: { type: 'boolean' },
  config: { type: 'string' },
  product: { type: 'string' },
  user: { type: 'string' },
  address: { type: 'string' },
  'license-id': { type: 'string' },
  system: { type: 'boolean' },
  limit: { type: 'string' },
  after: { type: 'string' },
  before: { type: 'string' },
  file: { type: 'string' },
  'new-key': { type: 'boolean' },
  role: { type: 'string' },
  days: { type: 'string' },
  'one-time': { type: 'boolean' },
  'license-key': { type: 'string' },
  'policy-id': { type: 'string' },
  'confirmation-code': { type: 'string' },
  deactivate: { type: 'boolean' },
  out: { type: 'string' },
  locally: { type: 'boolean' },
  'accept-older': { type: 'boolean' },
  'accept-unbound': { type: 'boolean' },
  counted: { type: 'boolean' },
  'not-counted': { type: 'boolean' },
  'demo-cloud': { type: 'boolean' },
  qr: { type: 'boolean' },
} as const;

/** Those that only some commands take. */
const OWN_FLAGS = [
  'demo',
  'demo-cloud',
  'product',
  'user',
  'address',
  'license-id',
  'license-key',
  'policy-id',
  'confirmation-code',
  'deactivate',
  'out',
  'locally',
  'accept-older',
  'accept-unbound',
  'counted',
  'not-counted',
  'system',
  'limit',
  'after',
  'before',
  'file',
  'new-key',
  'role',
  'days',
  'one-time',
  'qr',
] as const;

function parse(argv: readonly string[]): { words: readonly string[]; flags: Flags } {
  const settings = SETTINGS.map(({ path, default: value }) => [
    flagOf(path),
    { type: typeof value === 'boolean' ? ('boolean' as const) : ('string' as const) },
  ]);
  const options = { ...Object.fromEntries(settings), ...COMMAND_FLAGS };
  try {
    const { values, positionals } = parseArgs({
      args: [...argv],
      options,
      allowPositionals: true,
      // A setting that is on by default can be switched off: --no-NAME.
      allowNegative: true,
    });
    return { words: positionals, flags: values as Flags };
  } catch (error) {
    throw new UsageError(explainFlagError(error, Object.keys(options)));
  }
}
