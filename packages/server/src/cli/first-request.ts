import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { hostname } from 'node:os';
import { resolve } from 'node:path';
import type { Config } from '../config.ts';

interface FirstRequest {
  /** Where the server listens. */
  readonly url: string;
  /** A product with free slots; `null` if there is none. */
  readonly product: string | null;
  readonly config: Pick<Config, 'tls' | 'auth'>;
  readonly platform: NodeJS.Platform;
}

const NO_LICENSE =
  'There is no license yet. Add one with "berth license add PRODUCT" (from the vendor\'s cloud) or ' +
  '"berth offline install FILE". To try Berth without one, start it with --demo.';

/** Where the page and the data are. */
export function describePlaces(url: string, { tls, data }: Pick<Config, 'tls' | 'data'>): string {
  const { address } = addressOf(new URL(url), tls.cert);
  return `Open ${address} in a browser${sayReach(new URL(url), new URL(address))}. All data is in ${data}.\n`;
}

/** From where a browser finds the address. A name in a certificate is everybody's. */
function sayReach(listens: URL, address: URL): string {
  if (!/^(?:localhost|127\.[\d.]+|\[::1\])$/.test(address.hostname)) return '';
  if (!(listens.hostname in EVERYWHERE)) return ' on this machine';
  const port = listens.port === '' ? '' : `:${listens.port}`;
  return ` on this machine, or ${address.protocol}//${hostname()}${port} on another one`;
}

/** What to do after the first start: a request that works as printed. */
export function describeFirstRequest({ url, product, config, platform }: FirstRequest): string {
  if (product === null) return NO_LICENSE;
  const quote = platform === 'win32' ? quoteForWindows : quoteForShell;
  const needsToken = config.auth.clients === 'required';
  const { address, flags } = addressOf(new URL(url), config.tls.cert);
  const words = [
    'curl',
    '-sS',
    ...flags,
    `${address}/api/v4/register`,
    ...['-H', 'Content-Type: application/json'],
    ...(needsToken ? ['-H', 'Authorization: Bearer TOKEN'] : []),
    ...['-d', JSON.stringify({ product, user: 'ada' })],
  ];
  const first = needsToken ? 'Create a token with "berth token create my-app --role user". ' : '';
  return `${first}Take a slot of "${product}" for the user "ada":\n\n  ${words.map(quote).join(' ')}\n`;
}

/** An address at which this machine reaches the server, and what curl needs to trust its certificate. */
function addressOf({ protocol, hostname, port }: URL, file: string) {
  const host = EVERYWHERE[hostname] ?? hostname;
  const plain = { address: `${protocol}//${host}${port === '' ? '' : `:${port}`}`, flags: [] };
  if (protocol === 'http:') return plain;
  const trusted = ['--cacert', resolve(file)];
  const ip = host.replace(/^\[|\]$/g, '');
  const names = listNames(new X509Certificate(readFileSync(file)), ip);
  if (names.includes(ip)) return { ...plain, flags: trusted };
  const [name] = names;
  if (name === undefined) return { ...plain, flags: ['--insecure'] };
  const actual = port === '' ? '443' : port;
  const at = isIP(ip) === 0 ? [] : ['--resolve', `${name}:${actual}:${host}`];
  return { address: `${protocol}//${name}:${actual}`, flags: [...trusted, ...at] };
}

/** A server that listens on all addresses also listens on the loopback address. */
const EVERYWHERE: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '[::]': '[::1]' };

/** The host if the certificate covers it, otherwise the names in the certificate without wildcards. */
function listNames(certificate: X509Certificate, host: string): readonly string[] {
  const isGood = isIP(host) === 0 ? certificate.checkHost(host) : certificate.checkIP(host);
  if (isGood !== undefined) return [host];
  const names = (certificate.subjectAltName ?? '').split(', ').filter((name) => name.startsWith('DNS:'));
  return names.map((name) => name.slice('DNS:'.length)).filter((name) => /^[\w.-]+$/.test(name));
}

const NEEDS_NO_QUOTES = /^[\w/.:@%+=,-]+$/;

function quoteForShell(word: string): string {
  return NEEDS_NO_QUOTES.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/** On Windows, only double quotes work. */
function quoteForWindows(word: string): string {
  return NEEDS_NO_QUOTES.test(word) ? word : `"${word.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;
}
