import { connect as connectPlainly, isIP, type Socket } from 'node:net';
import { connect as connectSecurely } from 'node:tls';
import { quote } from '@berth/protocol/quote';
import type { Client, Entry } from 'ldapts';
import { type Instant, SECOND_MS } from '../core/nouns/instant.ts';
import { ACCOUNT_ATTRIBUTES, findAbsence, type LdapEntry } from './ldap-account.ts';
import { listMembers } from './ldap-members.ts';
import { type Absent, type Directory, type Person, ProviderFault } from './sign-in-provider.ts';

interface LdapOptions {
  /** `ldaps:` or `ldap:`, with a host and perhaps a port. */
  readonly url: string;
  /** Whether a plain connection is secured before anything is said on it. */
  readonly startTls: boolean;
  /** PEM of those that vouch for the directory, instead of those that Node knows. */
  readonly ca: string | null;
  /** Who looks for people; empty: anybody may. */
  readonly bindDn: string;
  readonly bindPassword: string;
  /** Where people are, and how one is found: `{name}` is what they typed. */
  readonly base: string;
  readonly filter: string;
  readonly nameAttribute: string;
  readonly groupsAttribute: string;
  /** Where groups are, if they are looked for, and how: `{dn}` is the person. */
  readonly groupBase: string;
  readonly groupFilter: string;
  /** For all that is said about one person. */
  readonly timeoutMs: number;
  /** Accounts expire by it. */
  readonly readWall: () => Instant;
  /** Writes a line to the log, which names nobody. */
  readonly note: (line: string) => void;
}

/** A directory over LDAP. Referrals to other servers are not followed. */
export function createLdapDirectory(options: LdapOptions): Directory {
  return {
    find: async (name, password, signal) => {
      // A directory takes a bind without a password for one of nobody, and accepts it.
      if (name === '' || password === '') return null;
      return ask(options, (client) => find(client, name, password, options), signal);
    },
    probe: () =>
      ask(options, async (client) => {
        await bindOwn(client, options);
        await client.search(options.base, { scope: 'base', attributes: ['1.1'] });
      }),
    listMembers: (groups) =>
      ask(
        options,
        async (client, startAnew) => {
          await bindOwn(client, options);
          const read = async (dn: string, attributes: readonly string[]) => {
            const entry = await readEntry(client, dn, attributes);
            startAnew();
            return entry;
          };
          return listMembers(read, groups, options.nameAttribute, options.readWall());
        },
        undefined,
        MEMBERS_TIMEOUT_MS,
      ),
  };
}

/** For all groups together. A large directory reads some thousand entries in a second. */
const MEMBERS_TIMEOUT_MS = 60 * SECOND_MS;

/** Does everything on one connection, within the time limit. */
async function ask<T>(
  options: LdapOptions,
  work: (client: Client, startAnew: () => void) => Promise<T>,
  signal?: AbortSignal,
  timeoutMs = options.timeoutMs,
): Promise<T> {
  await requireFilters(options);
  const { client, close, countBytes } = await open(options);
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error('timeout')), timeoutMs);
  let before = 0;
  const startAnew = () => {
    before = countBytes();
  };
  const watch = setInterval(() => {
    if (countBytes() - before > MAX_BYTES) late.reject(tooMuch());
  }, WATCH_MS);
  const leave = () => late.reject(new Error('nobody waits any more'));
  signal?.addEventListener('abort', leave);
  if (signal?.aborted === true) leave();
  const done = secure(client, options).then(() => work(client, startAnew));
  try {
    return await Promise.race([done, late.promise]);
  } catch (error) {
    throw error instanceof ProviderFault ? error : explain(error, options);
  } finally {
    clearTimeout(timer);
    clearInterval(watch);
    signal?.removeEventListener('abort', leave);
    done.catch(() => {});
    close();
  }
}

/** The library copies an answer again with every piece that comes, until it is whole. */
const MAX_BYTES = 8 * 1024 * 1024;
const WATCH_MS = 50;

function tooMuch(): ProviderFault {
  return new ProviderFault('unavailable', 'The directory sends too much.');
}

