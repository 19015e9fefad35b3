import { isIP } from 'node:net';

/** What the database has to prove: nothing, a trusted certificate, or one for its name as well. */
type Proof = 'none' | 'certificate' | 'certificate_and_name';

export type Encryption =
  | { readonly kind: 'off' }
  /** Encrypts if the database offers it; an attacker in between can claim that it does not. */
  | { readonly kind: 'if_offered' }
  /** `authorities`: a file with certificates to trust; null for those that the machine trusts. */
  | { readonly kind: 'always'; readonly proof: Proof; readonly authorities: string | null };

/** Where a database is, on one of its hosts, and who logs in. */
export interface DatabaseTarget {
  /** A name, an address, or the folder of a Unix socket. */
  readonly host: string;
  readonly port: number;
  readonly user: string;
  /** `null` if the URL has none. */
  readonly password: string | null;
  readonly database: string;
  readonly encryption: Encryption;
  /** Parameters that the session starts with, such as `options`. */
  readonly startup: Readonly<Record<string, string>>;
}

const DEFAULT_PORT = 5432;
const EXAMPLE = 'postgres://berth:PASSWORD@db.example:5432/berth';

/** Query parameters that a URL may have. Others are refused rather than ignored. */
const PARAMETERS = ['sslmode', 'sslrootcert', 'application_name', 'options', 'target_session_attrs'];
const SSL_MODES = ['disable', 'prefer', 'require', 'verify-ca', 'verify-full'];

/** All of them lead to the host that can be written, since Berth can use no other. */
const SESSION_KINDS = ['any', 'read-write', 'primary'];

/** What stands before the hosts, and the hosts. */
const HOSTS = /^([^:/?#]*:\/\/(?:[^@/?#]*@)?)([^@/?#]*)/;

/** Reads a URL with one or more hosts, in their order: `postgres://berth@db1:5432,db2:5432/berth`. */
export function parseDatabaseUrls(text: string): readonly [DatabaseTarget, ...DatabaseTarget[]] {
  const [matched = '', before = '', hosts = ''] = HOSTS.exec(text) ?? [];
  const after = text.slice(matched.length);
  const [first = '', ...others] = hosts.split(',');
  const read = (host: string) => parseDatabaseUrl(`${before}${host}${after}`);
  return [read(first), ...others.map(read)];
}

/** Reads URLs as PostgreSQL's own programs do. Errors never show the password. */
export function parseDatabaseUrl(text: string): DatabaseTarget {
  const url = parseUrl(text);
  const parameters = readParameters(url);
  requireWritable(parameters.get('target_session_attrs') ?? 'any');
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

/** For people and logs, without the password. */
export function describeTarget(target: DatabaseTarget): string {
  const { user, database } = target;
  return `postgres://${encodeURIComponent(user)}@${describeHost(target)}/${encodeURIComponent(database)}`;
}

export function describeHost({ host, port }: DatabaseTarget): string {
  const place = isSocketFolder(host) ? encodeURIComponent(host) : isIP(host) === 6 ? `[${host}]` : host;
  return `${place}:${port}`;
}

/** A Unix socket is named by its folder: `postgres://berth@%2Frun%2Fpostgresql/berth`. */
export function isSocketFolder(host: string): boolean {
  return host.startsWith('/');
}

function parseUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !['postgres:', 'postgresql:'].includes(url.protocol))
    throw new Error(
      `The database URL cannot be read. Write it like ${EXAMPLE}, with commas between several hosts, and ` +
        'with special characters of the password percent-encoded.',
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

function requireWritable(kind: string): void {
  if (SESSION_KINDS.includes(kind)) return;
  throw new Error(
    `The database URL has target_session_attrs=${kind}, but Berth has to write. ` +
      `It knows ${SESSION_KINDS.join(', ')}, and always uses the host that can be written.`,
  );
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
 * By default, connections within this machine are plain and all others are encrypted. They do not check the
 * certificate, since most databases have one that no authority signed; naming an authority turns the check
 * on. Falling back to plain, as other programs do, would let anybody in between read along.
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

/** A named authority is used with `require` too, as in libpq. */
function readProof(mode: string, authorities: string | undefined): Proof {
  if (mode === 'verify-full' || authorities === 'system') return 'certificate_and_name';
  return mode === 'verify-ca' || authorities !== undefined ? 'certificate' : 'none';
}

function isOnThisMachine(host: string): boolean {
  return isSocketFolder(host) || host === 'localhost' || host === '::1' || /^127(?:\.\d+){3}$/.test(host);
}
