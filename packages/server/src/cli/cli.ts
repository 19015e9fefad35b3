import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { showQrCode } from '@berth/protocol/carried/qr-code';
import {
  type CommandLine,
  explainUsage,
  readCommandLine,
  readFlags,
  UsageError,
} from '@berth/protocol/console/command-line';
import { toReadable } from '@berth/protocol/console/console-text';
import {
  type CallOf,
  createCallOf,
  type Hints,
  rewriteHints,
  withHints,
} from '@berth/protocol/console/hints';
import { escapeUnprintable, toPrintableJson } from '@berth/protocol/hidden-characters';
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
import { InputError } from './read-secrets.ts';
import { type StartServer, serve } from './serve.ts';
import type { Terminal } from './terminal.ts';
import { describeSettings, ENTRIES, type Entry, MEANINGS } from './usage.ts';

/** What the command line needs from the rest of the server; `compose.ts` provides it. */
export interface CliDependencies {
  /** How the caller starts the program, such as `./berth`; hints use it. */
  readonly program: string;
  /** The folder with the default data folder and settings file. */
  readonly home: string;
  readonly terminal: Terminal;
  readonly version: string;
  readonly startServer: StartServer;
  openStoppedServer(config: Config, env: NodeJS.ProcessEnv): Promise<StoppedServer | null>;
  importMasterKey(
    options: { config: Config; env: NodeJS.ProcessEnv },
    text: string,
    passphrase: string,
  ): Promise<string>;
  moveStore(options: { config: Config; env: NodeJS.ProcessEnv }, direction: MoveDirection): Promise<object>;
  /** Describes the process that uses a data folder. */
  describeHolder(folder: string): string;
  /** Whether the message alone explains the error; any other error is a bug and is shown with its stack. */
  isExpected(error: unknown): boolean;
}

const NAMES = ENTRIES.map(({ words }) => words);

const EXIT_OK = 0;
const EXIT_FAILED = 1;
const EXIT_USAGE = 2;

/** Runs one command and returns its exit code: 0 done, 1 refused or failed, 2 wrong usage. */
export async function runCli(argv: readonly string[], deps: CliDependencies): Promise<number> {
  const line = createLine(deps);
  const { data = process.env.BERTH_DATA, config } = readFlags(line, argv);
  const callOf = createCallOf(deps.program, { data: absolute(data), config: absolute(config) });
  const hints = { name: 'berth', commands: NAMES, callOf };
  const terminal = withHints(deps.terminal, hints);
  try {
    return await dispatch(argv, line, { ...deps, terminal, hints });
  } catch (error) {
    if (error instanceof UsageError) {
      // The text already names the program.
      deps.terminal.complain(explainUsage(line, argv, error));
      return EXIT_USAGE;
    }
    const isExpected =
      error instanceof ConfigError ||
      error instanceof ServerUnreachable ||
      error instanceof InputError ||
      deps.isExpected(error);
    terminal.fail(isExpected ? (error as Error).message : describeBug(error));
    return error instanceof ConfigError ? EXIT_USAGE : EXIT_FAILED;
  }
}

/** The user may type a hint in another folder, or in a shell without our variables. */
function absolute(path: unknown): string | undefined {
  return typeof path === 'string' && path !== '' ? resolve(path) : undefined;
}

