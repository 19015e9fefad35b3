import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { describe, type TestContext, test } from 'node:test';
import { defineRoute } from '@berth/server/http/route';
import { openSocket, readAnswerFrom, readToEnd } from '../../../test/support/raw-socket.ts';
import { openTestApp } from '../../../test/support/test-app.ts';
import { HTTP_LIMITS } from '../src/limits.ts';
import { listen } from '../src/listen.ts';
import { json, type Reply } from '../src/reply.ts';

const BLOCK = new Uint8Array(64 * 1024);

function get(path: string, header = ''): string {
  return `GET ${path} HTTP/1.1\r\nHost: x\r\n${header}\r\n`;
}

function routeOf(path: `/${string}`, handle: () => Reply | Promise<Reply>) {
  const about = { summary: 'For a test', answer: { kind: 'events', about: 'bytes' }, errors: [] } as const;
  return defineRoute(`GET ${path}`, { name: path, access: 'public', ...about, handle });
}

/** A stream that the test writes to. */
function openEvents() {
  const opened = Promise.withResolvers<ReadableStreamDefaultController<Uint8Array>>();
  const body = new ReadableStream<Uint8Array>({ start: (controller) => opened.resolve(controller) });
  const say = async (text: string) => (await opened.promise).enqueue(Buffer.from(text));
  return { body, say };
}

/** An endless stream. */
function endless(): ReadableStream<Uint8Array> {
  return new ReadableStream({ pull: (controller) => controller.enqueue(BLOCK) });
}

/** A server whose clock and connection checks the test controls. */
async function openServer(t: TestContext) {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const events = openEvents();
  const held = { begun: Promise.withResolvers<void>(), reply: Promise.withResolvers<Reply>() };
  const routes = [
    routeOf('/endless', () => ({ status: 200, type: 'events', body: endless() })),
    routeOf('/events', () => ({ status: 200, type: 'events', body: events.body })),
    routeOf('/held', () => {
      held.begun.resolve();
      return held.reply.promise;
    }),
  ];
  const { app, clock } = await openTestApp(t, { routes });
  const bounds = { maxConnections: 100, maxConnectionsPerAddress: 100, trustedProxies: [] };
  const place = { host: '127.0.0.1', port: 0, certificates: null };
  const { url, stop } = await listen(app, { ...place, ...bounds, clock });
  const sockets: Socket[] = [];
  t.after(() => {
    t.mock.timers.reset();
    for (const socket of sockets) socket.destroy();
    return stop();
  });
  /** A connection that has received the start of a response, or has sent no request. */
  const connect = async (request?: string): Promise<Socket> => {
    const socket = openSocket(url);
    sockets.push(socket.on('error', () => {}));
    await once(socket, 'connect');
    if (request === undefined) return socket;
    socket.write(request);
    await once(socket, 'readable');
    return socket;
  };
  /** Advances the clock and triggers a check of the connections. */
  const pass = (millis: number) => {
    clock.advance(millis);
    t.mock.timers.tick(HTTP_LIMITS.connectionCheckMs);
  };
  return { url, connect, events, held, pass };
}

/** Resolves whether or not the connection ends with an error. */
function closing(socket: Socket): Promise<true> {
  return new Promise((resolve) => socket.once('close', () => resolve(true)));
}

type TestServer = Awaited<ReturnType<typeof openServer>>;

/** Opens a connection that never sends a request, after the others. Once it is cut, all were checked. */
async function passAndLook({ connect, pass }: TestServer, millis: number): Promise<void> {
  const bait = await connect();
  // When a later connection is answered, the server knows about this one.
  await connect(get('/'));
  const closed = closing(bait.resume());
  pass(millis);
  await closed;
}

describe('a connection is cut', () => {
  test('when it sends nothing, which it is told', async (t) => {
    const { connect, pass } = await openServer(t);
    const silent = await connect();
    await connect(get('/'));
    pass(HTTP_LIMITS.headersTimeoutMs + 1);
    assert.match(await readToEnd(silent), /^HTTP\/1\.1 408 [^{]*Connection: close\r\n.*"request_timeout"/s);
  });

  test('when it does not finish its first request in time', async (t) => {
    const { connect, pass } = await openServer(t);
    const slow = await connect();
    await new Promise((resolve) => slow.write('GET /', resolve));
    await connect(get('/'));
    pass(HTTP_LIMITS.firstRequestTimeoutMs + 1);
    // Node would cut it too, a few seconds later, but with a response.
    assert.equal(await readToEnd(slow), '');
  });

  test('when it sends empty lines for ever after its last request', async (t) => {
    const { connect, pass } = await openServer(t);
    const socket = await connect(get('/'));
    const closed = closing(socket.resume());
    socket.write('\r\n');
    pass(HTTP_LIMITS.keepAliveTimeoutMs + HTTP_LIMITS.requestTimeoutMs + 1);
    await closed;
  });

  test('when its answer is not read', async (t) => {
    const { connect, pass } = await openServer(t);
    const socket = await connect(get('/endless'));
    const closed = closing(socket);
    // A client that does not read notices the end only when it writes.
    const turn = () => new Promise<false>((resolve) => setImmediate(() => resolve(false)));
    while (!(await Promise.race([closed, turn()]))) {
      socket.write('\r\n');
      pass(HTTP_LIMITS.readTimeoutMs / 10);
    }
  });
});

describe('a connection stays open', () => {
  test('while its answer is being read, however long that takes', async (t) => {
    const { connect, pass } = await openServer(t);
    const socket = await connect(get('/endless'));
    const enough = Promise.withResolvers<false>();
    let looks = 0;
    socket.on('data', () => {
      looks += 1;
      if (looks <= 500) pass(HTTP_LIMITS.readTimeoutMs / 100);
      else enough.resolve(false);
    });
    assert.equal(await Promise.race([closing(socket), enough.promise]), false);
  });

  for (const header of ['', 'Expect:\r\n']) {
    test(`while its stream has nothing to send (${header.trim() || 'plain'})`, async (t) => {
      const server = await openServer(t);
      const socket = await server.connect(get('/events', header));
      await passAndLook(server, 60 * 60 * 1000);
      socket.removeAllListeners('readable').read();
      await server.events.say('still here');
      const [heard] = await once(socket, 'data');
      assert.match(String(heard), /still here/);
    });
  }

  test('while the server works on its request', async (t) => {
    const server = await openServer(t);
    const socket = openSocket(server.url);
    socket.write(get('/held'));
    await server.held.begun.promise;
    await passAndLook(server, 60 * 60 * 1000);
    server.held.reply.resolve(json({}));
    assert.equal((await readAnswerFrom(socket)).status, 200);
  });

  test('while it is kept for the next request', async (t) => {
    const server = await openServer(t);
    const socket = await server.connect(get('/'));
    await passAndLook(server, HTTP_LIMITS.keepAliveTimeoutMs - 1);
    socket.removeAllListeners('readable').read();
    socket.write(get('/'));
    assert.equal((await readAnswerFrom(socket)).status, 200);
  });
});

test('garbage after a request is not answered in its place', async (t) => {
  for (const garbage of ['nonsense\r\n\r\n', 'CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n']) {
    const { url, held } = await openServer(t);
    const socket = openSocket(url);
    socket.write(get('/held'));
    await held.begun.promise;
    socket.write(garbage);
    assert.equal(await readToEnd(socket), '');
    t.mock.timers.reset();
  }
});
