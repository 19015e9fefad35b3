import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { describe, type TestContext, test } from 'node:test';
import { deferApp } from '@berth/server/http/deferred-app';
import { defineRoute } from '@berth/server/http/route';
import { z } from 'zod';
import { MemorySocket } from '../../../test/fuzz/lane/memory-socket.ts';
import { openSocket, readAnswerFrom, readToEnd } from '../../../test/support/raw-socket.ts';
import { openTestApp } from '../../../test/support/test-app.ts';
import type { AnswerRoute, App } from '../src/app.ts';
import type { Departure, HttpRequest } from '../src/http-request.ts';
import { openLane } from '../src/lane.ts';
import { HTTP_LIMITS } from '../src/limits.ts';
import { createAppServer, listening, stopServer } from '../src/listen.ts';
import { type Reply, text } from '../src/reply.ts';

const BODY = '{"user":"ann"}';

/** A request in the form that the lane reads. */
function post(path: string, body = BODY): string {
  return `POST /api/v4/${path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
}

const HEAD_AND_HALF = post('quick').slice(0, -5);
const REST = post('quick').slice(-5);

function routeOf(name: string, handle: (request: HttpRequest) => Reply | Promise<Reply>) {
  return defineRoute(`POST /api/v4/${name}`, {
    name,
    access: 'client',
    summary: 'For a test',
    body: z.object({ user: z.string() }),
    answer: { kind: 'text', example: 'x' },
    errors: [],
    handle: ({ request }) => handle(request),
  });
}

/** What clients get that do not read would fill a few of the system's buffers. */
const LONG = 'x'.repeat(1024 * 1024);

interface ServerOptions {
  readonly hasLane?: boolean;
  readonly maxConnectionsPerAddress?: number;
  /** Instead of the app of the test. */
  readonly wrap?: (app: App) => App;
}

/** A server with or without the lane, whose clock and connection checks the test controls. */
async function openServer(t: TestContext, options: ServerOptions = {}) {
  const { hasLane = true, maxConnectionsPerAddress = 100, wrap = (app) => app } = options;
  t.mock.timers.enable({ apis: ['setInterval'] });
  const held = { begun: Promise.withResolvers<void>(), reply: Promise.withResolvers<Reply>() };
  const watched = Promise.withResolvers<Departure>();
  const counts = { long: 0, quick: 0 };
  const routes = [
    routeOf('quick', () => {
      counts.quick += 1;
      return text('quick');
    }),
    routeOf('long', () => {
      counts.long += 1;
      return text(LONG);
    }),
    routeOf('held', () => {
      held.begun.resolve();
      return held.reply.promise;
    }),
    routeOf('watched', (request) => {
      watched.resolve(request.watch?.() as Departure);
      return held.reply.promise;
    }),
  ];
  const { app, clock } = await openTestApp(t, { routes });
  const bounds = { maxConnections: 100, maxConnectionsPerAddress, trustedProxies: [] };
  const parts = createAppServer(wrap(app), { ...bounds, certificates: null, clock });
  const { server, connections } = parts;
  if (hasLane) openLane(server, parts.lane);
  await listening(server, () => server.listen(0, '127.0.0.1'));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  /** Of all clients; a closed socket has none. */
  const ports = new Map<Socket, number | undefined>();
  const stop = () => stopServer(server, connections);
  t.after(() => {
    t.mock.timers.reset();
    for (const socket of ports.keys()) socket.destroy();
    return server.listening ? stop() : undefined;
  });
  const connect = async (...pieces: string[]): Promise<Socket> => {
    const socket = openSocket(url).on('error', () => {});
    await once(socket, 'connect');
    ports.set(socket, socket.localPort);
    for (const piece of pieces) await new Promise((resolve) => socket.write(piece, 'latin1', resolve));
    return socket;
  };
  /** When a later connection is answered, the server has read what earlier ones have sent. */
  const catchUp = async () => {
    const socket = await connect(post('quick'));
    await readAnswerFrom(socket);
  };
  /** Advances the clock and triggers a check of the connections. */
  const pass = (millis: number) => {
    clock.advance(millis);
    t.mock.timers.tick(HTTP_LIMITS.connectionCheckMs);
  };
  const accepted = new Map<number | undefined, Socket>();
  server.on('connection', (socket: Socket) => accepted.set(socket.remotePort, socket));
  const isInLane = (socket: Socket) => {
    const connection = connections.find(accepted.get(ports.get(socket)) as Socket);
    assert.ok(connection !== undefined);
    return connection.lane !== null;
  };
  const bytesReadFrom = (socket: Socket) => accepted.get(ports.get(socket))?.bytesRead as number;
  return { server, bytesReadFrom, connect, catchUp, pass, held, watched, counts, stop, isInLane };
}

/** Resolves whether or not the connection ends with an error. */
function closing(socket: Socket): Promise<void> {
  return new Promise((resolve) => socket.once('close', () => resolve()));
}

/** The bodies of all answers, up to so many, or to the end. */
async function readBodies(socket: Socket, count: number): Promise<readonly string[]> {
  let received = '';
  socket.setEncoding('latin1');
  for await (const chunk of socket) {
    received += chunk;
    if (received.split('HTTP/1.1 200').length > count && received.endsWith('quick')) break;
  }
  return Array.from(received.matchAll(/\r\n\r\n(quick|)/g), ([, body]) => body as string);
}

describe('the lane', () => {
  test('answers requests that arrive together, one after the other', async (t) => {
    const { connect, counts, isInLane } = await openServer(t);
    const socket = await connect(post('quick').repeat(3));
    assert.deepEqual(await readBodies(socket, 3), ['quick', 'quick', 'quick']);
    assert.equal(counts.quick, 3);
    assert.ok(isInLane(socket));
  });

  test('reads a request that arrives in parts', async (t) => {
    const { connect, catchUp, isInLane } = await openServer(t);
    const socket = await connect(HEAD_AND_HALF);
    await catchUp();
    assert.ok(isInLane(socket));
    socket.write(REST);
    assert.equal((await readAnswerFrom(socket)).text, 'quick');
  });

  test('leaves a request to Node whose rest is late, and Node answers it', async (t) => {
    const { connect, catchUp, pass, isInLane } = await openServer(t);
    const socket = await connect(HEAD_AND_HALF);
    await catchUp();
    pass(HTTP_LIMITS.connectionCheckMs);
    assert.ok(!isInLane(socket));
    socket.write(REST + post('quick'));
    assert.deepEqual(await readBodies(socket, 2), ['quick', 'quick']);
  });

  test('leaves everything from the first unusual request on to Node', async (t) => {
    const { connect, isInLane } = await openServer(t);
    const socket = await connect();
    const unusual = post('quick').replace('Host: localhost', 'Host: localhost\r\nX: a\r\nX: b');
    socket.write(post('quick') + unusual + post('quick'));
    assert.deepEqual(await readBodies(socket, 3), ['quick', 'quick', 'quick']);
    assert.ok(!isInLane(socket));
  });

  test('leaves to Node what has arrived while it was busy, in order', async (t) => {
    const { connect, catchUp, held, isInLane } = await openServer(t);
    const socket = await connect(post('held'));
    await held.begun.promise;
    const large = post('quick', `${BODY}${' '.repeat(HTTP_LIMITS.bodyBytes - BODY.length)}`);
    const unusual = post('quick').replace('HTTP/1.1', 'HTTP/1.1\r\nX: a\r\nX: b');
    for (const piece of [post('quick'), large, unusual, large, post('quick')]) {
      socket.write(piece);
      await catchUp();
    }
    held.reply.resolve(text('quick'));
    assert.deepEqual(
      await readBodies(socket, 6),
      Array.from({ length: 6 }, () => 'quick'),
    );
    assert.ok(!isInLane(socket));
  });

  test('reads hardly anything more while it works on a request', async (t) => {
    const { connect, catchUp, held, bytesReadFrom } = await openServer(t);
    const socket = await connect(post('held'));
    await held.begun.promise;
    socket.write(post('quick').repeat(50_000));
    await catchUp();
    await catchUp();
    assert.ok(bytesReadFrom(socket) < 512 * 1024, `${bytesReadFrom(socket)} bytes were read`);
  });

  test('notices that the client of a long request is gone, also behind further requests', async (t) => {
    const { connect, catchUp, watched } = await openServer(t);
    const socket = await connect(post('watched'));
    const client = await watched.promise;
    for (let i = 0; i < 3; i++) {
      socket.write(post('quick'));
      await catchUp();
    }
    assert.equal(client.isGone, false);
    socket.destroy();
    for (let turn = 0; turn < 50 && !client.isGone; turn++) await catchUp();
    assert.equal(client.isGone, true);
  });

  test('reads no further while a client does not read its answers', async (t) => {
    const { connect, catchUp, counts, pass } = await openServer(t);
    const socket = await connect();
    socket.pause().write(post('long').repeat(100));
    await catchUp();
    await catchUp();
    assert.ok(counts.long < 20, `${counts.long} requests were answered`);
    const closed = closing(socket);
    // A client that does not read notices the end only when it writes.
    const turn = () => new Promise<false>((resolve) => setImmediate(() => resolve(false)));
    while ((await Promise.race([closed, turn()])) === false) {
      socket.write('\r\n');
      pass(HTTP_LIMITS.readTimeoutMs / 10);
    }
  });

  test('closes a connection that it cannot answer, and continues', async (t) => {
    const wrap = (app: App): App => ({
      ...app,
      findPlain: (path) =>
        path === '/api/v4/held' ? () => Promise.reject(new Error('A bug.')) : app.findPlain(path),
    });
    const { connect, catchUp } = await openServer(t, { wrap });
    assert.equal(await readToEnd(await connect(post('held'))), '');
    await catchUp();
  });

  test('leaves a connection to Node that it does not know', async (t) => {
    const { server } = await openServer(t);
    // Its addresses are unknown once it was reset, but here it lives on.
    const socket = Object.defineProperty(new MemorySocket(), 'remotePort', { get: () => Math.random() });
    server.emit('connection', socket);
    socket.push(Buffer.from(post('quick')));
    while (!socket.readAll().endsWith('quick')) await new Promise((resolve) => setImmediate(resolve));
    socket.destroy();
  });

  test('is not there before the server has started', async (t) => {
    const entrance = deferApp();
    const opened = Promise.withResolvers<App>();
    const wrap = (app: App): App => {
      opened.resolve(app);
      return entrance;
    };
    const { connect, isInLane } = await openServer(t, { wrap });
    const early = await connect(post('quick'));
    const [told] = await once(early, 'data');
    assert.match(String(told), /^HTTP\/1\.1 503 .*\r\nRetry-After: 1\r\n/s);
    entrance.open(await opened.promise);
    early.write(post('quick'));
    const [answer] = await once(early, 'data');
    assert.match(String(answer), /quick$/);
    const next = await connect(post('quick'));
    await once(next, 'readable');
    assert.deepEqual([early, next].map(isInLane), [false, true]);
  });
});

/** What both ways of reading have to do alike. */
for (const hasLane of [true, false]) {
  describe(`a connection ${hasLane ? 'in the lane' : 'that Node reads'}`, () => {
    test('is kept for the next request, and then closed', async (t) => {
      const { connect, catchUp, pass } = await openServer(t, { hasLane });
      const socket = await connect(post('quick'));
      await once(socket, 'readable');
      pass(HTTP_LIMITS.keepAliveTimeoutMs);
      await catchUp();
      socket.read();
      socket.removeAllListeners('readable');
      socket.write(post('quick'));
      const [answer] = await once(socket, 'data');
      assert.match(String(answer), /quick$/);
      if (!hasLane) return;
      // Node does this with a timer of its own.
      const closed = closing(socket);
      pass(HTTP_LIMITS.keepAliveTimeoutMs + 2000);
      await closed;
    });

    test('is told when half a request is all there is', async (t) => {
      const { connect } = await openServer(t, { hasLane });
      const socket = await connect(HEAD_AND_HALF);
      socket.end();
      assert.match(await readToEnd(socket), /^HTTP\/1\.1 400 Bad Request\r\n.*"bad_request"/s);
    });

    test('is closed when the client stops talking', async (t) => {
      const { connect } = await openServer(t, { hasLane });
      const socket = await connect(post('quick'));
      await once(socket, 'readable');
      socket.end();
      assert.match(await readToEnd(socket), /quick$/);
    });

    test('is closed without an answer when the client stops talking before it is ready', async (t) => {
      const { connect, held, catchUp } = await openServer(t, { hasLane });
      const socket = await connect(post('held'));
      await held.begun.promise;
      socket.end();
      assert.equal(await readToEnd(socket), '');
      held.reply.resolve(text('late'));
      await catchUp();
    });

    test('may be reset at any time', async (t) => {
      const { connect, held, catchUp } = await openServer(t, { hasLane });
      const busy = await connect(post('held'));
      await held.begun.promise;
      const waiting = await connect(HEAD_AND_HALF);
      const idle = await connect(post('quick'));
      await once(idle, 'readable');
      for (const socket of [busy, waiting, idle]) socket.resetAndDestroy();
      await catchUp();
      held.reply.resolve(text('late'));
      await catchUp();
    });

    test('is left as soon as its client ends it, since no answer reaches it', async (t) => {
      const departures: (Departure | undefined)[] = [];
      const watch =
        (answer: AnswerRoute): AnswerRoute =>
        (request, peer) => {
          departures.push(request.watch?.());
          return answer(request, peer);
        };
      const wrap = (app: App): App => ({
        ...app,
        answer: watch(app.answer),
        findPlain: (path) => watch(app.findPlain(path) as AnswerRoute),
      });
      const { server, connect, held } = await openServer(t, { hasLane, wrap });
      const accepted = once(server, 'connection');
      const client = await connect(post('held'));
      const [socket] = await accepted;
      await held.begun.promise;
      client.end();
      const isGone = await new Promise((resolve) => socket.once('end', () => resolve(departures[0]?.isGone)));
      assert.equal(isGone, true);
      held.reply.resolve(text('late'));
    });

    test('counts against the limit of its address', async (t) => {
      const { connect } = await openServer(t, { hasLane, maxConnectionsPerAddress: 2 });
      const held = [await connect(post('quick')), await connect(post('quick'))];
      await Promise.all(held.map((socket) => once(socket, 'readable')));
      assert.equal(await readToEnd(await connect(post('quick'))), '');
    });

    test('is closed by a stop when it is idle, and answered first when it is not', async (t) => {
      const { connect, held, stop } = await openServer(t, { hasLane });
      const idle = await connect(post('quick'));
      await once(idle, 'readable');
      const closed = closing(idle.removeAllListeners('readable').resume());
      const busy = await connect(post('held'));
      const answered = readToEnd(busy);
      await held.begun.promise;
      const stopped = stop();
      t.mock.timers.tick(HTTP_LIMITS.connectionCheckMs);
      await closed;
      held.reply.resolve(text('at last'));
      while (!(await Promise.race([answered, later()]))) t.mock.timers.tick(HTTP_LIMITS.connectionCheckMs);
      assert.match(await answered, /at last$/);
      await stopped;
    });

    test('is cut by a stop when its request takes too long to arrive', async (t) => {
      const { connect, catchUp, stop } = await openServer(t, { hasLane });
      const socket = await connect(HEAD_AND_HALF);
      await catchUp();
      const closed = readToEnd(socket);
      t.mock.timers.reset();
      t.mock.timers.enable({ apis: ['setTimeout', 'setInterval'] });
      const stopped = stop();
      t.mock.timers.tick(HTTP_LIMITS.drainTimeoutMs);
      assert.equal(await closed, '');
      await stopped;
    });
  });
}

/** Nothing yet, when everything else had its turn. */
function later(): Promise<''> {
  return new Promise((resolve) => setImmediate(() => resolve('')));
}
