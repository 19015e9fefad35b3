import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { ROLES } from '@berth/protocol/admin/choices';
import { showQrCode } from '@berth/protocol/carried/qr-code';
import { escapeUnprintable, toPrintableJson } from '@berth/protocol/hidden-characters';
import { type FlagValues, listFlags } from '@berth/shell/console/command-flags';
import type { CommandLine, Given, Origin } from '@berth/shell/console/command-line';
import { type Completed, explainShell, writeCompletion } from '@berth/shell/console/completion';
import { toReadable } from '@berth/shell/console/console-text';
import { type CallOf, type Hints, rewriteHints } from '@berth/shell/console/hints';
import { EXIT_FAILED, EXIT_OK, runCommandLine } from '@berth/shell/console/run-command-line';
import { type Config, ConfigError, type ConfigSources, flagOf, loadConfig } from '../config.ts';
import type { Finding } from '../core/doctor/finding.ts';
import { OPTION_FORMATS } from '../services/rules/import/import-options.ts';
import type { Setting } from '../setting.ts';
import { SETTINGS } from '../settings.ts';
import {
  type AdminAnswer,
  type AdminClient,
  ANSWER_LIMIT_MS,
  connectAdmin,
  type RefusedAnswer,
  ServerUnreachable,
  type StoppedServer,
} from './admin-client.ts';
import {
  type Command,
  FLAGS,
  type Flags,
  type FollowingCommand,
  type LocalContext,
  type MoveDirection,
  type Restored,
  type RestoreRequest,
} from './command.ts';
import { InputError } from './read-secrets.ts';
import type { StartServer } from './serve.ts';
import type { Terminal } from './terminal.ts';
import { CLOUD, COMPLETION, describeSettings, ENTRIES, type Entry, MEANINGS } from './usage.ts';

/** What the command line needs from the rest of the server; `compose.ts` provides it. */
export interface CliBackend {
  readonly version: string;
  readonly startServer: StartServer;
  openStoppedServer(config: Config, env: NodeJS.ProcessEnv): Promise<StoppedServer | null>;
  importMasterKey(
    options: { config: Config; env: NodeJS.ProcessEnv },
    text: string,
    passphrase: string,
  ): Promise<string>;
  moveStore(options: { config: Config; env: NodeJS.ProcessEnv }, direction: MoveDirection): Promise<object>;
  examineSurroundings(options: { config: Config; env: NodeJS.ProcessEnv }): Promise<readonly Finding[]>;
  restoreBackup(
    options: { config: Config; env: NodeJS.ProcessEnv },
    request: RestoreRequest,
  ): Promise<Restored>;
  /** Describes the process that uses a data folder. */
  describeHolder(folder: string): Promise<string>;
  /** Whether the message alone explains the error; any other error is a bug and is shown with its stack. */
  isExpected(error: unknown): Promise<boolean>;
}

export interface CliDependencies extends CliBackend {
  /** How the caller starts the program, such as `./berth`; hints use it. */
  readonly program: string;
  /** The folder with the default data folder and settings file. */
  readonly home: string;
  /** The command line that starts this program again. */
  readonly self: readonly string[];
  readonly findOrigin?: () => Origin | null;
  readonly env: NodeJS.ProcessEnv;
  readonly terminal: Terminal;
  /** How long a running server may say nothing. */
  readonly answerLimitMs?: number;
  /** The commands of the licensing cloud, to be completed as well. */
  readonly loadCloud?: () => Promise<Completed['inner'][string]>;
}

/** Runs one command and returns its exit code. */
export function runCli(argv: readonly string[], deps: CliDependencies): Promise<number> {
  return runCommandLine(argv, {
    line: createLine(deps),
    terminal: deps.terminal,
    carry: ({ data = deps.env.BERTH_DATA, config }) => ({
      data: absolute(data),
      config: absolute(config),
    }),
    run: (given, terminal, hints) => dispatch(given, { ...deps, terminal, hints }),
    isExpected: (error) => isExpected(error, deps),
    isWrongValue: (error) => error instanceof ConfigError,
  });
}