/** Only the library knows which filters it can read. */
async function requireFilters({ filter, groupFilter }: LdapOptions): Promise<void> {
  const { FilterParser } = await import('ldapts');
  const filled = { filter: fill(filter, 'name', 'x'), groupFilter: fill(groupFilter, 'dn', 'x') };
  for (const [setting, text] of Object.entries(filled)) {
    try {
      FilterParser.parseString(text);
    } catch (error) {
      const message = `"auth.ldap.${setting}" is not an LDAP filter. Correct it.`;
      throw new ProviderFault('unavailable', message, error);
    }
  }
}

function explain(error: unknown, { url }: LdapOptions): ProviderFault {
  const { code, message } = error as { readonly code?: string | number; readonly message: string };
  const { host } = new URL(url);
  if (message === 'timeout') {
    return new ProviderFault('unavailable', `The directory ${host} does not answer in time.`, error);
  }
  const why = typeof code === 'number' ? `it says LDAP error ${code}` : (code ?? 'no reason');
  return new ProviderFault('unavailable', `The directory ${host} cannot be asked (${why}).`, error);
}

/**
 * The library would connect again by itself, and then without TLS: whoever cuts a connection would be told
 * the next password. So there is no second one.
 */
async function open({ url, ca, timeoutMs }: LdapOptions) {
  const { Client: Ldap } = await import('ldapts');
  const sockets: Socket[] = [];
  const keep = (socket: Socket) => {
    sockets.push(socket);
    return socket;
  };
  const connectOnce = (port: number, host: string) => {
    if (sockets.length === 0) return keep(connectPlainly(port, host));
    throw new ProviderFault('unavailable', 'The connection to the directory was cut.');
  };
  const client = new Ldap({
    url,
    connectTimeout: timeoutMs,
    timeout: timeoutMs,
    // With these, the library speaks TLS from the start.
    ...(url.startsWith('ldaps:') ? { tlsOptions: namesOf(url, ca) } : {}),
    createConnection: connectOnce as typeof connectPlainly,
    createSecureConnection: ((...how: Parameters<typeof connectSecurely>) =>
      keep(connectSecurely(...how))) as typeof connectSecurely,
    strictDN: false,
  });
  const close = () => {
    void client.unbind().catch(() => {});
    // TLS before what is below it: the other way round, Node crashes if the handshake has just ended.
    for (const socket of sockets.toReversed()) socket.destroy();
  };
  const countBytes = () => sockets.reduce((sum, { bytesRead }) => sum + bytesRead, 0);
  return { client, close, countBytes };
}

/** Whose certificate it must be, and who may vouch for it. */
function namesOf(url: string, ca: string | null) {
  const host = new URL(url).hostname.replace(/^\[|\]$/g, '');
  return { host, ...(isIP(host) === 0 ? { servername: host } : {}), ...(ca === null ? {} : { ca }) };
}

/**
 * Whoever is in between can send the beginning of a message right behind the answer to StartTLS. The library
 * would keep it, and read it together with what comes over TLS. It has no way to ask for
 * what it kept, so this reads a private field; a test fails if that is ever renamed.
 */
async function secure(client: Client, { url, startTls, ca }: LdapOptions): Promise<void> {
  if (!url.startsWith('ldap:') || !startTls) return;
  await client.startTLS(namesOf(url, ca));
  const { messageParser } = client as unknown as { readonly messageParser: { readonly buffer?: unknown } };
  if (messageParser.buffer === undefined) return;
  throw new ProviderFault(
    'unavailable',
    'Something was sent without TLS after the directory had agreed to it: somebody may be tampering with ' +
      'the connection. Use an address with ldaps:// in "auth.ldap.url".',
  );
}

async function bindOwn(client: Client, { bindDn, bindPassword }: LdapOptions): Promise<void> {
  if (bindDn === '' || (await isPassword(client, bindDn, bindPassword))) return;
  throw new ProviderFault(
    'unavailable',
    'The directory does not accept "auth.ldap.bindDn" with "auth.ldap.bindPassword". Correct them.',
  );
}