function describeBug(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

async function dispatch(
  argv: readonly string[],
  line: CommandLine<Entry>,
  deps: CliDependencies & { readonly hints: Hints },
): Promise<number> {
  const { terminal, hints, home } = deps;
  const read = readCommandLine(line, argv);
  if (read.kind === 'page') {
    terminal.print(read.text);
    return read.isAsked ? EXIT_OK : EXIT_USAGE;
  }
  const { words } = read;
  const { command } = read.command;
  const flags = read.flags as Flags;
  const file = (flags.config as string | undefined) ?? null;
  const loaded = loadConfig({ flags, env: process.env, file, home });
  if (command === null) {
    return serve({
      ...loaded,
      demo: flags.demo === true,
      demoCloud: flags['demo-cloud'] === true,
      start: deps.startServer,
      rewrite: (text) => rewriteHints(text, hints),
      connect: (config) => connect(config, deps),
      terminal,
      json: flags.json === true,
    });
  }
  const { config, warnings } = loaded;
  for (const warning of warnings) terminal.warn(warning);
  const open = () => connect(config, deps);
  const importMasterKey = (text: string, passphrase: string) =>
    deps.importMasterKey({ config, env: process.env }, text, passphrase);
  const moveStore = (direction: MoveDirection) => deps.moveStore({ config, env: process.env }, direction);
  const invocation = { words, flags, config, callOf: hints.callOf, importMasterKey, moveStore };
  return runCommand(command, invocation, open, terminal);
}

function connect(config: Config, deps: CliDependencies): Promise<AdminClient> {
  return connectAdmin(config, () => deps.openStoppedServer(config, process.env), deps.describeHolder);
}

interface Invocation extends Omit<LocalContext, 'lines' | 'flags'> {
  readonly flags: Flags;
  readonly callOf: CallOf;
}

async function runCommand(
  command: Command,
  { words, flags, callOf, ...context }: Invocation,
  open: () => Promise<AdminClient>,
  terminal: Terminal,
): Promise<number> {
  const own = flags as CommandFlags;
  if ('follow' in command) {
    const follow = (client: AdminClient) =>
      command.follow({
        client,
        flags: own,
        isJson: flags.json === true,
        screen: terminal.screen,
        print: terminal.print,
        note: terminal.complain,
      });
    return reportFailure(await withClient(open, follow), flags, terminal) ?? EXIT_OK;
  }
  const prompts = command.reads?.(own) ?? [];
  const early = await precheck(command, words, own, open);
  const lines = early === null ? await terminal.readSecrets(prompts) : [];
  const answer = early ?? (await answerWith(command, { ...context, words, flags: own, lines }, open));
  const failure = reportFailure(answer, flags, terminal);
  if (failure !== null) return failure;
  const isFailure = command.isFailure?.(answer.body) === true;
  const show = () => command.show(toReadable(answer.body, terminal.screen) as never, callOf);
  if (answer.isPrinted !== true) {
    terminal.print(flags.json === true ? toPrintableJson(answer.body, 2) : show());
    if (flags.json !== true && command.scan !== undefined)
      showQrCode(command.scan(answer.body as never), flags.qr as boolean | undefined, terminal);
  } else if (isFailure) {
    terminal.fail(show());
  }
  return isFailure ? EXIT_FAILED : EXIT_OK;
}

function reportFailure({ ok, body }: AdminAnswer, flags: Flags, terminal: Terminal): number | null {
  if (ok) return null;
  if (flags.json === true) terminal.print(toPrintableJson(body, 2));
  terminal.fail(escapeUnprintable((body as { message: string }).message));
  return EXIT_FAILED;
}

async function precheck(
  command: Exclude<Command, FollowingCommand>,
  words: readonly string[],
  flags: CommandFlags,
  open: () => Promise<AdminClient>,
): Promise<AdminAnswer | null> {
  if (command.precheck === undefined) return null;
  return withClient(open, async (client) => command.precheck?.(client, words, flags) ?? null);
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

type Flags = Readonly<Record<string, string | boolean | undefined>>;

/** Flags of commands; those of settings come from their table. */
const COMMAND_FLAGS = {
  help: { type: 'boolean', short: 'h' },
  version: { type: 'boolean', short: 'v' },
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
  'dry-run': { type: 'boolean' },
  yes: { type: 'boolean' },
} as const;

const SETTING_FLAGS = Object.fromEntries(
  SETTINGS.map(({ path, default: value }) => [
    flagOf(path),
    { type: typeof value === 'boolean' ? ('boolean' as const) : ('string' as const) },
  ]),
);

/** What every command takes. */
const COMMON_FLAGS = ['help', 'version', 'json', 'config', ...Object.keys(SETTING_FLAGS)];

function createLine({ version, program }: CliDependencies): CommandLine<Entry> {
  return {
    program,
    version: `berth ${version}`,
    commands: ENTRIES,
    options: { ...SETTING_FLAGS, ...COMMAND_FLAGS },
    allowNegative: true,
    takes: ({ usage }, flag) => COMMON_FLAGS.includes(flag) || usage.split(/[^\w-]/).includes(`--${flag}`),
    ...MEANINGS,
    topics: { settings: { about: 'lists the settings', describe: describeSettings } },
    note:
      'Every command takes --json, --data DIR and the other settings as flags ' +
      `("${program} help settings"),\n` +
      'and works with the server running or stopped; "key import" and "migrate-store" need it stopped,\n' +
      '"events" running.',
    parse: (config) => parseArgs(config) as ReturnType<CommandLine<Entry>['parse']>,
  };
}
