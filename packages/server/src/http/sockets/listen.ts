import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { placeOf } from '@berth/protocol/address-range';
import { TLS_HEADERS } from '@berth/protocol/cloud/tls-options';
import type { ErrorCode } from '@berth/protocol/errors';
import { LIMITS } from '../../config.ts';
import type { Certificates } from '../../services/certificates/certificates.ts';
import type { App } from '../app.ts';
import type { HttpRequest } from '../http-request.ts';
import { bugReply, problem } from '../reply/problem.ts';
import { headersOf, type Reply } from '../reply/reply.ts';
import { BodyBudget } from './body-budget.ts';
import { type Connections, watchConnections } from './connections.ts';
import { openLane } from './lane.ts';
import { createNetworkPeers, type NetworkPeers } from './network-peer.ts';
import { nodeRequest, type OpenUnfinished } from './node-request.ts';
import { createReplyWriter, sendReply } from './write-reply.ts';

/**
 * A placeholder for the app, so that the port can be bound before anything is created: a start that fails on
 * a busy port changes nothing. Early clients are told to retry.
 */
export interface Entrance extends App {
  open(app: App): void;
}

export function createEntrance(): Entrance {
  let inside: App | null = null;
  return {
    answer: async (request, peer) =>
      inside === null
        ? problem('store_unavailable', 'The server is starting. Try again in a moment.')
        : inside.answer(request, peer),
    findPlain: (path) => inside?.findPlain(path),
    open(app) {
      inside = app;
    },
  };
}

interface Listening {
  /** Its URL. */
  readonly url: string;
  /** Refuses new connections, completes current requests, then stops. */
  stop(): Promise<void>;
}

interface ListenOptions {
  readonly host: string;
  readonly port: number;
  readonly maxConnections: number;
  readonly maxConnectionsPerAddress: number;
  readonly trustedProxies: readonly string[];
  /** `null` for plain HTTP. */
  readonly certificates: Certificates | null;
  /** The date, and a monotonic clock in milliseconds. */
  readonly clock: { readWall(): number; readMonotonicMs(): number };
}

/** Why the server cannot listen there, and what to do. */
export class ListenError extends Error {}

const REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another program uses it. Stop that program, or choose another port with --port.',
  EACCES: 'this user lacks permission. Choose a port above 1023 with --port.',
  EADDRNOTAVAIL: 'this machine does not have this address. Choose another one with --host.',
  ENOTFOUND: 'this host name is unknown. Choose an address with --host.',
};

/** Serves the app over TCP or TLS, with all limits on connections. */
export async function listen(app: App, options: ListenOptions): Promise<Listening> {
  const { server, connections, lane } = createAppServer(app, options);
  const isTls = options.certificates !== null;
  openLane(server, lane);
  try {
    const place = { host: options.host, port: options.port, backlog: LIMITS.waitingConnections };
    await listening(server, () => server.listen(place));
  } catch (error) {
    connections.stopWatching();
    throw explain(error as NodeJS.ErrnoException, options);
  }
  const { port } = server.address() as AddressInfo;
  const host = options.host.includes(':') ? `[${options.host}]` : options.host;
  return {
    url: `${isTls ? 'https' : 'http'}://${host}:${port}`,
    stop: () => stopServer(server, connections),
  };
}

/** The server before it has a port or a fast lane. */
export function createAppServer(app: App, options: Omit<ListenOptions, 'host' | 'port'>) {
  const { certificates, clock } = options;
  const isTls = certificates !== null;
  const peers = createNetworkPeers(options.trustedProxies);
  const bodies = new BodyBudget();
  const server = createHttpServer(
    answerWith(
      (request, incoming) => app.answer(request, peers.read(incoming)),
      (incoming) => bodies.open(() => peers.read(incoming).address),
    ),
    certificates,
  );
  server.maxConnections = options.maxConnections;
  limitPerAddress(server, options.maxConnectionsPerAddress, peers);
  // Read now: a closed connection has no address.
  if (isTls) server.on('secureConnection', peers.meet);
  const connections = watchConnections(server, { isTls, readMonotonicMs: clock.readMonotonicMs });
  const event = isTls ? 'secureConnection' : 'connection';
  const writeReply = createReplyWriter({ isTls, readWall: clock.readWall });
  return { server, connections, lane: { app, event, peers, bodies, connections, writeReply } as const };
}

function explain(error: NodeJS.ErrnoException, { host, port }: ListenOptions): Error {
  const reason = REASONS[error.code ?? ''];
  return reason === undefined ? error : new ListenError(`Cannot listen on ${host} port ${port}: ${reason}`);
}

type Answer = (request: HttpRequest, incoming: IncomingMessage) => Promise<Reply>;

/** Answers what Node has read. */
export function answerWith(answer: Answer, open?: OpenUnfinished): Handle {
  return async (incoming, outgoing) => {
    const request = nodeRequest(incoming, outgoing, open);
    const reply =
      request === null
        ? problem('bad_request', 'The URL or the Host header of the request is not valid.')
        : await answer(request, incoming).catch(() => bugReply('none'));
    await sendReply(outgoing, reply);
  };
}

