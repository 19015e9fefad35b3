import { type Address, formatAddress, parseAddress } from '@berth/protocol/address-range';
import type { Peer } from './http-request.ts';

/** Names in lower case, repeated headers joined with commas, as in Node. */
export type ForwardingHeaders = Readonly<Record<string, string | string[] | undefined>>;

type IsProxy = (address: Address) => boolean;

/**
 * The client reported by a trusted proxy, or the proxy itself if it reports none. X-Forwarded-… takes
 * precedence over `Forwarded`: nearly every proxy writes the former, and passes on the latter as the client
 * sent it.
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
  // The certificate is that of the proxy, not of the client.
  return { ...proxy, address: client.address ?? proxy.address, isSecure, certificate: null };
}

interface FoundClient {
  /** `null` if the header names no valid address. */
  readonly address: string | null;
  readonly index: number;
}

/** Each proxy appends its peer: the last address that is not a trusted proxy is the client. */
function findClient(hops: readonly string[], isProxy: IsProxy): FoundClient {
  for (let index = hops.length - 1; index >= 0; index--) {
    const address = parseHop(hops[index] as string);
    if (address === null) return { address: null, index };
    if (index === 0 || !isProxy(address)) return { address: formatAddress(address), index };
  }
  return { address: null, index: -1 };
}

/** An address, optionally with a port; IPv6 with a port in brackets. */
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

/** `for="[2001:db8::1]:4711";proto=https`. Relevant values contain no comma or semicolon. */
function parseElement(text: string): ReadonlyMap<string, string> {
  const pairs = text.split(';').map(parsePair);
  const element = new Map(pairs);
  // A repeated name may come from inside another value, so it is not trusted.
  return element.size === pairs.length ? element : new Map();
}

/** Clients can send these headers too, up to the maximum header size: parsing must take linear time. */
function parsePair(pair: string): readonly [name: string, value: string] {
  const at = pair.indexOf('=');
  const name = pair.slice(0, Math.max(0, at)).trimStart();
  const value = pair.slice(at + 1).trimEnd();
  const from = value.startsWith('"') ? 1 : 0;
  const inner = value.slice(from, value.length > from && value.endsWith('"') ? -1 : undefined);
  return /^[\w-]+$/.test(name) && !inner.includes('"') ? [name.toLowerCase(), inner] : ['', ''];
}
