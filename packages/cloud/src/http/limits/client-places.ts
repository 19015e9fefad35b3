import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import {
  type Address,
  type AddressRange,
  formatAddress,
  isWithin,
  parseAddress,
  placeOf,
} from '@berth/protocol/address-range';

/** Identifies callers by network: an IPv4 address, or an IPv6 prefix. */
export interface ClientPlaces {
  /** For a connection; `null` for a trusted proxy, which serves many clients. */
  ofSocket(socket: Socket): string | null;
  /** For a request: the peer, or the client that a trusted proxy reports. */
  ofRequest(incoming: IncomingMessage): string;
}

export function createClientPlaces(proxies: readonly AddressRange[]): ClientPlaces {
  const isProxy = (address: Address) => proxies.some((range) => isWithin(address, range));
  const isProxySocket = (socket: Socket) => {
    const address = readPeer(socket);
    return address !== null && isProxy(address);
  };
  return {
    ofSocket: (socket) => (isProxySocket(socket) ? null : sayPlace(readPeer(socket))),
    ofRequest({ socket, headers }) {
      const client = isProxySocket(socket) ? findClient(headers['x-forwarded-for'], isProxy) : null;
      return sayPlace(client ?? readPeer(socket));
    },
  };
}

/** `null` for a closed connection. */
function readPeer({ remoteAddress = '' }: Socket): Address | null {
  // The zone id of an address is only meaningful on this machine.
  return parseAddress(remoteAddress.split('%', 1)[0] as string);
}

function sayPlace(address: Address | null): string {
  return address === null ? '' : placeOf(formatAddress(address));
}

/** Each proxy appends its peer: the last address that is not a trusted proxy is the client. */
function findClient(
  header: string | string[] | undefined,
  isProxy: (one: Address) => boolean,
): Address | null {
  const hops = String(header ?? '').split(',');
  for (const hop of hops.reverse()) {
    const address = parseAddress(withoutPort(hop.trim()));
    if (address === null || !isProxy(address)) return address;
  }
  return null;
}

/** Some proxies add the port: 192.0.2.1:4711, [2001:db8::1]:4711. */
function withoutPort(hop: string): string {
  if (hop.startsWith('[')) return hop.slice(1).split(']', 1)[0] as string;
  return hop.includes('.') && hop.split(':').length === 2 ? (hop.split(':', 1)[0] as string) : hop;
}
