import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { HTTP_LIMITS } from './limits.ts';

/**
 * One TCP connection and its progress. Node cuts slow handshakes, headers and bodies; this also covers
 * clients that never send a request, never send another one, or do not read the response.
 */
export interface Connection {
  readonly tcp: Socket;
  readonly openedMs: number;
  /** The socket that carries HTTP: the same socket, or the TLS socket after the handshake. */
  http: Socket | null;
  /** The fast lane that reads it; `null` if Node does. */
  lane: FastReader | null;
  /** Node's pending responses. */
  readonly answers: Set<ServerResponse>;
  /** When its last request ended; `null` before the first one. */
  doneMs: number | null;
  /** Its last request has ended now. */
  noteDone(): void;
  /** How many bytes the client had read when it last made progress. */
  takenBytes: number;
  /** When the client stopped reading; `null`: nothing is waiting to be read. */
  stuckMs: number | null;
}

/** One connection in the fast lane. */
export interface FastReader {
  /** A request is being answered, or the client is reading the answer. */
  readonly isBusy: boolean;
  /** Part of a request has arrived. */
  readonly isWaiting: boolean;
  /** Hands the connection to Node, with what is unread. */
  leave(): void;
  /** Tells the client that no request has arrived in time. */
  expire(): void;
}

export interface Connections {
  find(socket: Socket): Connection | undefined;
  /** Closes connections of the fast lane that wait for their next request. */
  closeIdle(): void;
  /** Closes connections without a finished handshake: a stop need not wait for them. */
  cutHandshakes(): void;
  cutAll(): void;
  stopWatching(): void;
}

interface WatchOptions {
  readonly isTls: boolean;
  /** A monotonic clock in milliseconds. */
  readonly readMonotonicMs: () => number;
}

/** Watches all connections of a server with a single timer. */
export function watchConnections(server: Server, { isTls, readMonotonicMs }: WatchOptions): Connections {
  const open = new Set<Connection>();
  const bySocket = new WeakMap<Socket, Connection>();
  // A TLS socket does not reveal its TCP socket, but both have the same addresses.
  const byEnds = new Map<string, Connection>();
  server.on('connection', (tcp: Socket) => {
    const connection = createConnection(tcp, readMonotonicMs);
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
    if (connection !== undefined) followRequest(connection, outgoing);
  };
  server.on('request', follow);
  // A request with an empty Expect header is handled like any other.
  server.on('checkExpectation', follow);
  const hangUpIfOwing = (_: unknown, socket: Socket) => {
    const connection = bySocket.get(socket);
    if (connection === undefined || owesAnswer(connection)) socket.destroy();
  };
  // The last answers on a connection.
  server.prependListener('clientError', hangUpIfOwing);
  server.prependListener('connect', hangUpIfOwing);
  const timer = setInterval(() => {
    const nowMs = readMonotonicMs();
    for (const connection of open) {
      if (isStuck(connection, nowMs)) cut(connection);
      else if (connection.lane !== null) tendLane(connection, connection.lane, nowMs);
      else if (isTooSlow(connection, nowMs)) cut(connection);
    }
  }, HTTP_LIMITS.connectionCheckMs);
  return {
    find: (socket) => bySocket.get(socket),
    closeIdle() {
      for (const { lane, http } of open) if (lane !== null && isIdle(lane)) http?.destroy();
    },
    cutHandshakes() {
      for (const connection of open) if (connection.http === null) cut(connection);
    },
    cutAll: () => open.forEach(cut),
    stopWatching: () => clearInterval(timer),
  };
}

function createConnection(tcp: Socket, readMonotonicMs: () => number): Connection {
  return {
    tcp,
    openedMs: readMonotonicMs(),
    http: null,
    lane: null,
    answers: new Set(),
    doneMs: null,
    noteDone() {
      this.doneMs = readMonotonicMs();
    },
    takenBytes: 0,
    stuckMs: null,
  };
}

function followRequest(connection: Connection, outgoing: ServerResponse): void {
  connection.answers.add(outgoing);
  outgoing.once('close', () => {
    connection.answers.delete(outgoing);
    connection.noteDone();
  });
}

function isIdle({ isBusy, isWaiting }: FastReader): boolean {
  return !isBusy && !isWaiting;
}

/** Node waits a little longer than clients are told, so that a late request is not lost. */
const KEEP_ALIVE_MS = HTTP_LIMITS.keepAliveTimeoutMs + 1000;

/** The timeouts that Node applies to its own connections. Node also waits for the rest of a slow request. */
function tendLane({ openedMs, doneMs, http }: Connection, lane: FastReader, nowMs: number): void {
  if (lane.isBusy) return;
  if (lane.isWaiting) lane.leave();
  else if (doneMs === null && nowMs - openedMs > HTTP_LIMITS.headersTimeoutMs) lane.expire();
  else if (doneMs !== null && nowMs - doneMs > KEEP_ALIVE_MS) http?.destroy();
}

/**
 * Whether a response has started or is due for a complete request. The client would take an error response
 * for that one, or for part of it.
 */
function owesAnswer({ answers }: Connection): boolean {
  return [...answers].some(({ headersSent, req }) => headersSent || req.complete);
}

function endsOf({ remoteAddress, remotePort, localAddress }: Socket): string {
  return `${remoteAddress} ${remotePort} ${localAddress}`;
}

function isTooSlow({ openedMs, answers, doneMs }: Connection, nowMs: number): boolean {
  if (answers.size > 0) return false;
  if (doneMs === null) return nowMs - openedMs > HTTP_LIMITS.firstRequestTimeoutMs;
  // Node's idle timeout ends with the first byte, even if it is only an empty line.
  return nowMs - doneMs > HTTP_LIMITS.keepAliveTimeoutMs + HTTP_LIMITS.requestTimeoutMs;
}

/** Whether data is waiting for the client, but it reads nothing. */
function isStuck(connection: Connection, nowMs: number): boolean {
  const { http, takenBytes, stuckMs } = connection;
  if (http === null || http.writableLength === 0) {
    connection.stuckMs = null;
    return false;
  }
  const taken = http.bytesWritten - http.writableLength;
  if (stuckMs !== null && taken === takenBytes) return nowMs - stuckMs > HTTP_LIMITS.readTimeoutMs;
  connection.takenBytes = taken;
  connection.stuckMs = nowMs;
  return false;
}

/** Resets the connection, which also discards data that the system has buffered. */
function cut({ tcp, http }: Connection): void {
  tcp.resetAndDestroy();
  http?.destroy();
}
