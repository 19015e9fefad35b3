import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { createSecureContext, TLSSocket } from 'node:tls';
import type { ChaosPlan } from './chaos-fault.ts';
import type { SeenRequest } from './chaos-journal.ts';
import { ChaosRunner, type Line } from './chaos-runner.ts';

export interface ChaosProxy {
  readonly url: string;
  /** In order of arrival. */
  readonly requests: readonly SeenRequest[];
  /** Applies to later requests. */
  setPlan(plan: ChaosPlan): void;
  /** Removes these headers from later requests, whatever the plan. */
  hideHeaders(...names: readonly string[]): void;
  /** Resolves when the condition holds. It is checked after every request and every response. */
  waitFor(condition: (requests: readonly SeenRequest[]) => boolean): Promise<void>;
  /** Closes all connections on both sides. */
  close(): Promise<void>;
}

export interface ChaosProxyOptions {
  /** Such as `http://127.0.0.1:8080`. */
  readonly target: string;
  /** By default, all requests pass. */
  readonly plan?: ChaosPlan;
  /** Makes the proxy use TLS with its callers. */
  readonly tls?: { readonly key: string; readonly cert: string };
}

/** Reads the first request of each connection; the response ends the connection. */
function createReader(runner: ChaosRunner) {
  const lines = new WeakMap<Duplex, Line>();
  const reader = createHttpServer((incoming) => {
    const line = lines.get(incoming.socket);
    lines.delete(incoming.socket);
    if (line !== undefined) void runner.serve(line, incoming);
  });
  reader.on('clientError', (_error, stream) => stream.destroy());
  return (line: Line) => {
    lines.set(line.stream, line);
    line.stream.on('error', () => {});
    reader.emit('connection', line.stream);
  };
}

/**
 * A proxy in front of an HTTP server on loopback that injects the fault its plan selects for each request.
 */
export async function openChaosProxy(options: ChaosProxyOptions): Promise<ChaosProxy> {
  const runner = new ChaosRunner(options.target, options.plan ?? { kind: 'pass' });
  const secureContext = options.tls && createSecureContext(options.tls);
  const read = createReader(runner);
  const sockets = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket)).on('error', () => {});
    if (runner.closesUnread(socket)) return;
    const stream = secureContext ? new TLSSocket(socket, { isServer: true, secureContext }) : socket;
    read({ stream, socket });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const closed = once(server, 'close');
  return {
    url: `${options.tls ? 'https' : 'http'}://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests: runner.journal.requests,
    setPlan(plan) {
      runner.plan = plan;
    },
    hideHeaders(...names) {
      runner.hiddenHeaders = names;
    },
    waitFor: (condition) => runner.journal.waitFor(condition),
    async close() {
      runner.ending.abort();
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
