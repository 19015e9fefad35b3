import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import {
  type Address,
  formatAddress,
  isWithin,
  parseAddress,
  parseRange,
} from '@berth/protocol/address-range';
import { forwardedPeer } from './forwarded.ts';
import type { HeaderFields, Peer } from './http-request.ts';

/** The peers of the server's connections. */
export interface NetworkPeers {
  /** The sender of a request: the peer of its connection, or the client that a trusted proxy reports. */
  read(incoming: IncomingMessage): Peer;
  /** The sender of an HTTP/1.1 request that Node has not read. */
  readHead(socket: Socket, headers: HeaderFields): Peer;
  /** Returns the peer of a connection, and caches it. */
  ofSocket(socket: Socket): { readonly address: string; readonly isProxy: boolean };
}

interface SocketPeer {
  readonly address: string;
  readonly isProxy: boolean;
  readonly peer: Peer;
}

export function createNetworkPeers(trustedProxies: readonly string[]): NetworkPeers {
  const ranges = trustedProxies.map(parseRange).filter((range) => range !== null);
  const isProxy = (address: Address) => ranges.some((range) => isWithin(address, range));
  // All requests of a connection have the same peer.
  const known = new WeakMap<Socket, SocketPeer>();
  const ofSocket = (socket: Socket): SocketPeer => {
    const found = known.get(socket);
    if (found !== undefined) return found;
    const seen = readSocket(socket, isProxy);
    known.set(socket, seen);
    return seen;
  };
  return {
    ofSocket,
    readHead(socket, headers) {
      const found = ofSocket(socket);
      return found.isProxy ? forwardedPeer(found.peer, Object.fromEntries(headers), isProxy) : found.peer;
    },
    read({ socket, headers, httpVersion }) {
      const found = ofSocket(socket);
      const peer = found.isProxy ? forwardedPeer(found.peer, headers, isProxy) : found.peer;
      return httpVersion === '1.0' ? { ...peer, isHttp10: true } : peer;
    },
  };
}

function readSocket(socket: Socket, isProxy: (address: Address) => boolean): SocketPeer {
  const { remoteAddress = '' } = socket;
  // The zone id of an address is only meaningful on this machine.
  const parsed = parseAddress(remoteAddress.split('%', 1)[0] as string);
  const address = parsed === null ? remoteAddress : formatAddress(parsed);
  const isSecure = socket instanceof TLSSocket;
  const certificate = isSecure ? certificateName(socket) : null;
  const peer: Peer = { address, isControl: false, isSecure, certificate };
  return { address, isProxy: parsed !== null && isProxy(parsed), peer };
}

const MAX_NAME_LENGTH = 256;

/** The name in the client's certificate, if it is trusted. */
function certificateName(socket: TLSSocket): string | null {
  if (!socket.authorized) return null;
  const { subject, subjectaltname = '', fingerprint256 } = socket.getPeerCertificate();
  const commonName = [subject?.CN ?? ''].flat()[0];
  const alternative = subjectaltname.split(', ')[0]?.replace(/^[^:]*:/, '');
  const name = commonName || alternative || fingerprint256;
  return name.replace(/\p{Cc}/gu, '?').slice(0, MAX_NAME_LENGTH);
}
