import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { type SecureContextOptions, TLSSocket } from 'node:tls';
import { placeOf } from '@berth/protocol/address-range';
import { TLS_HEADERS } from '@berth/protocol/cloud/tls-options';
import type { ErrorCode } from '@berth/protocol/errors';
import type { App } from './app.ts';
import { BodyBudget } from './body-budget.ts';
import { type Connections, watchConnections } from './connections.ts';
import type { HttpRequest } from './http-request.ts';
import { openLane } from './lane.ts';
import { HTTP_LIMITS } from './limits.ts';
import { createNetworkPeers, type NetworkPeers } from './network-peer.ts';
import { nodeRequest, type OpenUnfinished } from './node-request.ts';
import { headersOf, type Reply, type TextReply } from './reply.ts';
import { createReplyWriter, sendReply } from './write-reply.ts';

export interface Listening {
  /** Its URL. */
  readonly url: string;
  /** Refuses new connections, completes current requests, then stops. */
  stop(): Promise<void>;
}

/** The certificate of this server, which may change while it runs. */
interface TlsCertificates {
  read(): TlsContext;
  onChange(listener: (context: TlsContext) => void): void;
}

/** With `ca`, clients are asked for a certificate. */
type TlsContext = SecureContextOptions & { readonly ca?: string };

interface ListenOptions {
  readonly host: string;
  readonly port: number;
  readonly maxConnections: number;
  readonly maxConnectionsPerAddress: number;
  readonly trustedProxies: readonly string[];
  /** `null` for plain HTTP. */
  readonly certificates: TlsCertificates | null;
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
    const { host, port } = options;
    await listening(server, () => server.listen({ host, port, backlog: HTTP_LIMITS.waitingConnections }));
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
  const server = createHttpServer({
    answer: (request, incoming) => app.answer(request, peers.read(incoming)),
    refuse: app.refuse,
    openBody: (incoming) => bodies.open(() => peers.read(incoming).address),
    certificates,
  });
  server.maxConnections = options.maxConnections;
  limitPerAddress(server, options.maxConnectionsPerAddress, peers);
  // Read now: a closed connection has no address.
  if (isTls) server.on('secureConnection', peers.ofSocket);
  const connections = watchConnections(server, { isTls, readMonotonicMs: clock.readMonotonicMs });
  const event = isTls ? 'secureConnection' : 'connection';
  const writeReply = createReplyWriter({ isTls, readWall: clock.readWall });
  return { server, connections, lane: { app, event, peers, bodies, connections, writeReply } as const };
}

function explain(error: NodeJS.ErrnoException, { host, port }: ListenOptions): Error {
  const reason = REASONS[error.code ?? ''];
  return reason === undefined ? error : new ListenError(`Cannot listen on ${host} port ${port}: ${reason}`);
}

interface HttpServerOptions extends Pick<App, 'refuse'> {
  /** Answers what Node has read. */
  answer(request: HttpRequest, incoming: IncomingMessage): Promise<Reply>;
  readonly openBody?: OpenUnfinished;
  readonly certificates?: TlsCertificates | null;
}

/** Node's HTTP server, with all replies in the format of the app. */
export function createHttpServer(options: HttpServerOptions): Server {
  const { refuse, certificates = null } = options;
  const isTls = certificates !== null;
  const server = isTls ? createSecureServer(certificates) : createServer(TIMEOUTS);
  const handle = (incoming: IncomingMessage, outgoing: ServerResponse) => {
    if (isTls) outgoing.setHeaders(TLS_HEADERS);
    const wrong = findWrong(incoming);
    if (wrong === null) return answerRequest(incoming, outgoing, options);
    const { status, body, headers } = lastReply(refuse(...wrong));
    return outgoing.writeHead(status, headers).end(body);
  };
  server.on('request', handle);
  // Node would answer these itself, but not in JSON: an unknown Expect, and CONNECT.
  server.on('checkExpectation', handle);
  server.on('connect', (_, socket: Socket) => refuseTunnel(socket, refuse));
  server.on('clientError', (error, socket) => answerBrokenRequest(error, socket as Socket, refuse));
  return server;
}

async function answerRequest(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  { answer, refuse, openBody }: HttpServerOptions,
): Promise<void> {
  const request = nodeRequest(incoming, outgoing, openBody);
  const reply =
    request === null
      ? refuse('bad_request', 'The URL or the Host header of the request is not valid.')
      : await answer(request, incoming).catch(() => refuse('internal_error', 'Internal server error.'));
  await sendReply(outgoing, reply);
}

const TIMEOUTS = {
  headersTimeout: HTTP_LIMITS.headersTimeoutMs,
  requestTimeout: HTTP_LIMITS.requestTimeoutMs,
  connectionsCheckingInterval: HTTP_LIMITS.connectionCheckMs,
  keepAliveTimeout: HTTP_LIMITS.keepAliveTimeoutMs,
  requireHostHeader: false,
};

