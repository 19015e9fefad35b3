import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { ErrorCode } from '@berth/protocol/errors';
import { getRequestListener, RequestError as UnreadableRequest } from '@hono/node-server';
import type { Hono } from 'hono';
import { LIMITS } from '../config.ts';
import type { AppEnv } from './app.ts';
import { bugReply, problem } from './problem.ts';
import { HEADERS, toResponse } from './reply.ts';

export interface Listening {
  /** Where it can be reached. */
  readonly url: string;
  /** Takes no new connections, answers what it has, then ends. */
  stop(): Promise<void>;
}

export interface ListenOptions {
  readonly host: string;
  readonly port: number;
  readonly maxConnections: number;
  readonly maxConnectionsPerAddress: number;
}

/** Serves the app over TCP, with every bound of the connection itself. */
export async function listen(app: Hono<AppEnv>, options: ListenOptions): Promise<Listening> {
  const server = createHttpServer(getRequestListener(app.fetch as never, LISTENER_OPTIONS));
  server.maxConnections = options.maxConnections;
  limitPerAddress(server, options.maxConnectionsPerAddress);
  await listening(server, () => server.listen(options.port, options.host));
  const { port } = server.address() as AddressInfo;
  const host = options.host.includes(':') ? `[${options.host}]` : options.host;
  return { url: `http://${host}:${port}`, stop: () => stopServer(server) };
}

/** Requests that are HTTP but cannot be turned into a request of ours, such as one with a broken Host. */
export const LISTENER_OPTIONS = {
  hostname: 'localhost',
  errorHandler: (error: unknown) =>
    toResponse(
      error instanceof UnreadableRequest
        ? problem('bad_request', 'The address or the Host header of the request cannot be read.')
        : bugReply('none'),
    ),
};

type Handle = (incoming: IncomingMessage, outgoing: ServerResponse) => unknown;

export function createHttpServer(handle: Handle): Server {
  const server = createServer({
    headersTimeout: LIMITS.headersTimeoutMs,
    requestTimeout: LIMITS.requestTimeoutMs,
    connectionsCheckingInterval: LIMITS.connectionCheckMs,
    keepAliveTimeout: LIMITS.keepAliveTimeoutMs,
    requireHostHeader: false,
  });
  const handleWithHost: Handle = (incoming, outgoing) =>
    lacksHost(incoming) ? answerWithoutHost(outgoing) : handle(incoming, outgoing);
  server.on('request', handleWithHost);
  // What node would answer or cut by itself, but not in JSON: an unknown Expect, which may be ignored, and
  // CONNECT.
  server.on('checkExpectation', handleWithHost);
  server.on('connect', (_, socket: Socket) => refuseTunnel(socket));
  server.on('clientError', answerBrokenRequest);
  return server;
}

/** HTTP/1.1 demands it. */
function lacksHost({ headers, httpVersion }: IncomingMessage): boolean {
  return headers.host === undefined && httpVersion === '1.1';
}

function answerWithoutHost(outgoing: ServerResponse): void {
  const { status, body, headers } = lastAnswer('bad_request', 'The Host header is missing.');
  outgoing.writeHead(status, headers).end(body);
}

export async function listening(server: Server, start: () => void): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.once('listening', resolve);
    start();
  });
}

const BROKEN: Readonly<Record<string, readonly [ErrorCode, string]>> = {
  ERR_HTTP_REQUEST_TIMEOUT: ['request_timeout', 'The request did not arrive in time.'],
  HPE_HEADER_OVERFLOW: ['headers_too_large', 'The headers are too large.'],
};

/** What is not HTTP never reaches the app; it is answered here, in JSON like everything else. */
function answerBrokenRequest(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const [code, message] = BROKEN[error.code ?? ''] ?? ['bad_request', 'This is not valid HTTP.'];
  endWith(socket, code, message);
}

/**
 * Node lets go of a connection that asks for a tunnel: nobody else hears of its errors, which would end the
 * process, and nobody else closes it when the client does not.
 */
function refuseTunnel(socket: Socket): void {
  socket.on('error', () => socket.destroy());
  socket.once('finish', () => socket.destroy());
  endWith(socket, 'bad_request', 'This is not a proxy.');
  socket.resume();
}

/** The same answer as everywhere, for a connection on which no request can be answered. */
function endWith(socket: Socket, code: ErrorCode, message: string): void {
  const { status, body, headers } = lastAnswer(code, message);
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`);
}

/** The last answer on its connection, with all its headers. */
function lastAnswer(code: ErrorCode, message: string) {
  const { status, body } = problem(code, message);
  const length = Buffer.byteLength(body);
  return { status, body, headers: { ...HEADERS.json, 'Content-Length': length, Connection: 'close' } };
}

/** One address cannot take all connections from the others. */
function limitPerAddress(server: Server, most: number): void {
  const open = new Map<string, number>();
  server.on('connection', (socket) => {
    const address = socket.remoteAddress ?? '';
    const count = (open.get(address) ?? 0) + 1;
    if (count > most) {
      socket.destroy();
      return;
    }
    open.set(address, count);
    socket.once('close', () => {
      const left = (open.get(address) ?? 1) - 1;
      if (left === 0) open.delete(address);
      else open.set(address, left);
    });
  });
}

const IDLE_CHECK_MS = 50;

export async function stopServer(server: Server): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  const idle = setInterval(() => server.closeIdleConnections(), IDLE_CHECK_MS);
  const cut = setTimeout(() => server.closeAllConnections(), LIMITS.drainTimeoutMs);
  await closed;
  clearInterval(idle);
  clearTimeout(cut);
}