type Handle = (incoming: IncomingMessage, outgoing: ServerResponse) => unknown;

export function createHttpServer(handle: Handle, certificates: Certificates | null = null): Server {
  const options = {
    headersTimeout: LIMITS.headersTimeoutMs,
    requestTimeout: LIMITS.requestTimeoutMs,
    connectionsCheckingInterval: LIMITS.connectionCheckMs,
    keepAliveTimeout: LIMITS.keepAliveTimeoutMs,
    requireHostHeader: false,
  };
  const isTls = certificates !== null;
  const server = isTls ? createSecureServer(options, certificates) : createServer(options);
  const handleWithHost: Handle = (incoming, outgoing) => {
    if (isTls) outgoing.setHeaders(TLS_HEADERS);
    const wrong = findWrongHost(incoming);
    return wrong === null ? handle(incoming, outgoing) : refuseHost(outgoing, wrong);
  };
  server.on('request', handleWithHost);
  // Node would answer these itself, but not in JSON: an unknown Expect, which may be ignored, and CONNECT.
  server.on('checkExpectation', handleWithHost);
  server.on('connect', (_, socket: Socket) => refuseTunnel(socket));
  server.on('clientError', answerBrokenRequest);
  return server;
}

/** A client without a trusted certificate is treated like any other. */
function createSecureServer(options: object, certificates: Certificates): Server {
  const context = certificates.read();
  const server = createTlsServer({
    ...options,
    ...context,
    handshakeTimeout: LIMITS.handshakeTimeoutMs,
    requestCert: context.ca !== undefined,
    rejectUnauthorized: false,
  });
  // Open connections keep their old certificate.
  const named = new Set<Socket>();
  server.on('secureConnection', (socket) => {
    if (!socket.authorized) return;
    named.add(socket);
    socket.once('close', () => named.delete(socket));
  });
  let believed = context.ca;
  certificates.onChange((changed) => {
    server.setSecureContext(changed);
    if (String(changed.ca) === String(believed)) return;
    believed = changed.ca;
    // Client certificates are checked again: their CA may no longer be trusted.
    for (const socket of named) socket.destroy();
  });
  return server;
}

/** HTTP/1.1 requires one. Of two, a proxy might have gone by the other. */
function findWrongHost({ rawHeaders, httpVersion }: IncomingMessage): string | null {
  const isHost = (text: string, index: number) => index % 2 === 0 && /^host$/i.test(text);
  const count = rawHeaders.filter(isHost).length;
  if (count > 1) return 'There is more than one Host header.';
  return count === 0 && httpVersion === '1.1' ? 'The Host header is missing.' : null;
}

function refuseHost(outgoing: ServerResponse, message: string): void {
  const { status, body, headers } = lastAnswer('bad_request', message);
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

/** Invalid HTTP never reaches the app; it is answered here, in JSON like all responses. */
function answerBrokenRequest(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const [code, message] = BROKEN[error.code ?? ''] ?? ['bad_request', 'This is not valid HTTP.'];
  endWith(socket, code, message);
}

/**
 * Node leaves connections that request a tunnel to us: we must close them and handle their errors, which
 * would otherwise end the process.
 */
function refuseTunnel(socket: Socket): void {
  socket.on('error', () => socket.destroy());
  socket.once('finish', () => socket.destroy());
  endWith(socket, 'bad_request', 'This is not a proxy.');
  socket.resume();
}

/** Sends the usual error on a connection without a valid request. */
function endWith(socket: Socket, code: ErrorCode, message: string): void {
  const { status, body, headers } = lastAnswer(code, message);
  const all = [...Object.entries(headers), ...(socket instanceof TLSSocket ? TLS_HEADERS : [])];
  const lines = all.map(([name, value]) => `${name}: ${value}\r\n`);
  // Closing with unread data would reset the connection before the response arrives. The wait is short.
  setTimeout(() => socket.destroy(), LIMITS.farewellMs).unref();
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`);
}

/** The last response on its connection, with all headers. */
function lastAnswer(code: ErrorCode, message: string) {
  const reply = problem(code, message);
  const { status, body } = reply;
  const length = Buffer.byteLength(body);
  return { status, body, headers: { ...headersOf(reply), 'Content-Length': length, Connection: 'close' } };
}

/** Limits connections per address. A trusted proxy is exempt, because many clients share it. */
function limitPerAddress(server: Server, most: number, peers: NetworkPeers): void {
  const open = new Map<string, number>();
  server.on('connection', (socket) => {
    const { address: from, isProxy } = peers.meet(socket);
    if (isProxy) return;
    const address = placeOf(from);
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

export async function stopServer(server: Server, connections?: Connections): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  const closeIdle = () => {
    server.closeIdleConnections();
    connections?.closeIdle();
    connections?.cutUnagreed();
  };
  const closeAll = () => {
    server.closeAllConnections();
    connections?.cutAll();
  };
  const idle = setInterval(closeIdle, IDLE_CHECK_MS);
  const cut = setTimeout(closeAll, LIMITS.drainTimeoutMs);
  await closed;
  connections?.stopWatching();
  clearInterval(idle);
  clearTimeout(cut);
}
