import { readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { suggest } from '@berth/protocol/suggest';
import { explainFileError } from '@berth/shell/files/explain-file-error';
import { hasDatabasePassword } from './core/nouns/database-url.ts';
import { parseYaml } from './parse-yaml.ts';
import type { Setting, Value } from './setting.ts';
import { SETTINGS, type SettingEntry } from './settings.ts';

type Path = SettingEntry['path'];

/** What comes next in the paths that begin with this. */
type NextOf<Before extends string, P = Path> = P extends `${Before}${infer Rest}`
  ? Rest extends `${infer Section}.${string}`
    ? Section
    : Rest
  : never;

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

type Section<Before extends string> = {
  readonly [Name in NextOf<Before>]: `${Before}${Name}` extends Path
    ? ValueOf<Extract<SettingEntry, { path: `${Before}${Name}` }>>
    : Section<`${Before}${Name}.`>;
};

/** Everything that can be set: `cloud.url` of the table is `config.cloud.url`. */
export type Config = Section<''> & {
  /** Where the settings that were given come from; all others have their defaults. */
  readonly sources: SettingSources;
};

type SettingSources = ReadonlyMap<string, SettingSource>;

interface SettingSource {
  readonly kind: 'flag' | 'environment' | 'file';
  /** The flag, the variable or the path of the file. */
  readonly place: string;
}

/** How the command line finds the running server: names in the data folder, and the header of its token. */
export const CONTROL = { socket: 'berth.sock', file: 'control.json', header: 'x-berth-control' } as const;

/** Fixed limits, each with its reason; `@berth/web/limits` has those of connections and bodies. */
export const LIMITS = {
  /** Ten thousand names have some hundred thousand bytes. */
  rulesBytes: 1024 * 1024,
  /** How many addresses the limits of requests and of new slots remember; the oldest is forgotten. */
  countedAddresses: 50_000,
  /** How many licenses and features have a pace for clients that wait; the oldest is forgotten. */
  pacedLicenses: 10_000,
  /** Scrypt needs a core and memory for each password. */
  passwordChecksAtOnce: 2,
  /** The last one waits for about ten seconds; further clients are told to retry. */
  passwordChecksWaiting: 256,
  /** Rows per page of a list. */
  pageRows: 1000,
} as const;

/** An invalid setting; the message says which, and what is allowed. */
export class ConfigError extends Error {}

export interface ConfigSources {
  readonly flags: Readonly<Record<string, string | boolean | undefined>>;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The file named by `--config`, or `null` for `berth.yaml` in `home` if it exists. */
  readonly file: string | null;
  /** The folder of the default data folder and of `berth.yaml`, and the base of paths in that file. */
  readonly home?: string;
}

export interface LoadedConfig {
  readonly config: Config;
  /** Problems that do not prevent a start. */
  readonly warnings: readonly string[];
}

/** The settings without the secrets in them. */
export function showConfig(config: Config): Omit<Config, 'sources'> {
  const values = SETTINGS.map(
    (setting) => [setting.path, showSetting(setting, readSetting(config, setting.path))] as const,
  );
  return nest(values) as Omit<Config, 'sources'>;
}

/** The part of a value that may be shown. */
export function showSetting({ show }: Setting, value: Value): Value {
  return show === undefined || value === '' ? value : show(String(value));
}

/** The settings that differ from their defaults, except the data folder. */
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

export function readSetting(config: Omit<Config, 'sources'>, path: string): Value {
  return path.split('.').reduce<unknown>((value, name) => (value as never)[name], config) as Value;
}

export function flagOf(path: string): string {
  return path.replace(/[.]/g, '-').replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

export function envOf(path: string): string {
  return `BERTH_${flagOf(path).replace(/-/g, '_').toUpperCase()}`;
}

/** Flags override the environment, which overrides the file, which overrides the defaults. */
export function loadConfig({ flags, env, file, home = '.' }: ConfigSources): LoadedConfig {
  refuseTwoSources(env);
  const settingsFile = file ?? resolve(home, DEFAULT_FILE);
  const fromFile = readConfigFile(settingsFile, file === null);
  const sources = new Map<string, SettingSource>();
  const values = SETTINGS.map((setting) => {
    const { path } = setting;
    const found = findGiven(setting, { flags, env, file: settingsFile }, fromFile);
    const value = found === null ? setting.default : checkSetting(setting, found.value);
    if (found !== null) sources.set(path, found.source);
    // Paths from flags and variables are relative to the current folder; those of the installation are not.
    const isOfHome = found === null || (found.source.kind === 'file' && file === null);
    return [path, isOfHome ? resolvePaths(setting, value, home) : value] as const;
  });
  const config = withValues(values, sources);
  checkTls(config.tls);
  const warnings = [
    ...findUnknownVariables(env),
    ...findSecretFlags(flags),
    ...findOpenSecrets(settingsFile, fromFile),
  ];
  return { config: { ...config, data: resolve(config.data) }, warnings };
}

/** The value of a setting, and where it comes from; `null` if it is not given. */
function findGiven(
  setting: Setting,
  { flags, env, file }: Pick<ConfigSources, 'flags' | 'env'> & { readonly file: string },
  fromFile: ReadonlyMap<string, unknown>,
): { readonly value: unknown; readonly source: SettingSource } | null {
  const flag = flagOf(setting.path);
  if (flags[flag] !== undefined) return { value: flags[flag], source: { kind: 'flag', place: `--${flag}` } };
  const variable = readVariable(setting, env);
  if (variable !== undefined) return variable;
  const value = fromFile.get(setting.path);
  return value === undefined ? null : { value, source: { kind: 'file', place: resolve(file) } };
}

/** The variable with the path of a file that contains the value. Only secrets have one. */
export function fileVariableOf({ path, show }: Setting): string | null {
  return show === undefined ? null : `${envOf(path)}${FILE_SUFFIX}`;
}

/** The value of a variable, or of the file that the other variable names. An empty one names no file. */
function readVariable(setting: Setting, env: ConfigSources['env']) {
  const ofFile = fileVariableOf(setting);
  const file = ofFile === null ? '' : (env[ofFile] ?? '');
  const place = ofFile === null || file === '' ? envOf(setting.path) : ofFile;
  const value = place === ofFile ? readValueFile(place, file) : env[place];
  return value === undefined ? undefined : { value, source: { kind: 'environment' as const, place } };
}

/** An empty file must not pass as the default. */
function readValueFile(variable: string, file: string): string {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    const advice = 'Correct the path, or let the user that runs Berth read the file.';
    throw new ConfigError(`${variable}: ${explainFileError(file, error, 'read')} ${advice}`);
  }
  const value = text.replace(/\r?\n$/, '');
  if (value !== '') return value;
  throw new ConfigError(`${variable}: ${file} is empty. Write the value into it.`);
}

/** A secret that is given twice is a mistake: it would be unclear which one is in use. */
function refuseTwoSources(env: ConfigSources['env']): void {
  const isGiven = (name: string) => (env[name] ?? '') !== '';
  for (const file of listKnownVariables().filter((name) => name.endsWith(FILE_SUFFIX) && isGiven(name))) {
    const value = file.slice(0, -FILE_SUFFIX.length);
    if (listKnownVariables().includes(value) && isGiven(value)) {
      throw new ConfigError(`${value} and ${file} are both set. Remove one of them.`);
    }
  }
}

function isSecret({ path, show }: Setting, value: unknown): boolean {
  const text = String(value ?? '');
  return show !== undefined && (path === 'database.url' ? hasDatabasePassword(text) : text !== '');
}

/** Every user of the machine can read command lines. */
function findSecretFlags(flags: ConfigSources['flags']): readonly string[] {
  const found = SETTINGS.filter((setting) => isSecret(setting, flags[flagOf(setting.path)]));
  return found.map(
    (setting) =>
      `A secret is in --${flagOf(setting.path)} on the command line, where every user of this machine can ` +
      `read it. Set it in ${envOf(setting.path)}, in the file that ${fileVariableOf(setting)} names, or in ` +
      'berth.yaml.',
  );
}

const OTHERS_READ = 0o004;

/** The group may be that of the server, whose user does not own the file. */
function findOpenSecrets(file: string, values: ReadonlyMap<string, unknown>): readonly string[] {
  const secret = SETTINGS.find((setting) => isSecret(setting, values.get(setting.path)));
  if (secret === undefined || process.platform === 'win32') return [];
  if ((statSync(file).mode & OTHERS_READ) === 0) return [];
  return [
    `Every user of this machine can read "${secret.path}" in ${file}. Remove that access: chmod 640 ${file}`,
  ];
}

/** The value in the type of its setting. Throws a `ConfigError` that names the setting if it is invalid. */
export function checkSetting(setting: Setting, given: unknown): Value {
  if (Array.isArray(setting.default)) return checkList(setting, given);
  const wanted = typeof setting.default;
  const value = wanted === 'string' ? given : coerce(wanted, given);
  if (typeof value !== wanted || !isAllowed(setting, value as Value)) {
    const what = setting.form === undefined ? `cannot be "${given}"` : 'is not valid';
    throw new ConfigError(`"${setting.path}" ${what}. ${allowedOf(setting)}`);
  }
  if (setting.form?.hasCredentials !== true && HIDDEN_CREDENTIALS.test(String(value))) {
    throw new ConfigError(`"${setting.path}" must not contain a user name or a password.`);
  }
  return value as Value;
}

function checkTls({ cert, key, clientCa }: Config['tls']): void {
  if ((cert === '') !== (key === '')) {
    throw new ConfigError('Set both "tls.cert" and "tls.key", or neither for plain HTTP.');
  }
  if (clientCa !== '' && cert === '') {
    throw new ConfigError('"tls.clientCa" needs TLS: set "tls.cert" and "tls.key" too.');
  }
}

/** A list in the file; a text in a flag or variable. */
function checkList(setting: Setting, given: unknown): readonly string[] {
  const { separator = ',' } = setting;
  const words = typeof given === 'string' ? given.split(separator).map((word) => word.trim()) : given;
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

/** Settings are shown, so addresses must not contain credentials. */
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

/** An empty value is not a path. */
function resolvePaths({ isPath }: Setting, value: Value, home: string): Value {
  if (isPath === undefined || String(value) === '') return value;
  const place = (text: string) => (isPath(text) ? resolve(home, text) : text);
  return Array.isArray(value) ? value.map(place) : place(String(value));
}

function readConfigFile(file: string, mayBeMissing: boolean): Map<string, unknown> {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if (mayBeMissing && (error as NodeJS.ErrnoException).code === 'ENOENT') return new Map();
    throw new ConfigError(`Cannot read the settings. ${explainFileError(file, error, 'read')}`);
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
 * Nested sections and dotted names are equivalent. An unknown name is an error, so that typos are noticed.
 */
function flatten(document: unknown, file: string): Map<string, unknown> {
  const values = new Map<string, unknown>();
  const visit = (value: unknown, path: string) => {
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
      for (const [key, item] of Object.entries(value)) visit(item, path === '' ? key : `${path}.${key}`);
    } else if (path === '')
      throw new ConfigError(`The configuration file ${file} must contain names and values.`);
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

export const FILE_SUFFIX = '_FILE';

/** Secrets are not settings, so code that shows the settings cannot leak them. */
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

function listKnownVariables(): readonly string[] {
  const files = SETTINGS.map(fileVariableOf).filter((name) => name !== null);
  return [...SETTINGS.map(({ path }) => envOf(path)), ...files, ...SECRET_VARIABLES];
}

/** Unused variables with our prefix: most likely typos, but an orchestrator may set some. */
function findUnknownVariables(env: ConfigSources['env']): readonly string[] {
  const known = listKnownVariables();
  return Object.keys(env)
    .filter((name) => name.startsWith('BERTH_') && ![...known, ...OTHER_VARIABLES].includes(name))
    .map((name) => `The environment variable ${name} is unknown.${suggest(name, known)}`);
}

/** The configuration with these values of all settings. */
export function withValues(values: readonly (readonly [string, Value])[], sources: SettingSources): Config {
  return { ...(nest(values) as Omit<Config, 'sources'>), sources };
}

function nest(values: readonly (readonly [string, Value])[]): unknown {
  const config: Record<string, unknown> = {};
  for (const [path, value] of values) {
    const sections = path.split('.');
    const name = sections.pop() as string;
    let place = config;
    for (const section of sections) {
      place[section] ??= {};
      place = place[section] as Record<string, unknown>;
    }
    place[name] = value;
  }
  return config;
}
