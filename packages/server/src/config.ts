import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { MOST_LICENSE_BYTES } from '@berth/protocol/carried/license-size';
import { explainFileError } from '@berth/protocol/console/explain-file-error';
import { suggest } from '@berth/protocol/console/suggest';
import { parseYaml } from './parse-yaml.ts';
import { SETTINGS, type Setting, type SettingEntry, type Value } from './settings.ts';

type HeadOf<Path extends string> = Path extends `${infer Section}.${string}` ? Section : Path;

type ValueOf<E> = E extends { default: readonly unknown[]; oneOf: readonly (infer Word)[] }
  ? readonly Word[]
  : E extends { default: readonly unknown[] }
    ? readonly string[]
    : E extends { oneOf: readonly (infer Word)[] }
      ? Word
      : E extends { default: number }
        ? number
        : E extends { default: boolean }
          ? boolean
          : string;

/** Everything that can be set, frozen at start: `cloud.url` of the table is `config.cloud.url`. */
export type Config = {
  readonly [Head in HeadOf<SettingEntry['path']>]: Head extends SettingEntry['path']
    ? ValueOf<Extract<SettingEntry, { path: Head }>>
    : {
        readonly [E in SettingEntry as E['path'] extends `${Head}.${infer Name}` ? Name : never]: ValueOf<E>;
      };
};

/** How the command line finds the running server: names in the data folder, and the header of its token. */
export const CONTROL = { socket: 'berth.sock', file: 'control.json', header: 'x-berth-control' } as const;

/** Bounds that are not meant to be changed, each with its reason. */
export const LIMITS = {
  /** A v4 body has a few hundred bytes. */
  bodyBytes: 64 * 1024,
  /**
   * Where a body is or holds a license file: the largest file is a third larger than its license, because it
   * is base64, and a client that escapes every "/" in JSON adds a quarter of that.
   */
  fileBodyBytes: 2 * MOST_LICENSE_BYTES,
  /**
   * A body that is too large is read this far, so that the client hears why instead of a broken connection.
   */
  discardBytes: 4 * 1024 * 1024,
  /** Ten thousand names have some hundred thousand bytes. */
  rulesBytes: 1024 * 1024,
  /**
   * Whatever is slow holds a connection; honest clients need milliseconds. What is slow is seen at the next
   * look, and gets a moment to hear why it is cut: all in all, it does not live longer than 15 s.
   */
  handshakeTimeoutMs: 10_000,
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 11_000,
  /** From the connection to its first request, with the handshake. */
  firstRequestTimeoutMs: 11_000,
  /** An answer of which nothing is taken. */
  readTimeoutMs: 10_000,
  farewellMs: 1000,
  /** Connections that wait to be let in. With too few, clients that come all at once are turned away. */
  waitingConnections: 4096,
  /** How often slow connections are looked for. */
  connectionCheckMs: 1000,
  /** An idle connection is kept this long for the client's next heartbeat. */
  keepAliveTimeoutMs: 75_000,
  /** How many addresses the limit of requests remembers; the one that was silent longest is forgotten. */
  countedAddresses: 50_000,
  /** What a stop waits for before it cuts connections. */
  drainTimeoutMs: 10_000,
  /** Scrypt takes a core and memory for each password. */
  passwordChecksAtOnce: 2,
  /** The last of them waits for about ten seconds; beyond that a client is better told to come again. */
  passwordChecksWaiting: 256,
  /** Rows of one page of a listing. */
  pageRows: 1000,
} as const;

/** A setting that cannot be used; the message says which, and what is allowed. */
export class ConfigError extends Error {}

export interface ConfigSources {
  readonly flags: Readonly<Record<string, string | boolean | undefined>>;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The file named by `--config`, or `null` to take `berth.yaml` in `home` if it is there. */
  readonly file: string | null;
  /** Where the default data folder and `berth.yaml` are, and what paths in that file start from. */
  readonly home?: string;
}

export interface LoadedConfig {
  readonly config: Config;
  /** Things that are odd but no reason to stop. */
  readonly warnings: readonly string[];
}

/** The settings as they may be shown: of those that hold a secret, only what is none. */
export function showConfig(config: Config): Config {
  const values = SETTINGS.map(({ path, show }) => {
    const value = readSetting(config, path);
    return [path, show === undefined || value === '' ? value : show(String(value))] as const;
  });
  return nest(values) as unknown as Config;
}

