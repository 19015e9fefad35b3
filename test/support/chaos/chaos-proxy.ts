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
  /** In the order of their arrival. */
  readonly requests: readonly SeenRequest[];
  /** For requests that come from now on. */
  setPlan(plan: ChaosPlan): void;
  /** Takes headers out of requests from now on, whatever the plan is. */
  hideHeaders(...names: readonly string[]): void;
  /** Resolves as soon as the condition holds; it is asked whenever a request came or was answered. */
  waitFor(condition: (requests: readonly SeenRequest[]) => boolean): Promise<void>;
  /** Cuts whatever is open, to both sides. */
  close(): Promise<void>;
}

export interface ChaosProxyOptions {
  /** Such as `http://127.0.0.1:8080`. */
  readonly target: string;
  /** Everything passes by default. */
  readonly plan?: ChaosPlan;
  /** Makes it a proxy that speaks TLS with its callers. */
  readonly tls?: { readonly key: string; readonly cert: string };
}

/** Reads the first request of each connection that it is given; its answer ends the connection. */
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

/** Stands in front of an HTTP server on loopback and gives each request the fault of its plan. */
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
