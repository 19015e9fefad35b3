import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parse as parseYaml } from 'yaml';

/** Everything that can be set, frozen at start. Units stand at the end of the names. */
export interface Config {
  readonly host: string;
  readonly port: number;
  readonly data: string;
  readonly hardwareId: string;
  readonly rules: string;
  readonly cloud: {
    readonly url: string;
    readonly publicKey: string;
    readonly checkMinutes: number;
    readonly reportSeconds: number;
    readonly timeoutSeconds: number;
    readonly settleSeconds: number;
  };
  readonly airgap: { readonly publicKey: string; readonly acceptUnsignedPolicies: boolean };
  readonly auth: {
    readonly localAdmin: 'setup' | 'always' | 'never';
    readonly clients: 'open' | 'required';
    readonly requireTls: boolean;
    readonly throttleSignIns: boolean;
  };
  readonly http: {
    readonly maxConnections: number;
    readonly maxConnectionsPerAddress: number;
    readonly allowKeysInUrl: boolean;
  };
  readonly log: {
    readonly level: 'debug' | 'info' | 'warn' | 'error';
    readonly format: 'auto' | 'json' | 'text';
    readonly requests: boolean;
    readonly slowRequestMs: number;
  };
  readonly sweeper: { readonly intervalSeconds: number };
  readonly notices: { readonly expiryDays: number; readonly cloudMinutes: number };
  readonly webhooks: {
    readonly url: string;
    readonly events: readonly WebhookTopic[];
    readonly secretFile: string;
  };
}

type WebhookTopic = (typeof WEBHOOK_TOPICS)[number];

const WEBHOOK_TOPICS = ['slot_denied', 'license_expiring', 'cloud_unreachable', 'clock_jumped'] as const;

type Value = string | number | boolean | readonly string[];

interface Setting {
  readonly path: string;
  readonly default: Value;
  readonly about: string;
  /** The words that are allowed, or the range of a number. */
  readonly oneOf?: readonly string[];
  readonly from?: number;
  readonly to?: number;
}