/** Those that are not as they are by default, by their names; where the data is goes without saying. */
export function listChanged(config: Config): Readonly<Record<string, Value>> {
  const shown = showConfig(config);
  const entries = SETTINGS.map(
    ({ path, default: usual }) => [path, readSetting(shown, path), usual] as const,
  );
  const changed = entries.filter(
    ([path, value, usual]) => path !== 'data' && JSON.stringify(value) !== JSON.stringify(usual),
  );
  return Object.fromEntries(changed.map(([path, value]) => [path, value]));
}

function readSetting(config: Config, path: string): Value {
  return path.split('.').reduce<unknown>((value, name) => (value as never)[name], config) as Value;
}

export function flagOf(path: string): string {
  return path.replace(/[.]/g, '-').replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

export function envOf(path: string): string {
  return `BERTH_${flagOf(path).replace(/-/g, '_').toUpperCase()}`;
}

/** Flags over environment over file over defaults. */
export function loadConfig({ flags, env, file, home = '.' }: ConfigSources): LoadedConfig {
  const fromFile = readConfigFile(file ?? resolve(home, DEFAULT_FILE), file === null);
  const values = SETTINGS.map((setting) => {
    const named = flags[flagOf(setting.path)] ?? env[envOf(setting.path)];
    const given = named ?? fromFile.get(setting.path);
    const value = given === undefined ? setting.default : check(setting, given);
    // What somebody types is meant from the folder they are in; what belongs to the installation is not.
    const isOfHome = named === undefined && (given === undefined || file === null);
    return [setting.path, isOfHome && isPath(setting, value) ? resolve(home, String(value)) : value] as const;
  });
  const config = nest(values) as unknown as Config;
  checkTls(config.tls);
  const warnings = [...findUnknownVariables(env), ...findSecretFlags(flags)];
  return { config: { ...config, data: resolve(config.data) }, warnings };
}

/** Everybody on the machine can read a command line. */
function findSecretFlags(flags: ConfigSources['flags']): readonly string[] {
  if (!HIDDEN_CREDENTIALS.test(String(flags['database-url'] ?? ''))) return [];
  return [
    'The password of the database stands on the command line, which everybody on this machine can read. ' +
      'Put it into BERTH_DATABASE_URL or into berth.yaml.',
  ];
}

function check(setting: Setting, given: unknown): Value {
  if (Array.isArray(setting.default)) return checkList(setting, given);
  const wanted = typeof setting.default;
  const value = wanted === 'string' ? given : coerce(wanted, given);
  if (typeof value !== wanted || !isAllowed(setting, value as Value)) {
    const what = setting.form === undefined ? `be "${given}"` : 'be what it is';
    throw new ConfigError(`"${setting.path}" cannot ${what}. ${allowedOf(setting)}`);
  }
  if (setting.form === undefined && HIDDEN_CREDENTIALS.test(String(value))) {
    throw new ConfigError(`"${setting.path}" must not hold a user name or a password.`);
  }
  return value as Value;
}

function checkTls({ cert, key, clientCa }: Config['tls']): void {
  if ((cert === '') !== (key === '')) {
    throw new ConfigError('"tls.cert" and "tls.key" belong together: set both, or neither for plain HTTP.');
  }
  if (clientCa !== '' && cert === '') {
    throw new ConfigError('"tls.clientCa" needs TLS: set "tls.cert" and "tls.key" too.');
  }
}

/** A list in the file; words with commas between them in a flag or a variable. */
function checkList(setting: Setting, given: unknown): readonly string[] {
  const words = typeof given === 'string' ? given.split(',').map((word) => word.trim()) : given;
  if (!Array.isArray(words) || !words.every((word) => typeof word === 'string')) {
    throw new ConfigError(`"${setting.path}" cannot be "${given}". ${allowedOf(setting)}`);
  }
  const list = words.filter((word) => word !== '');
  const wrong = list.find(
    (word) => setting.oneOf?.includes(word) === false || setting.each?.isValid(word) === false,
  );
  if (wrong === undefined) return list;
  throw new ConfigError(`"${setting.path}" cannot hold "${wrong}". ${allowedOf(setting)}`);
}

/** Settings are shown; whoever puts credentials into an address would find them there. */
const HIDDEN_CREDENTIALS = /^[a-z]+:\/\/[^/?#]*@/i;

function coerce(wanted: string, given: unknown): unknown {
  if (typeof given !== 'string') return given;
  if (wanted === 'number') return /^\d+$/.test(given) ? Number(given) : given;
  return given === 'true' ? true : given === 'false' ? false : given;
}

function isAllowed({ default: usual, oneOf, from, to, form }: Setting, value: Value): boolean {
  if (form !== undefined) return value === usual || form.isValid(String(value));
  if (oneOf !== undefined) return oneOf.includes(String(value));
  if (typeof value !== 'number') return value !== '' || usual === '';
  return Number.isInteger(value) && value >= (from ?? 0) && value <= (to ?? Number.MAX_SAFE_INTEGER);
}

function allowedOf(setting: Setting): string {
  if (setting.form !== undefined) return `Allowed: ${setting.form.called}.`;
  if (setting.oneOf !== undefined) return `Allowed: ${setting.oneOf.join(', ')}.`;
  if (typeof setting.default === 'number')
    return `Allowed: whole numbers from ${setting.from} to ${setting.to}.`;
  if (typeof setting.default === 'boolean') return 'Allowed: true, false.';
  if (Array.isArray(setting.default)) return `Allowed: a list of ${setting.each?.called ?? 'words'}.`;
  return 'It must not be empty.';
}

const DEFAULT_FILE = 'berth.yaml';

/** Empty is no path: it leaves something out. */
function isPath(setting: Setting, value: Value): boolean {
  return value !== '' && setting.isPath?.(String(value)) === true;
}

function readConfigFile(file: string, mayBeMissing: boolean): Map<string, unknown> {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if (mayBeMissing && (error as NodeJS.ErrnoException).code === 'ENOENT') return new Map();
    throw new ConfigError(`The settings cannot be read. ${explainFileError(file, error, 'read')}`);
  }
  return flatten(parseConfigText(text, file), file);
}

function parseConfigText(text: string, file: string): unknown {
  try {
    return parseYaml(text) ?? {};
  } catch (error) {
    throw new ConfigError(`The configuration file ${file} is not valid YAML: ${(error as Error).message}`);
  }
}

/**
 * Nested sections and dotted names are the same; an unknown name is an error, because a typo must not be
 * silent.
 */
function flatten(document: unknown, file: string): Map<string, unknown> {
  const values = new Map<string, unknown>();
  const visit = (value: unknown, path: string) => {
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
      for (const [key, item] of Object.entries(value)) visit(item, path === '' ? key : `${path}.${key}`);
    } else if (path === '')
      throw new ConfigError(`The configuration file ${file} must hold names and values.`);
    else values.set(path, value);
  };
  visit(document, '');
  const known = SETTINGS.map(({ path }) => path);
  for (const path of values.keys()) {
    if (!known.includes(path))
      throw new ConfigError(`${file}: unknown setting "${path}".${suggest(path, known)}`);
  }
  return values;
}