async function isExpected(error: unknown, deps: CliBackend): Promise<boolean> {
  const own = [ConfigError, ServerUnreachable, InputError];
  return own.some((kind) => error instanceof kind) || deps.isExpected(error);
}

/** The user may type a hint in another folder, or in a shell without our variables. */
function absolute(path: unknown): string | undefined {
  return typeof path === 'string' && path !== '' ? resolve(path) : undefined;
}

async function dispatch(
  { command: entry, words, flags: given }: Given<Entry>,
  deps: CliDependencies & { readonly hints: Hints },
): Promise<number> {
  const { terminal, hints, home, env } = deps;
  const flags = given as Flags;
  if (entry === COMPLETION) return complete(words[0] ?? '', deps);
  const { command } = entry;
  const sources = {
    flags: withoutOwn(command, given) as ConfigSources['flags'],
    env,
    file: flags.config ?? null,
    home,
  };
  const loaded = loadConfig(sources);
  if (command === null) {
    const { serve } = await import('./serve.ts');
    return serve({
      ...loaded,
      env,
      demo: flags.demo === true,
      demoCloud: flags['demo-cloud'] === true,
      testClock: flags['test-clock'] === true,
      self: deps.self,
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
    deps.importMasterKey({ config, env }, text, passphrase);
  const moveStore = (direction: MoveDirection) => deps.moveStore({ config, env }, direction);
  const invocation = {
    words,
    flags,
    config,
    self: deps.self,
    callOf: hints.callOf,
    importMasterKey,
    moveStore,
    restoreBackup: (request: RestoreRequest) => deps.restoreBackup({ config, env }, request),
    version: deps.version,
    open,
    explain: async (error: unknown) => {
      if (!(await isExpected(error, deps))) throw error;
      return (error as Error).message;
    },
    examineSurroundings: () => deps.examineSurroundings({ config, env }),
  };
  return runCommand(command, invocation, open, terminal);
}

/** A flag that the usage of a command names is the command's own, and no setting. */
function withoutOwn(command: Command | null, flags: FlagValues): FlagValues {
  const own = command === null ? [] : listFlags(command.usage ?? '');
  return Object.fromEntries(Object.entries(flags).filter(([name]) => !own.includes(name)));
}

function connect(config: Config, deps: CliDependencies): Promise<AdminClient> {
  const { describeHolder, answerLimitMs: limitMs = ANSWER_LIMIT_MS } = deps;
  const openStopped = () => deps.openStoppedServer(config, deps.env);
  return connectAdmin({ config, openStopped, describeHolder, limitMs });
}

interface Invocation extends Omit<LocalContext, 'lines'> {
  readonly callOf: CallOf;
}

async function runCommand(
  command: Command,
  { words, flags, callOf, ...context }: Invocation,
  open: () => Promise<AdminClient>,
  terminal: Terminal,
): Promise<number> {
  if ('follow' in command) {
    const follow = (client: AdminClient) =>
      command.follow({
        client,
        flags,
        isJson: flags.json === true,
        screen: terminal.screen,
        print: terminal.print,
        note: terminal.complain,
      });
    const end = await withClient(open, follow);
    return end.ok ? EXIT_OK : reportFailure(end, flags, terminal);
  }
  const prompts = command.reads?.(flags) ?? [];
  const early = await precheck(command, words, flags, open);
  const lines = early === null ? await terminal.readSecrets(prompts) : [];
  const answer = early ?? (await answerWith(command, { ...context, words, flags, lines }, open));
  if (!answer.ok) return reportFailure(answer, flags, terminal);
  const isFailure = command.isFailure?.(answer.body as never) === true;
  const show = () => command.show(toReadable(answer.body, terminal.screen) as never, callOf, flags);
  if (answer.isPrinted !== true) {
    terminal.print(flags.json === true ? toPrintableJson(answer.body, 2) : show());
    if (flags.json !== true && command.note !== undefined) {
      terminal.complain(command.note(toReadable(answer.body, terminal.screen) as never));
    }
    if (flags.json !== true && command.scan !== undefined)
      showQrCode(command.scan(answer.body as never), flags.qr, terminal);
  } else if (isFailure) {
    terminal.fail(show());
  }
  return isFailure ? EXIT_FAILED : EXIT_OK;
}

function reportFailure({ body }: RefusedAnswer, flags: Flags, terminal: Terminal): number {
  if (flags.json === true) terminal.print(toPrintableJson(body, 2));
  terminal.fail(escapeUnprintable(body.message));
  return EXIT_FAILED;
}

async function precheck(
  command: Exclude<Command, FollowingCommand>,
  words: readonly string[],
  flags: Flags,
  open: () => Promise<AdminClient>,
): Promise<RefusedAnswer | null> {
  if (command.precheck === undefined) return null;
  return withClient(open, async (client) => command.precheck?.(client, words, flags) ?? null);
}

/** Input that cannot be used is refused like what the server refuses. */
function answerWith(...args: Parameters<typeof askWith>): Promise<AdminAnswer<unknown>> {
  return askWith(...args).catch((error) => {
    if (error instanceof InputError) return { ok: false, body: { message: error.message } };
    throw error;
  });
}

async function askWith(
  command: Exclude<Command, FollowingCommand>,
  context: LocalContext,
  open: () => Promise<AdminClient>,
): Promise<AdminAnswer<unknown>> {
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

const SETTING_FLAGS = Object.fromEntries(
  SETTINGS.map(({ path, default: value }) => [
    flagOf(path),
    { type: typeof value === 'boolean' ? ('boolean' as const) : ('string' as const) },
  ]),
);

async function complete(shell: string, { loadCloud, terminal }: CliDependencies): Promise<number> {
  const script = writeCompletion(shell, {
    name: 'berth',
    commands: ENTRIES,
    options: { ...SETTING_FLAGS, ...FLAGS },
    flagsBeside: ({ words }) => (TAKES_SETTINGS.includes(words) ? COMMON_FLAGS : EVERYDAY_FLAGS),
    choices: { role: ROLES, format: OPTION_FORMATS, ...SETTING_CHOICES },
    inner: loadCloud === undefined ? {} : { [CLOUD.words]: await loadCloud() },
  });
  if (script === null) throw new InputError(explainShell(shell));
  terminal.print(script);
  return EXIT_OK;
}

/** Every command takes all settings, but only these need more than to find the data. */
const TAKES_SETTINGS = ['serve', 'config', 'service install'];
const EVERYDAY_FLAGS = ['json', 'data', 'config', 'help'];
const COMMON_FLAGS = ['help', 'version', 'json', 'config', ...Object.keys(SETTING_FLAGS)];

const SETTING_CHOICES = Object.fromEntries(
  SETTINGS.flatMap(({ path, oneOf }: Setting) => (oneOf === undefined ? [] : [[flagOf(path), oneOf]])),
);

function createLine({ version, findOrigin, program, home }: CliDependencies): CommandLine<Entry> {
  return {
    program,
    name: 'berth',
    version,
    findOrigin,
    commands: ENTRIES,
    options: { ...SETTING_FLAGS, ...FLAGS },
    allowNegative: true,
    commonFlags: COMMON_FLAGS,
    ...MEANINGS,
    others: [CLOUD],
    topics: { settings: { about: 'lists the settings', describe: describeSettings } },
    note:
      'Every command takes --json, --data DIR and the other settings as flags ' +
      `("${program} help settings"),\n` +
      'and works with the server running or stopped; "key import", "migrate-store" and "restore" need it\n' +
      'stopped, "events" running.\n\n' +
      `Unless set otherwise, the data is in ${resolve(home, 'data')}.\n` +
      `Relative paths in ${resolve(home, 'berth.yaml')} start in its folder.`,
    parse: (config) => parseArgs(config) as ReturnType<CommandLine<Entry>['parse']>,
  };
}