/** A client without a trusted certificate is treated like any other. */
function createSecureServer(certificates: TlsCertificates): Server {
  const context = certificates.read();
  const server = createTlsServer({
    ...TIMEOUTS,
    ...context,
    handshakeTimeout: HTTP_LIMITS.handshakeTimeoutMs,
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

type Wrong = readonly [ErrorCode, string];

/** HTTP/1.1 requires one Host header. With two, a proxy may have used the other one. */
function findWrong({ rawHeaders, httpVersion, headers }: IncomingMessage): Wrong | null {
  const isHost = (text: string, index: number) => index % 2 === 0 && /^host$/i.test(text);
  const count = rawHeaders.filter(isHost).length;
  if (count > 1) return ['bad_request', 'There is more than one Host header.'];
  if (count === 0 && httpVersion === '1.1') return ['bad_request', 'The Host header is missing.'];
  // Node takes what is in the chunks for the body, whatever else was done to it.
  if (/, *chunked$/i.test(headers['transfer-encoding'] ?? ''))
    return ['not_implemented', 'This server only reads "Transfer-Encoding: chunked".'];
  if (httpVersion !== '1.1' || /^$|100-continue/i.test(headers.expect ?? '')) return null;
  return ['expectation_failed', 'This server only meets "Expect: 100-continue".'];
}

export async function listening(server: Server, start: () => void): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.once('listening', resolve);
    start();
  });
}

const BROKEN: Readonly<Record<string, Wrong>> = {
  ERR_HTTP_REQUEST_TIMEOUT: ['request_timeout', 'The request did not arrive in time.'],
  HPE_HEADER_OVERFLOW: ['headers_too_large', 'The headers are too large.'],
  HPE_INVALID_METHOD: ['not_implemented', 'This server does not know the method of the request.'],
};

type BrokenRequest = NodeJS.ErrnoException & { readonly rawPacket?: Buffer };

/** What Node has read last, if only the method in it can be wrong. */
const REQUEST_LINE = /^[!#$%&'*+.^_`|~\w-]+ \S+ HTTP\/1\.[01]\r\n/;

/** Invalid HTTP never reaches the app; it is answered here, in JSON like all responses. */
function answerBrokenRequest(error: BrokenRequest, socket: Socket, refuse: App['refuse']): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const { code = '', rawPacket } = error;
  const isRequest = code !== 'HPE_INVALID_METHOD' || REQUEST_LINE.test(rawPacket?.toString('latin1') ?? '');
  const known = isRequest ? BROKEN[code] : undefined;
  endWith(socket, refuse(...(known ?? ['bad_request', 'This is not valid HTTP.'])));
}

/**
 * Node leaves connections that request a tunnel to us: we must close them and handle their errors, which
 * would otherwise end the process.
 */
function refuseTunnel(socket: Socket, refuse: App['refuse']): void {
  socket.on('error', () => socket.destroy());
  socket.once('finish', () => socket.destroy());
  endWith(socket, refuse('bad_request', 'This is not a proxy.'));
  socket.resume();
}

/** Sends the usual error on a connection without a valid request. */
function endWith(socket: Socket, reply: TextReply): void {
  const { status, body, headers } = lastReply(reply);
  const all = [...Object.entries(headers), ...(socket instanceof TLSSocket ? TLS_HEADERS : [])];
  const lines = all.map(([name, value]) => `${name}: ${value}\r\n`);
  // Closing with unread data would reset the connection before the response arrives. The wait is short.
  setTimeout(() => socket.destroy(), HTTP_LIMITS.farewellMs).unref();
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`);
}

/** The last response on its connection, with all headers. */
function lastReply(reply: TextReply) {
  const { status, body } = reply;
  const length = Buffer.byteLength(body);
  return { status, body, headers: { ...headersOf(reply), 'Content-Length': length, Connection: 'close' } };
}

/** Limits connections per address. A trusted proxy is exempt, because many clients share it. */
function limitPerAddress(server: Server, most: number, peers: NetworkPeers): void {
  const open = new Map<string, number>();
  server.on('connection', (socket) => {
    const { address: from, isProxy } = peers.ofSocket(socket);
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
    connections?.cutHandshakes();
  };
  const closeAll = () => {
    server.closeAllConnections();
    connections?.cutAll();
  };
  const idle = setInterval(closeIdle, IDLE_CHECK_MS);
  const cut = setTimeout(closeAll, HTTP_LIMITS.drainTimeoutMs);
  await closed;
  connections?.stopWatching();
  clearInterval(idle);
  clearTimeout(cut);
}