/** Secrets are no settings: nothing that shows the settings may know them. */
const SECRET_VARIABLES = ['BERTH_MASTER_KEY', 'BERTH_MASTER_KEY_FILE', 'BERTH_WEBHOOKS_SECRET'];

/** Read by the launcher and by our own tests. */
const OTHER_VARIABLES = [
  'BERTH_CALLED_AS',
  'BERTH_FUZZ_REQUESTS',
  'BERTH_MODEL_RUNS',
  'BERTH_MODEL_SEED',
  'BERTH_REPORTS',
  'BERTH_SEED',
  'BERTH_TEST_DATABASE_URL',
];

/** Variables with our prefix that nobody reads: most likely a typo, but an orchestrator may set such too. */
function findUnknownVariables(env: ConfigSources['env']): readonly string[] {
  const known = [...SETTINGS.map(({ path }) => envOf(path)), ...SECRET_VARIABLES];
  return Object.keys(env)
    .filter((name) => name.startsWith('BERTH_') && ![...known, ...OTHER_VARIABLES].includes(name))
    .map((name) => `The environment variable ${name} is unknown.${suggest(name, known)}`);
}

function nest(values: readonly (readonly [string, Value])[]): Record<string, unknown> {
  const config: Record<string, unknown> = {};
  for (const [path, value] of values) {
    const [section, name] = path.split('.') as [string, string | undefined];
    if (name === undefined) config[section] = value;
    else config[section] = { ...(config[section] as object | undefined), [name]: value };
  }
  return config;
}
