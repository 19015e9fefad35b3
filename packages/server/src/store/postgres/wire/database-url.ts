import { isIP } from 'node:net';

/** How far the database must prove who it is: that its certificate is known, and is for its name. */
export type Proof = 'none' | 'certificate' | 'certificate_and_name';

export type Encryption =
  | { readonly kind: 'off' }
  /** Encrypts if the database can; whoever is between the two can say that it cannot. */
  | { readonly kind: 'if_offered' }
  /** `authorities`: a file with the certificates to trust; null for those that the machine trusts. */
  | { readonly kind: 'always'; readonly proof: Proof; readonly authorities: string | null };

/** Where a database is, and as whom to speak to it. */
export interface DatabaseTarget {
  /** A name, an address, or the folder of a socket. */
  readonly host: string;
  readonly port: number;
  readonly user: string;
  /** Null: none is written in the URL. */
  readonly password: string | null;
  readonly database: string;
  readonly encryption: Encryption;
  /** What the session starts with, such as `options`. */
  readonly startup: Readonly<Record<string, string>>;
}

const DEFAULT_PORT = 5432;
const EXAMPLE = 'postgres://berth:PASSWORD@db.example:5432/berth';

/** What a URL may say behind its question mark. Anything else would be a wish that nobody heard. */
const PARAMETERS = ['sslmode', 'sslrootcert', 'application_name', 'options'];
const SSL_MODES = ['disable', 'prefer', 'require', 'verify-ca', 'verify-full'];

/** Takes URLs as the other programs of PostgreSQL do. What is wrong is said without its password. */
export function parseDatabaseUrl(text: string): DatabaseTarget {
  const url = parseUrl(text);
  const parameters = readParameters(url);
  const host = requirePart(decode(url.hostname.replace(/^\[(.*)\]$/, '$1')), 'host');
  return {
    host,
    port: url.port === '' ? DEFAULT_PORT : Number(url.port),
    user: requirePart(decode(url.username), 'user'),
    password: url.password === '' ? null : decode(url.password),
    database: requirePart(decode(url.pathname.slice(1)), 'database'),
    encryption: readEncryption(host, parameters),
    startup: {
      application_name: parameters.get('application_name') ?? 'berth',
      ...(parameters.has('options') ? { options: parameters.get('options') as string } : {}),
    },
  };
}

/** For people and logs: nothing in it is secret. */
export function describeUrl(text: string): string {
  try {
    return describeTarget(parseDatabaseUrl(text));
  } catch {
    return 'a database URL that cannot be read';
  }
}

export function describeTarget({ user, host, port, database }: DatabaseTarget): string {
  const place = isSocketFolder(host) ? encodeURIComponent(host) : isIP(host) === 6 ? `[${host}]` : host;
  return `postgres://${encodeURIComponent(user)}@${place}:${port}/${encodeURIComponent(database)}`;
}

/** Sockets of this machine are named by their folder: `postgres://berth@%2Frun%2Fpostgresql/berth`. */
export function isSocketFolder(host: string): boolean {
  return host.startsWith('/');
}

function parseUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !['postgres:', 'postgresql:'].includes(url.protocol))
    throw new Error(
      `The database URL cannot be read. Write it like ${EXAMPLE}, with one host, and with ` +
        'special characters of the password percent-encoded.',
    );
  return url;
}

function readParameters(url: URL): ReadonlyMap<string, string> {
  const parameters = new Map<string, string>();
  for (const [name, value] of url.searchParams) {
    if (!PARAMETERS.includes(name))
      throw new Error(
        `The database URL has the parameter '${name}', which Berth does not know. ` +
          `It knows ${PARAMETERS.join(', ')}.`,
      );
    if (parameters.has(name)) throw new Error(`The database URL has the parameter '${name}' twice.`);
    parameters.set(name, value);
  }
  return parameters;
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw new Error("The database URL has a '%' that does not begin a code. Write %25 for it.");
  }
}

function requirePart(value: string, what: string): string {
  if (value === '') throw new Error(`The database URL names no ${what}. Write it like ${EXAMPLE}.`);
  return value;
}

/**
 * Where the URL says nothing, what stays on this machine goes in plain, and everything else is encrypted. Of
 * who is at the other end there is no proof then, since a database usually has a certificate that nobody
 * knows; whoever names the authority gets the proof. Falling back to plain by itself, as other programs do,
 * would let anybody between the two read along.
 */
function readEncryption(host: string, parameters: ReadonlyMap<string, string>): Encryption {
  const authorities = parameters.get('sslrootcert');
  const mode = parameters.get('sslmode') ?? chooseMode(host, authorities);
  if (!SSL_MODES.includes(mode))
    throw new Error(
      `The database URL has sslmode=${mode}, which Berth does not know. It knows ${SSL_MODES.join(', ')}.`,
    );
  if (mode === 'disable' || mode === 'prefer') {
    if (authorities !== undefined)
      throw new Error(`The database URL has sslmode=${mode}, which leaves sslrootcert without effect.`);
    return { kind: mode === 'disable' ? 'off' : 'if_offered' };
  }
  const file = authorities === undefined || authorities === 'system' ? null : authorities;
  return { kind: 'always', proof: readProof(mode, authorities), authorities: file };
}

function chooseMode(host: string, authorities: string | undefined): string {
  if (authorities !== undefined) return 'verify-full';
  return isOnThisMachine(host) ? 'disable' : 'require';
}

/** An authority that is named is asked, also by `require`, as libpq does it. */
function readProof(mode: string, authorities: string | undefined): Proof {
  if (mode === 'verify-full' || authorities === 'system') return 'certificate_and_name';
  return mode === 'verify-ca' || authorities !== undefined ? 'certificate' : 'none';
}

function isOnThisMachine(host: string): boolean {
  return isSocketFolder(host) || host === 'localhost' || host === '::1' || /^127(?:\.\d+){3}$/.test(host);
}
