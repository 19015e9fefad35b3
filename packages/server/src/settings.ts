import { parseRange } from '@berth/protocol/address-range';
import { LOG_FORMATS, LOG_LEVELS } from '@berth/protocol/console/log-line';
import { isDatabaseUrl, showDatabaseUrl } from './core/nouns/database-url.ts';
import { WEBHOOK_TOPICS, type WebhookTopic } from './core/nouns/webhook-topics.ts';

export type Value = string | number | boolean | readonly string[];

export interface Setting {
  readonly path: string;
  readonly default: Value;
  readonly about: string;
  /** The words that are allowed, or the range of a number. */
  readonly oneOf?: readonly string[];
  /** What the words of a list are. */
  readonly each?: { readonly called: string; isValid(word: string): boolean };
  readonly from?: number;
  readonly to?: number;
  /** What a text has to look like, where not every one is taken. Empty is what it is by default. */
  readonly form?: { readonly called: string; isValid(text: string): boolean };
  /** Whether this value of it names a file or a folder. */
  readonly isPath?: (text: string) => boolean;
  /** It holds a secret, and this much of it may be shown. */
  readonly show?: (text: string) => string;
}

/** What a browser sends as `Origin`; those of apps and extensions have schemes of their own. */
function isOrigin(word: string): boolean {
  if (word.includes('*')) return false;
  if (/^https?:/.test(word)) return URL.canParse(word) && new URL(word).origin === word;
  return !/^(?:file|ftp|wss?):/.test(word) && /^[a-z][a-z\d+.-]*:\/\/[a-z\d._-]+(:\d+)?$/.test(word);
}

const always = () => true;

const TOPICS = Object.keys(WEBHOOK_TOPICS) as readonly WebhookTopic[];

const TABLE = [
  { path: 'host', default: '127.0.0.1', about: 'Address to listen on.' },
  { path: 'port', default: 8080, from: 0, to: 65535, about: 'Port to listen on; 0 takes a free one.' },
  {
    path: 'data',
    default: './data',
    isPath: always,
    about: 'Folder that holds everything the server keeps; beside a database, its key and its socket.',
  },
  {
    path: 'database.url',
    default: '',
    form: {
      called:
        'postgres://USER:PASSWORD@HOST:PORT/DATABASE, in which a "/", "?", "#" or "@" of the password is ' +
        'written as %2F, %3F, %23 or %40',
      isValid: isDatabaseUrl,
    },
    show: showDatabaseUrl,
    about: 'The PostgreSQL database that several servers share; left empty, SQLite in the data folder.',
  },
  {
    path: 'database.connections',
    default: 10,
    from: 4,
    to: 100,
    about: 'The most connections to that database that this server opens.',
  },
  {
    path: 'database.prepareStatements',
    default: true,
    about: 'Whether statements are prepared there; switch it off behind a pooler that cannot do that.',
  },
  {
    path: 'database.maxBatch',
    default: 256,
    from: 1,
    to: 1000,
    about: 'The most requests about one product that share a transaction there.',
  },
  {
    path: 'hardwareId',
    default: '',
    about: "What the vendor knows this server as; left empty, it is made from the data and the machine's id.",
  },
  {
    path: 'rules',
    default: '',
    isPath: always,
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
    // The text of a key is longer than the paths of people.
    isPath: (text) => !text.includes('\n') && text.length < 200,
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
  {
    path: 'limits.slotsPerAddress',
    default: 0,
    from: 0,
    to: 1000000,
    about: 'Slots of one license that requests from one address may hold; 0 is without a limit.',
  },
  {
    path: 'limits.borrowsPerAddress',
    default: 0,
    from: 0,
    to: 1000000,
    about: 'How many of those may be borrowed; 0 is without a limit.',
  },
  {
    path: 'users.ignoreCase',
    default: false,
    about:
      'Whether users whose names differ only in case are one; slots keep the spelling they were lent to.',
  },
  { path: 'http.maxConnections', default: 10000, from: 1, to: 100000, about: 'Open connections in all.' },
  {
    path: 'http.maxConnectionsPerAddress',
    default: 2000,
    from: 1,
    to: 100000,
    about: 'Open connections from one address; those of trusted proxies are not counted.',
  },
  {
    path: 'http.clientRequestsPerMinute',
    default: 0,
    from: 0,
    to: 1000000,
    about: 'Requests of applications from one address; 0 is without a limit.',
  },
  {
    path: 'http.trustedProxies',
    default: [],
    each: {
      called: 'addresses and ranges, such as 10.0.0.5 or 10.0.0.0/8',
      isValid: (word) => parseRange(word) !== null,
    },
    about: 'Proxies that are believed when they say whom they speak for (X-Forwarded-For, Forwarded).',
  },
  {
    path: 'http.allowedOrigins',
    default: [],
    each: {
      called:
        'origins as browsers write them, such as https://app.example.com or http://localhost:3000: in small ' +
        'letters, without a path or a slash at the end, and each by itself, not "*"',
      isValid: isOrigin,
    },
    about: 'Whose web pages may ask for slots and count consumption, beside programs.',
  },
  {
    path: 'http.allowedHosts',
    default: [],
    each: {
      called: 'host names such as licenses.example.com, without a port; addresses are always allowed',
      isValid: (word) => /^[a-z\d_-]+(\.[a-z\d_-]+)*\.?$/i.test(word),
    },
    about:
      'Names under which browsers may use this server, beside localhost, the name of the machine and those ' +
      'in its TLS certificate.',
  },
  {
    path: 'http.allowKeysInUrl',
    default: true,
    about: 'Whether GET setKeys takes keys in its URL; POST takes them in its body anyway.',
  },
  {
    path: 'tls.cert',
    default: '',
    isPath: always,
    about: 'The certificate with its chain, a PEM file; empty is plain HTTP.',
  },
  {
    path: 'tls.key',
    default: '',
    isPath: always,
    about: 'The private key of the certificate, a PEM file.',
  },
  {
    path: 'tls.clientCa',
    default: '',
    isPath: always,
    about: 'Whose certificates of clients are believed, a PEM file; left empty, none is asked for.',
  },
  {
    path: 'log.level',
    default: 'info',
    oneOf: LOG_LEVELS,
    about: 'The least severe lines that are written.',
  },
  {
    path: 'log.format',
    default: 'auto',
    oneOf: LOG_FORMATS,
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
    about:
      'How many days before a license or a token ends it is told of, in the audit log and to the webhook.',
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
    // To many receivers of webhooks, their address is a secret.
    show: (url) => `${new URL(url).origin}/…`,
    about: 'Where events are sent to; left empty, nowhere. It needs a secret, too.',
  },
  {
    path: 'webhooks.events',
    default: TOPICS,
    oneOf: TOPICS,
    about: 'What is sent there.',
  },
  {
    path: 'webhooks.secretFile',
    default: '',
    isPath: always,
    about: 'A file with the secret that events are signed with; BERTH_WEBHOOKS_SECRET is the secret itself.',
  },
] as const satisfies readonly Setting[];

/** Every setting with its default, its bounds and a sentence. */
export const SETTINGS: readonly Setting[] = TABLE;

/** The same as types, which `Config` is made from. */
export type SettingEntry = (typeof TABLE)[number];
