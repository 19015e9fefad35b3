import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { ClientPlaces } from './client-places.ts';
import { LIMITS } from './limits.ts';

interface ConnectionOptions {
  readonly places: ClientPlaces;
  readonly isTls: boolean;
  readonly limits?: Readonly<Record<keyof typeof LIMITS, number>>;
}

/**
 * Node cuts slow handshakes, headers and bodies, and idle connections. This adds limits for clients that keep
 * sending without completing a request, and for too many connections.
 */
export function limitConnections(
  server: Server,
  { places, isTls, limits = LIMITS }: ConnectionOptions,
): void {
  server.maxConnections = limits.connections;
  server.timeout = limits.silenceTimeoutMs;
  limitPerPlace(server, places, limits.connectionsPerPlace);
  const deadlines = new WeakMap<Socket, NodeJS.Timeout>();
  const arm = (socket: Socket, ms: number) => {
    clearTimeout(deadlines.get(socket));
    const cut = setTimeout(() => socket.destroy(), ms).unref();
    deadlines.set(socket, cut);
    return cut;
  };
  server.on(isTls ? 'secureConnection' : 'connection', (socket: Socket) => {
    arm(socket, limits.firstRequestTimeoutMs);
    socket.once('close', () => clearTimeout(deadlines.get(socket)));
  });
  server.on('request', ({ socket }: IncomingMessage, outgoing: ServerResponse) => {
    clearTimeout(deadlines.get(socket));
    outgoing.once('close', () => {
      if (!socket.destroyed) arm(socket, limits.keepAliveTimeoutMs + limits.requestTimeoutMs);
    });
  });
}

/** One address cannot use up all connections. */
function limitPerPlace(server: Server, places: ClientPlaces, most: number): void {
  const open = new Map<string, number>();
  server.on('connection', (socket: Socket) => {
    const place = places.ofSocket(socket);
    if (place === null) return;
    const count = (open.get(place) ?? 0) + 1;
    if (count > most) {
      socket.destroy();
      return;
    }
    open.set(place, count);
    socket.once('close', () => {
      const left = (open.get(place) ?? 1) - 1;
      if (left === 0) open.delete(place);
      else open.set(place, left);
    });
  });
}
