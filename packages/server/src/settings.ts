import { parseRange } from '@berth/protocol/address-range';
import { findCodeKeyFault, findKeyFault } from '@berth/protocol/carried/judge-key';
import { LOG_FORMATS, LOG_LEVELS } from '@berth/shell/console/log-line';
import { AUTH_SETTINGS } from './auth-settings.ts';
import { parseSchedule, SCHEDULE_FORM } from './core/nouns/backup-schedule.ts';
import { isDatabaseUrl, showDatabaseUrl } from './core/nouns/database-url.ts';
import { explainUnfit } from './core/nouns/user-name.ts';
import { EVENT_SETTINGS } from './event-settings.ts';
import { type Bounded, isOrigin, type Setting } from './setting.ts';

const always = () => true;

const TABLE = [
  { path: 'host', default: '127.0.0.1', about: 'Address to listen on.' },
  { path: 'port', default: 8080, from: 0, to: 65535, about: 'Port to listen on; 0 picks a free one.' },
  {
    path: 'data',
    default: './data',
    isPath: always,
    isWritten: true,
    about: 'Folder for all data of the server; with PostgreSQL, only for its key and its socket.',
  },
  {
    path: 'database.url',
    default: '',
    form: {
      called:
        'postgres://USER:PASSWORD@HOST:PORT/DATABASE, where "/", "?", "#" and "@" in the password are ' +
        'written as %2F, %3F, %23 and %40',
      hasCredentials: true,
      isValid: isDatabaseUrl,
    },
    show: showDatabaseUrl,
    about: 'PostgreSQL database, which several servers can share; if empty, SQLite in the data folder.',
  },
  {
    path: 'database.connections',
    default: 10,
    from: 4,
    to: 100,
    about: 'Maximum number of connections to the database.',
  },
  {
    path: 'database.prepareStatements',
    default: true,
    about: 'Whether to prepare statements; turn it off behind a pooler that does not support this.',
  },
  {
    path: 'hardwareId',
    default: '',
    about: "Id of this server at the vendor; if empty, derived from the data and the machine's id.",
  },
  {
    path: 'page.name',
    isLive: true,
    default: '',
    findFault: (value) => {
      const problem = explainUnfit(String(value));
      return problem === null ? null : `"page.name" ${problem}.`;
    },
    about: "Name of this server on the administrator's page, such as that of the company.",
  },
  {
    path: 'page.logo',
    default: '',
    isPath: always,
    about: "Image for the administrator's page: an SVG, PNG or JPEG file of at most 100 kB.",
  },
  {
    path: 'rules',
    default: '',
    isPath: always,
    about: 'File with the rules of who gets slots; if empty, rules.yaml in the data folder, if it exists.',
  },
  {
    path: 'cloud.url',
    default: '',
    about: "URL of the vendor's licensing cloud; if empty, the server does not use one.",
  },
  {
    path: 'cloud.publicKey',
    default: [],
    isLive: true,
    findFault: findKeyFault,
    // The text of a key is longer than a usual path.
    isPath: (text) => !text.includes('\n') && text.length < 200,
    about: 'Public keys that verify what the vendor signs, usually one: PEM files, or their text.',
  },
  {
    path: 'cloud.checkMinutes',
    default: 60,
    from: 1,
    to: 7 * 24 * 60,
    about: 'How often to check licenses at the licensing cloud.',
  },
  {
    path: 'cloud.reportSeconds',
    default: 60,
    from: 1,
    to: 24 * 60 * 60,
    about: 'How often to report consumption to the licensing cloud.',
  },
  {
    path: 'cloud.timeoutSeconds',
    default: 15,
    from: 1,
    to: 120,
    about: 'How long a request to the licensing cloud may take.',
  },
  {
    path: 'airgap.publicKey',
    default: '',
    isLive: true,
    findFault: findCodeKeyFault,
    about: "Public key that verifies the vendor's confirmation codes: the base64 of its two numbers.",
  },
  {
    path: 'airgap.acceptUnsignedPolicies',
    default: false,
    about: 'Whether to accept unsigned policy files; anyone who handles one can change what it grants.',
  },
  {
    path: 'auth.localAdmin',
    default: 'setup',
    oneOf: ['setup', 'always', 'never'],
    about: 'Whether local callers may administer the server without credentials.',
  },
  {
    path: 'auth.clients',
    default: 'open',
    oneOf: ['open', 'required'],
    about: 'Whether applications need a token or a client certificate.',
  },
  {
    path: 'auth.secondFactor',
    default: 'optional',
    oneOf: ['optional', 'required'],
    about: 'Whether people with an account need a second factor; without one, they can only set it up.',
  },
  {
    path: 'auth.localAccounts',
    default: 'everywhere',
    oneOf: ['everywhere', 'emergency'],
    about:
      'Where accounts with the roles viewer, operator and admin work; with emergency, only on the ' +
      'machine itself.',
  },
  { path: 'auth.requireTls', default: false, about: 'Whether to refuse sign-ins over plain HTTP.' },
  ...AUTH_SETTINGS,
  {
    path: 'limits.newSlotsPerHour',
    isLive: true,
    default: 20000,
    from: 0,
    to: 1000000000,
    about: 'Maximum number of new slots and borrows per address in an hour; 0 means no limit.',
  },
  {
    path: 'lending.maxWaiting',
    isLive: true,
    default: 5000,
    from: 0,
    to: 50000,
    about:
      'Maximum number of clients that wait in line for a slot, at most half of http.maxConnections; 0: none.',
  },
  {
    path: 'lending.holdForRetries',
    isLive: true,
    default: 0,
    from: 0,
    to: 60,
    about: 'For how many seconds clients that only repeat their call are kept a place in the line; 0: not.',
  },
  {
    path: 'users.ignoreCase',
    default: false,
    about: 'Whether user names ignore case; slots keep the spelling of the first request.',
  },
  {
    path: 'http.maxConnections',
    default: 10000,
    from: 1,
    to: 100000,
    about: 'Maximum number of open connections.',
  },
  {
    path: 'http.maxConnectionsPerAddress',
    default: 2000,
    from: 1,
    to: 100000,
    about: 'Maximum number of open connections per address, except trusted proxies.',
  },
  {
    path: 'http.clientRequestsPerMinute',
    isLive: true,
    default: 0,
    from: 0,
    to: 1000000,
    about: 'Maximum number of application requests per address; 0 means no limit.',
  },
  {
    path: 'http.trustedProxies',
    default: [],
    each: {
      called: 'addresses and ranges, such as 10.0.0.5 or 10.0.0.0/8',
      isValid: (word) => parseRange(word) !== null,
    },
    about: 'Proxies whose X-Forwarded-For and Forwarded headers are trusted.',
  },
  {
    path: 'http.allowedOrigins',
    default: [],
    each: {
      called:
        'origins as browsers send them, such as https://app.example.com or http://localhost:3000: in lower ' +
        'case, without a path or trailing slash, and without wildcards such as "*"',
      isValid: isOrigin,
    },
    about: 'Origins whose web pages may use the client API.',
  },
  {
    path: 'http.allowedHosts',
    default: [],
    each: {
      called: 'host names such as licenses.example.com, without a port; addresses are always allowed',
      isValid: (word) => /^[a-z\d_-]+(\.[a-z\d_-]+)*\.?$/i.test(word),
    },
    about:
      'Host names under which browsers may use this server, in addition to localhost, the name of the ' +
      'machine and the names in its TLS certificate.',
  },
  {
    path: 'http.allowKeysInUrl',
    default: true,
    about: 'Whether GET setKeys accepts keys in its URL; POST always accepts them in its body.',
  },
  {
    path: 'tls.cert',
    default: '',
    isPath: always,
    about: 'PEM file with the certificate and its chain; if empty, the server uses plain HTTP.',
  },
  {
    path: 'tls.key',
    default: '',
    isPath: always,
    about: 'PEM file with the private key of the certificate.',
  },
  {
    path: 'tls.clientCa',
    default: '',
    isPath: always,
    about: 'PEM file with the CA of client certificates; if empty, the server does not request any.',
  },
  { path: 'log.level', default: 'info', oneOf: LOG_LEVELS, about: 'Lowest level of log lines to write.' },
  {
    path: 'log.format',
    default: 'auto',
    oneOf: LOG_FORMATS,
    about: 'Format of log lines; auto is text on a terminal and JSON elsewhere.',
  },
  { path: 'log.requests', default: false, about: 'Whether to log every request, including successful ones.' },
  {
    path: 'log.slowRequestMs',
    default: 1000,
    from: 1,
    to: 600000,
    about: 'Requests that take longer are logged.',
  },
  {
    path: 'metrics.access',
    default: 'local',
    oneOf: ['local', 'token', 'open'],
    about: 'Who may read /metrics without a token: local callers, nobody (token), or anyone (open).',
  },
  {
    path: 'sweeper.intervalSeconds',
    default: 30,
    from: 0,
    to: 3600,
    about: 'How often to remove ended slots; 0 turns it off. It does not affect answers.',
  },
  {
    path: 'history.keepDays',
    default: 730,
    from: 1,
    to: 3650,
    about: 'How many days the history of use is kept; the audit log does not depend on it.',
  },
  {
    path: 'backup.schedule',
    isLive: true,
    default: '',
    form: { called: SCHEDULE_FORM, isValid: (text) => parseSchedule(text) !== null },
    about: `When to make backups: ${SCHEDULE_FORM}; if empty, never.`,
  },
  {
    path: 'backup.folder',
    isLive: true,
    isGuarded: true,
    default: '',
    isPath: always,
    isWritten: true,
    about: 'Folder for scheduled backups; if empty, backups in the data folder.',
  },
  {
    path: 'backup.keep',
    isLive: true,
    default: 7,
    from: 1,
    to: 10000,
    about: 'How many scheduled backups to keep; older ones are removed.',
  },
  {
    path: 'backup.passphraseFile',
    isLive: true,
    isGuarded: true,
    default: '',
    isPath: always,
    about:
      'File whose first line is a passphrase: scheduled backups then contain the master key, sealed with ' +
      'it, and can be restored on their own.',
  },
  ...EVENT_SETTINGS,
] as const satisfies readonly Bounded[];

/** Every setting with its default, its bounds and its description. */
export const SETTINGS: readonly Setting[] = TABLE;

/** The same as types, which `Config` is made from. */
export type SettingEntry = (typeof TABLE)[number];
