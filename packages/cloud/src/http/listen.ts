import { createServer, type IncomingMessage, type Server, STATUS_CODES } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { AddressRange } from '@berth/protocol/address-range';
import { TLS_HEADERS, TLS_OPTIONS } from '@berth/protocol/cloud/tls-options';
import type { ErrorCode } from '@berth/protocol/errors';
import { getRequestListener } from '@hono/node-server';
import type { Hono } from 'hono';
import type { Clock } from '../clock.ts';
import type { KeyRing } from '../store/keys/key-ring.ts';
import type { AppEnv } from './app.ts';
import { createClientPlaces } from './limits/client-places.ts';
import { limitConnections } from './limits/limit-connections.ts';
import { LIMITS } from './limits/limits.ts';
import { problem } from './problem.ts';
import { signReply } from './sign-reply.ts';

export interface Listening {
  /** The address of the server. */
  readonly url: string;
  /** Refuses new connections, completes running requests, then stops. */
  stop(): Promise<void>;
}

interface ListenOptions {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** Both in PEM; `null`: no TLS. */
  readonly tls: { readonly cert: string; readonly key: string } | null;
  /** Proxies trusted to report the client address. */
  readonly trustedProxies: readonly AddressRange[];
  readonly keyRing: KeyRing;
  readonly clock: Clock;
}

const TIMEOUTS = {
  headersTimeout: LIMITS.headersTimeoutMs,
  requestTimeout: LIMITS.requestTimeoutMs,
  connectionsCheckingInterval: LIMITS.connectionCheckMs,
  keepAliveTimeout: LIMITS.keepAliveTimeoutMs,
} as const;

/** How long a stop waits before it closes connections. */
const DRAIN_MS = 5000;
const IDLE_CHECK_MS = 50;

export async function listen(app: Hono<AppEnv>, options: ListenOptions): Promise<Listening> {
  const { host, port, tls } = options;
  const places = createClientPlaces(options.trustedProxies);
  const fetch = (request: Request, { incoming }: { incoming: IncomingMessage }) =>
    app.fetch(request, { place: places.ofRequest(incoming) });
  const handle = getRequestListener(fetch as never, {
    hostname: 'localhost',
    // An invalid Host header: the app never sees it.
    errorHandler: () => {
      const { status, bytes, headers } = lastAnswer(options, 'bad_request', 'The request cannot be read.');
      return new Response(bytes, { status, headers });
    },
  });
  const { handshakeTimeoutMs: handshakeTimeout } = LIMITS;
  const server =
    tls === null
      ? createServer(TIMEOUTS, handle)
      : createTlsServer({ ...TIMEOUTS, handshakeTimeout, ...TLS_OPTIONS, ...tls }, handle);
  limitConnections(server, { places, isTls: tls !== null });
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) =>
    answerBrokenRequest(options, error, socket),
  );
  if (tls !== null) server.prependListener('request', (_, outgoing) => outgoing.setHeaders(TLS_HEADERS));
  await started(server, port, host);
  const { port: actual } = server.address() as AddressInfo;
  const shown = host.includes(':') ? `[${host}]` : host;
  return { url: `${tls === null ? 'http' : 'https'}://${shown}:${actual}`, stop: () => stopServer(server) };
}

async function started(server: Server, port: number, host: string): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
}

const BROKEN: Readonly<Record<string, readonly [ErrorCode, string]>> = {
  ERR_HTTP_REQUEST_TIMEOUT: ['request_timeout', 'The request did not arrive in time.'],
  HPE_HEADER_OVERFLOW: ['headers_too_large', 'The headers are too large.'],
};

/** Answers malformed HTTP, which never reaches the app: in JSON and signed like every response. */
function answerBrokenRequest(options: ListenOptions, error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const [code, message] = BROKEN[error.code ?? ''] ?? ['bad_request', 'This is not valid HTTP.'];
  const { status, bytes, headers } = lastAnswer(options, code, message);
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${bytes}`);
}

function lastAnswer({ keyRing, clock, tls }: ListenOptions, code: ErrorCode, message: string) {
  const reply = signReply(problem(code, message), keyRing.read().current, clock.readWallMs());
  const length = String(reply.bytes.length);
  const headers = { ...reply.headers, ...(tls === null ? {} : Object.fromEntries(TLS_HEADERS)) };
  return { ...reply, headers: { ...headers, 'Content-Length': length, Connection: 'close' } };
}

async function stopServer(server: Server): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  const idle = setInterval(() => server.closeIdleConnections(), IDLE_CHECK_MS);
  const cut = setTimeout(() => server.closeAllConnections(), DRAIN_MS);
  await closed;
  clearInterval(idle);
  clearTimeout(cut);
}