/**
 * What a directory has against a person (RFC 4511): a constraint (19), no such entry (32), no password (48),
 * a wrong one (49), no right to sign in (50), or an account that is locked or has expired (53). All else,
 * such as a directory that is busy (51), says nothing about the password.
 */
const AGAINST_PERSON: ReadonlySet<unknown> = new Set([19, 32, 48, 49, 50, 53]);

async function isPassword(client: Client, dn: string, password: string): Promise<boolean> {
  try {
    await client.bind(dn, password);
    return true;
  } catch (error) {
    if (AGAINST_PERSON.has((error as { readonly code?: unknown }).code)) return false;
    throw error;
  }
}

async function find(
  client: Client,
  name: string,
  password: string,
  options: LdapOptions,
): Promise<Person | Absent | null> {
  const { base, filter, nameAttribute, groupsAttribute, groupBase } = options;
  await bindOwn(client, options);
  const attributes = [nameAttribute, groupsAttribute, ...ACCOUNT_ATTRIBUTES];
  const wanted = { scope: 'sub', filter: fill(filter, 'name', name), attributes, sizeLimit: 2 } as const;
  const { searchEntries } = await client.search(base, wanted);
  const [entry, other] = searchEntries;
  // Whoever is not found without doubt is not found.
  if (entry === undefined || other !== undefined || entry.dn === '') return null;
  const isRight = await isPassword(client, entry.dn, password);
  const absence = findAbsence(describeEntry(entry), options.readWall());
  if (absence !== null) {
    options.note(`a sign-in was refused: the account ${absence} in the directory`);
    return { absent: `The account ${absence} in the directory.` };
  }
  if (!isRight) return null;
  const groups =
    groupBase === '' ? textsOf(entry, groupsAttribute) : await findGroups(client, entry.dn, options);
  return { subject: entry.dn, name: textsOf(entry, nameAttribute)[0] ?? entry.dn, groups };
}

async function findGroups(client: Client, dn: string, options: LdapOptions) {
  const { groupBase, groupFilter } = options;
  // The person may not be allowed to read groups.
  if (options.bindDn === '') await isPassword(client, '', '');
  else await bindOwn(client, options);
  const filter = fill(groupFilter, 'dn', dn);
  // "1.1": no attributes.
  const { searchEntries } = await client.search(groupBase, { filter, attributes: ['1.1'], paged: true });
  return searchEntries.map((entry) => entry.dn);
}

/** No such entry, and a name that no entry can have (RFC 4511). */
const NO_ENTRY: ReadonlySet<unknown> = new Set([32, 34]);

async function readEntry(client: Client, dn: string, attributes: readonly string[]) {
  try {
    const { searchEntries } = await client.search(dn, { scope: 'base', attributes: [...attributes] });
    return searchEntries[0] === undefined ? null : describeEntry(searchEntries[0]);
  } catch (error) {
    const { code } = error as { readonly code?: unknown };
    if (NO_ENTRY.has(code)) return null;
    // It concerns this entry: the other groups can be read.
    if (typeof code !== 'number') throw error;
    throw new ProviderFault(
      'refused',
      `The directory refuses to show ${quote(dn)} (LDAP error ${code}).`,
      error,
    );
  }
}

function describeEntry(entry: Entry): LdapEntry {
  const names = Object.keys(entry).filter((name) => name !== 'dn');
  return Object.fromEntries(names.map((name) => [name.toLowerCase(), textsOf(entry, name)]));
}

/** What was typed is a value, whatever it looks like (RFC 4515). */
function fill(filter: string, place: 'name' | 'dn', value: string): string {
  const encode = (character: string) => `\\${character.charCodeAt(0).toString(16).padStart(2, '0')}`;
  return filter.replaceAll(`{${place}}`, () => value.replace(/[\\*()\0]/g, encode));
}

/** A directory may write the name of an attribute otherwise than the settings. */
function textsOf(entry: Entry, attribute: string): readonly string[] {
  const isIt = ([name]: readonly [string, unknown]) => name.toLowerCase() === attribute.toLowerCase();
  const values = Object.entries(entry)
    .filter(isIt)
    .map(([, value]) => value);
  return values.flat().filter((one) => typeof one === 'string');
}