/** Every setting with its default, its bounds and a sentence. */
export const SETTINGS: readonly Setting[] = [
  { path: 'host', default: '127.0.0.1', about: 'Address to listen on.' },
  { path: 'port', default: 8080, from: 0, to: 65535, about: 'Port to listen on; 0 takes a free one.' },
  { path: 'data', default: './data', about: 'Folder that holds everything the server keeps.' },
  {
    path: 'hardwareId',
    default: '',
    about: "What the vendor knows this server as; left empty, it is made from the data and the machine's id.",
  },
  {
    path: 'rules',
    default: '',
    about: 'The file that says who is barred; left empty, rules.yaml in the data folder, if it is there.',
  },
  {
    path: 'cloud.url',
    default: '',
    about: "Where the vendor's licensing cloud is; left empty, the server works alone.",
  },
  {
    path: 'cloud.publicKey',
    default: '',
    about: 'The public key that its answers are signed with: a PEM file, or the text of one.',
  },
  {
    path: 'cloud.checkMinutes',
    default: 60,
    from: 1,
    to: 7 * 24 * 60,
    about: 'How often licenses are checked there.',
  },
  {
    path: 'cloud.reportSeconds',
    default: 60,
    from: 1,
    to: 24 * 60 * 60,
    about: 'How often consumption is reported there.',
  },
  {
    path: 'cloud.timeoutSeconds',
    default: 15,
    from: 1,
    to: 120,
    about: 'How long one exchange with it may take.',
  },
  {
    path: 'cloud.settleSeconds',
    default: 30,
    from: 0,
    to: 24 * 60 * 60,
    about: 'How long a report without an answer waits before the total there is looked at.',
  },
  {
    path: 'airgap.publicKey',
    default: '',
    about: "What the vendor's confirmation codes are signed with: base64 of the two numbers of the key.",
  },
  {
    path: 'airgap.acceptUnsignedPolicies',
    default: false,
    about: 'Whether a policy file needs no signature; whoever carries it can then change what it grants.',
  },
  {
    path: 'auth.localAdmin',
    default: 'setup',
    oneOf: ['setup', 'always', 'never'],
    about: 'Whether a caller on this machine may administrate without credentials.',
  },
  {
    path: 'auth.clients',
    default: 'open',
    oneOf: ['open', 'required'],
    about: 'Whether applications have to show a token or a client certificate.',
  },
  {
    path: 'auth.requireTls',
    default: false,
    about: 'Whether nobody is signed in over plain HTTP.',
  },
  {
    path: 'auth.throttleSignIns',
    default: true,
    about: 'Whether wrong passwords slow down whoever sends them; switch it off only to measure.',
  },
  { path: 'http.maxConnections', default: 10000, from: 1, to: 100000, about: 'Open connections in all.' },
  {
    path: 'http.maxConnectionsPerAddress',
    default: 2000,
    from: 1,
    to: 100000,
    about: 'Open connections from one address.',
  },
  {
    path: 'http.allowKeysInUrl',
    default: true,
    about: 'Whether GET setKeys takes keys in its URL; POST takes them in its body anyway.',
  },
  {
    path: 'log.level',
    default: 'info',
    oneOf: ['debug', 'info', 'warn', 'error'],
    about: 'The least severe lines that are written.',
  },
  {
    path: 'log.format',
    default: 'auto',
    oneOf: ['auto', 'json', 'text'],
    about: 'How lines look; auto is text on a terminal and JSON elsewhere.',
  },
  { path: 'log.requests', default: false, about: 'Write a line for every request, successful ones too.' },
  {
    path: 'log.slowRequestMs',
    default: 1000,
    from: 1,
    to: 600000,
    about: 'A request that takes longer is written to the log.',
  },
  {
    path: 'sweeper.intervalSeconds',
    default: 30,
    from: 0,
    to: 3600,
    about: 'How often ended slots are tidied away; 0 switches it off, and no answer changes by it.',
  },
  {
    path: 'notices.expiryDays',
    default: 14,
    from: 1,
    to: 365,
    about: 'How long before a license ends it is told of, in the audit log and to the webhook.',
  },
  {
    path: 'notices.cloudMinutes',
    default: 15,
    from: 1,
    to: 7 * 24 * 60,
    about: 'How long the licensing cloud has to be away before it is told of.',
  },
  {
    path: 'webhooks.url',
    default: '',
    about: 'Where events are sent to; left empty, nowhere. It needs a secret, too.',
  },
  {
    path: 'webhooks.events',
    default: WEBHOOK_TOPICS,
    oneOf: WEBHOOK_TOPICS,
    about: 'What is sent there.',
  },
  {
    path: 'webhooks.secretFile',
    default: '',
    about: 'A file with the secret that events are signed with; BERTH_WEBHOOKS_SECRET is the secret itself.',
  },
];

/** Bounds that are not meant to be changed, each with its reason. */
export const LIMITS = {
  /** A v4 body has a few hundred bytes. */
  bodyBytes: 64 * 1024,
  /** A license file has some thousand bytes; the form around it a few hundred. */
  uploadBytes: 1024 * 1024,
  /**
   * A body that is too large is read this far, so that the client hears why instead of a broken connection.
   */
  discardBytes: 2 * 1024 * 1024,
  /** Ten thousand names have some hundred thousand bytes. */
  rulesBytes: 1024 * 1024,
  /** Slow headers and bodies hold a connection; honest clients need milliseconds. */
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 15_000,
  /** How often slow connections are looked for. */
  connectionCheckMs: 1000,
  /** An idle connection is kept this long for the client's next heartbeat. */
  keepAliveTimeoutMs: 75_000,
  /** What a stop waits for before it cuts connections. */
  drainTimeoutMs: 10_000,
  /** Scrypt takes a core and memory for each password. */
  passwordChecksAtOnce: 2,
  passwordChecksWaiting: 32,
  /** Rows of one page of a listing. */
  pageRows: 1000,
} as const;

/** A setting that cannot be used; the message says which, and what is allowed. */
export class ConfigError extends Error {}

export interface ConfigSources {
  readonly flags: Readonly<Record<string, string | boolean | undefined>>;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The file named by `--config`, or `null` to take `./berth.yaml` if it is there. */
  readonly file: string | null;
}

export interface LoadedConfig {
  readonly config: Config;
  /** Things that are odd but no reason to stop. */
  readonly warnings: readonly string[];
}

