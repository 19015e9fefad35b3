import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { LIMITS } from '../../config.ts';

/**
 * One TCP connection, and how far it has come. Node cuts handshakes, headers and bodies that are too slow;
 * what is left are those who never ask, who never ask again, and who do not take their answer.
 */
interface Connection {
  readonly tcp: Socket;
  readonly openedMs: number;
  /** What HTTP is spoken on: the same socket, or the TLS on it once it is agreed upon. */
  http: Socket | null;
  /** The answers that it waits for. */
  readonly answers: Set<ServerResponse>;
  /** When its last request was done with; `null` before the first one. */
  doneMs: number | null;
  /** How much of its answers was taken when it was last seen to take some. */
  takenBytes: number;
  /** Since when it takes nothing of what waits for it; `null` when nothing waits. */
  stuckMs: number | null;
}

export interface Connections {
  /** Those on which no request can be at work yet: a stop does not wait for them. */
  cutUnagreed(): void;
  cutAll(): void;
  stopWatching(): void;
}

interface WatchOptions {
  readonly isTls: boolean;
  /** A monotonic clock in milliseconds. */
  readonly readMonotonicMs: () => number;
}

/** Keeps an eye on all connections of a server, with one timer for all of them. */
export function watchConnections(server: Server, { isTls, readMonotonicMs }: WatchOptions): Connections {
  const open = new Set<Connection>();
  const bySocket = new WeakMap<Socket, Connection>();
  // A TLS socket does not tell which connection it is on, but both have the same ends.
  const byEnds = new Map<string, Connection>();
  server.on('connection', (tcp: Socket) => {
    const connection = createConnection(tcp, readMonotonicMs());
    const ends = endsOf(tcp);
    open.add(connection);
    byEnds.set(ends, connection);
    tcp.once('close', () => {
      open.delete(connection);
      if (byEnds.get(ends) === connection) byEnds.delete(ends);
    });
  });
  server.on(isTls ? 'secureConnection' : 'connection', (socket: Socket) => {
    const connection = byEnds.get(endsOf(socket));
    if (connection === undefined) return;
    connection.http = socket;
    bySocket.set(socket, connection);
  });
  const follow = ({ socket }: IncomingMessage, outgoing: ServerResponse) => {
    const connection = bySocket.get(socket);
    if (connection !== undefined) followRequest(connection, outgoing, readMonotonicMs);
  };
  server.on('request', follow);
  // A request with an Expect that node does not know is one like any other.
  server.on('checkExpectation', follow);
  server.prependListener('clientError', (_: Error, socket: Socket) => {
    const connection = bySocket.get(socket);
    if (connection === undefined || owesAnswer(connection)) socket.destroy();
  });
  const timer = setInterval(() => {
    const nowMs = readMonotonicMs();
    for (const connection of open) if (isTooSlow(connection, nowMs)) cut(connection);
  }, LIMITS.connectionCheckMs);
  return {
    cutUnagreed() {
      for (const connection of open) if (connection.http === null) cut(connection);
    },
    cutAll: () => open.forEach(cut),
    stopWatching: () => clearInterval(timer),
  };
}

function createConnection(tcp: Socket, openedMs: number): Connection {
  const nothing = { http: null, doneMs: null, takenBytes: 0, stuckMs: null };
  return { tcp, openedMs, answers: new Set(), ...nothing };
}

function followRequest(
  connection: Connection,
  outgoing: ServerResponse,
  readMonotonicMs: () => number,
): void {
  connection.answers.add(outgoing);
  outgoing.once('close', () => {
    connection.answers.delete(outgoing);
    connection.doneMs = readMonotonicMs();
  });
}

/**
 * An answer is under way, or is owed to a request that was sound: a word about what came after it would be
 * taken for that answer, or for a part of it.
 */
function owesAnswer({ answers }: Connection): boolean {
  return [...answers].some(({ headersSent, req }) => headersSent || req.complete);
}

function endsOf({ remoteAddress, remotePort, localAddress }: Socket): string {
  return `${remoteAddress} ${remotePort} ${localAddress}`;
}

function isTooSlow(connection: Connection, nowMs: number): boolean {
  if (isStuck(connection, nowMs)) return true;
  const { openedMs, answers, doneMs } = connection;
  if (answers.size > 0) return false;
  if (doneMs === null) return nowMs - openedMs > LIMITS.firstRequestTimeoutMs;
  // Node's own bound on an idle connection ends with the first byte, and an empty line is no request.
  return nowMs - doneMs > LIMITS.keepAliveTimeoutMs + LIMITS.requestTimeoutMs;
}

/** Something waits for the client, and it takes nothing of it. */
function isStuck(connection: Connection, nowMs: number): boolean {
  const { http, takenBytes, stuckMs } = connection;
  if (http === null || http.writableLength === 0) {
    connection.stuckMs = null;
    return false;
  }
  const taken = http.bytesWritten - http.writableLength;
  if (stuckMs !== null && taken === takenBytes) return nowMs - stuckMs > LIMITS.readTimeoutMs;
  connection.takenBytes = taken;
  connection.stuckMs = nowMs;
  return false;
}

/** At once and for good: what the system still holds for somebody who takes nothing is thrown away too. */
function cut({ tcp, http }: Connection): void {
  tcp.resetAndDestroy();
  http?.destroy();
}
