import { type Address, formatAddress, parseAddress } from '@berth/protocol/address-range';
import type { Peer } from '../access/caller.ts';

/** Names in lower case, and repeated headers joined with commas, as node has them. */
export type ForwardingHeaders = Readonly<Record<string, string | string[] | undefined>>;

type IsProxy = (address: Address) => boolean;

/**
 * The client for whom a trusted proxy speaks; the proxy itself where it speaks for nobody. What X-Forwarded-…
 * says comes before `Forwarded`, because nearly every proxy writes the former, and one that does passes the
 * other on as the client has sent it.
 */
export function forwardedPeer(proxy: Peer, headers: ForwardingHeaders, isProxy: IsProxy): Peer {
  const forwardedFor = listOf(headers['x-forwarded-for']);
  const protocols = listOf(headers['x-forwarded-proto']);
  const forwarded = listOf(headers.forwarded).map(parseElement);
  if (forwardedFor.length + protocols.length + forwarded.length === 0) return proxy;
  const hops = forwardedFor.length > 0 ? forwardedFor : forwarded.map((element) => element.get('for') ?? '');
  const client = findClient(hops, isProxy);
  const element = forwardedFor.length > 0 ? undefined : forwarded[client.index];
  const isSecure = protocols.length > 0 ? protocols.every(isHttps) : isHttps(element?.get('proto') ?? '');
  // The certificate at this end is the proxy's own, and says nothing about its client.
  return { ...proxy, address: client.address ?? proxy.address, isSecure, certificate: null };
}

interface FoundClient {
  /** `null` where nobody is named, or something that is no address. */
  readonly address: string | null;
  readonly index: number;
}

/** Each proxy appends whom it has heard it from: the last one that is no proxy is the client. */
function findClient(hops: readonly string[], isProxy: IsProxy): FoundClient {
  for (let index = hops.length - 1; index >= 0; index--) {
    const address = parseHop(hops[index] as string);
    if (address === null) return { address: null, index };
    if (index === 0 || !isProxy(address)) return { address: formatAddress(address), index };
  }
  return { address: null, index: -1 };
}

/** An address, alone or with a port, in brackets where IPv6 needs them. */
function parseHop(text: string): Address | null {
  const bracketed = /^\[([^\]]*)\](?::\d{1,5})?$/.exec(text)?.[1];
  if (bracketed !== undefined) return bracketed.includes(':') ? parseAddress(bracketed) : null;
  return parseAddress(text.replace(/^([\d.]+):\d{1,5}$/, '$1'));
}

function isHttps(text: string): boolean {
  return text.toLowerCase() === 'https';
}

function listOf(header: string | string[] | undefined): readonly string[] {
  if (header === undefined || header.length === 0) return [];
  return String(header)
    .split(',')
    .map((part) => part.trim());
}

/** `for="[2001:db8::1]:4711";proto=https`. Nothing that counts here holds a comma or a semicolon. */
function parseElement(text: string): ReadonlyMap<string, string> {
  const pairs = text.split(';').map(parsePair);
  const element = new Map(pairs);
  // A name that comes twice was smuggled into another value.
  return element.size === pairs.length ? element : new Map();
}

/** A client writes these, too, up to the size of all headers: nothing here may look at a character twice. */
function parsePair(pair: string): readonly [name: string, value: string] {
  const at = pair.indexOf('=');
  const name = pair.slice(0, Math.max(0, at)).trimStart();
  const value = pair.slice(at + 1).trimEnd();
  const from = value.startsWith('"') ? 1 : 0;
  const inner = value.slice(from, value.length > from && value.endsWith('"') ? -1 : undefined);
  return /^[\w-]+$/.test(name) && !inner.includes('"') ? [name.toLowerCase(), inner] : ['', ''];
}