export function flagOf(path: string): string {
  return path.replace(/[.]/g, '-').replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

export function envOf(path: string): string {
  return `BERTH_${flagOf(path).replace(/-/g, '_').toUpperCase()}`;
}

/** Flags over environment over file over defaults. */
export function loadConfig({ flags, env, file }: ConfigSources): LoadedConfig {
  const fromFile = readConfigFile(file);
  const values = SETTINGS.map((setting) => {
    const given = flags[flagOf(setting.path)] ?? env[envOf(setting.path)] ?? fromFile.get(setting.path);
    return [setting.path, given === undefined ? setting.default : check(setting, given)] as const;
  });
  const config = nest(values) as unknown as Config;
  return { config: { ...config, data: resolve(config.data) }, warnings: findUnknownVariables(env) };
}

function check(setting: Setting, given: unknown): Value {
  if (Array.isArray(setting.default)) return checkList(setting, given);
  const wanted = typeof setting.default;
  const value = wanted === 'string' ? given : coerce(wanted, given);
  if (typeof value !== wanted || !isAllowed(setting, value as Value)) {
    throw new ConfigError(`"${setting.path}" cannot be "${given}". ${allowedOf(setting)}`);
  }
  if (HIDDEN_CREDENTIALS.test(String(value))) {
    throw new ConfigError(`"${setting.path}" must not hold a user name or a password.`);
  }
  return value as Value;
}

/** A list in the file; words with commas between them in a flag or a variable. */
function checkList(setting: Setting, given: unknown): readonly string[] {
  const words = typeof given === 'string' ? given.split(',').map((word) => word.trim()) : given;
  if (!Array.isArray(words) || !words.every((word) => typeof word === 'string')) {
    throw new ConfigError(`"${setting.path}" cannot be "${given}". ${allowedOf(setting)}`);
  }
  const list = words.filter((word) => word !== '');
  const wrong = list.find((word) => setting.oneOf?.includes(word) === false);
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

function isAllowed({ default: usual, oneOf, from, to }: Setting, value: Value): boolean {
  if (oneOf !== undefined) return oneOf.includes(String(value));
  if (typeof value !== 'number') return value !== '' || usual === '';
  return Number.isInteger(value) && value >= (from ?? 0) && value <= (to ?? Number.MAX_SAFE_INTEGER);
}

function allowedOf(setting: Setting): string {
  if (setting.oneOf !== undefined) return `Allowed: ${setting.oneOf.join(', ')}.`;
  if (typeof setting.default === 'number')
    return `Allowed: whole numbers from ${setting.from} to ${setting.to}.`;
  if (typeof setting.default === 'boolean') return 'Allowed: true, false.';
  if (Array.isArray(setting.default)) return 'Allowed: a list of words.';
  return 'It must not be empty.';
}

const DEFAULT_FILE = 'berth.yaml';

function readConfigFile(file: string | null): Map<string, unknown> {
  let text: string;
  try {
    text = readFileSync(file ?? DEFAULT_FILE, 'utf8');
  } catch (error) {
    if (file === null && (error as NodeJS.ErrnoException).code === 'ENOENT') return new Map();
    throw new ConfigError(
      `The configuration file ${file ?? DEFAULT_FILE} cannot be read: ${(error as Error).message}`,
    );
  }
  return flatten(parseConfigText(text, file ?? DEFAULT_FILE), file ?? DEFAULT_FILE);
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

/** Variables with our prefix that nobody reads: most likely a typo, but an orchestrator may set such too. */
function findUnknownVariables(env: ConfigSources['env']): readonly string[] {
  const known = [...SETTINGS.map(({ path }) => envOf(path)), ...SECRET_VARIABLES];
  return Object.keys(env)
    .filter((name) => name.startsWith('BERTH_') && !known.includes(name))
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

/** " Did you mean …?", or nothing when nothing is near. */
export function suggest(word: string, known: readonly string[]): string {
  const ranked = known.map((name) => ({ name, distance: distance(word.toLowerCase(), name.toLowerCase()) }));
  const best = ranked.sort((a, b) => a.distance - b.distance)[0];
  return best !== undefined && best.distance <= Math.max(2, word.length / 3)
    ? ` Did you mean "${best.name}"?`
    : '';
}

/** How many letters have to be changed to turn one word into the other. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const substitution = (row[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(substitution, (row[j] as number) + 1, (next[j - 1] as number) + 1));
    }
    row = next;
  }
  return row[b.length] as number;
}
