import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Server } from 'node:http';
import { connect, type Socket } from 'node:net';
import { describe, test } from 'node:test';
import { problem } from '@berth/server/http/reply/problem';
import { defineRoute } from '@berth/server/http/route';
import { exchange, openSocket, readAnswerFrom } from '../../../test/support/raw-socket.ts';
import { openTestApp, type TestAppOptions } from '../../../test/support/test-app.ts';
import { HTTP_LIMITS } from '../src/limits.ts';
import { createHttpServer, listen, listening } from '../src/listen.ts';
import { empty } from '../src/reply.ts';

interface TestContext {
  after(work: () => unknown): void;
}

/** The app on a real socket. */
async function openListening(
  t: TestContext,
  options: TestAppOptions,
  { maxConnectionsPerAddress = 100, trustedProxies = [] as readonly string[] } = {},
) {
  const test = await openTestApp(t, options);
  const bounds = { maxConnections: 100, maxConnectionsPerAddress, trustedProxies };
  const place = { host: '127.0.0.1', port: 0, certificates: null, clock: test.clock };
  const { url, stop } = await listen(test.app, { ...place, ...bounds });
  t.after(stop);
  return { ...test, url, stop };
}

/** A route that responds when the test says so. */
function waitingRoute() {
  const begun = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<void>();
  const route = defineRoute('GET /waiting', {
    name: 'waiting',
    access: 'public',
    summary: 'Waits',
    answer: { kind: 'empty' },
    errors: [],
    handle: async () => {
      begun.resolve();
      await answer.promise;
      return empty();
    },
  });
  return { route, begun: begun.promise, answer: () => answer.resolve() };
}

function createSilentServer(): Server {
  return createHttpServer({ answer: () => new Promise(() => {}), refuse: problem });
}

describe('slow clients', () => {
  test('are cut at the configured limits', () => {
    const server = createSilentServer();
    assert.equal(server.headersTimeout, HTTP_LIMITS.headersTimeoutMs);
    assert.equal(server.requestTimeout, HTTP_LIMITS.requestTimeoutMs);
    assert.equal(server.keepAliveTimeout, HTTP_LIMITS.keepAliveTimeoutMs);
    assert.equal(HTTP_LIMITS.headersTimeoutMs, 10_000);
    assert.ok(HTTP_LIMITS.connectionCheckMs <= 1000, 'a bound holds only as often as it is looked at');
    const longest = HTTP_LIMITS.requestTimeoutMs + HTTP_LIMITS.connectionCheckMs + HTTP_LIMITS.farewellMs;
    assert.ok(longest < 15_000, 'nothing slow lives longer');
  });

  test('are told why when they are cut', async (t) => {
    const server: Server = createSilentServer();
    await listening(server, () => server.listen(0, '127.0.0.1'));
    t.after(() => server.close());
    const { port } = server.address() as { port: number };
    const accepted = once(server, 'connection');
    const socket = connect(port, '127.0.0.1');
    const [connection] = (await accepted) as [Socket];
    // Emits what Node reports for a request that did not arrive in time.
    const error = Object.assign(new Error('timeout'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' });
    server.emit('clientError', error, connection);
    const { status, headers, text } = await readAnswerFrom(socket);
    assert.equal(status, 408);
    assert.equal(JSON.parse(text).code, 'request_timeout');
    assert.equal(headers.get('connection'), 'close');
  });
});

describe('a handler that crashes over a socket', () => {
  test('answers 500, and the connection and the server continue', async (t) => {
    const route = defineRoute('POST /broken', {
      name: 'broken',
      access: 'public',
      summary: 'Fails',
      answer: { kind: 'empty' },
      errors: [],
      handle: async () => {
        throw new RangeError('secret detail');
      },
    });
    const { url, log } = await openListening(t, { routes: [route] });
    const answer = await fetch(`${url}/broken`, { method: 'POST', body: '{}' });
    const body = (await answer.json()) as Record<string, string>;
    assert.equal(answer.status, 500);
    assert.equal(body.code, 'internal_error');
    assert.doesNotMatch(JSON.stringify(body), /secret|RangeError| at /);
    const line = log.find(({ requestId }) => requestId === body.request_id);
    assert.match(line?.detail as string, /^RangeError: secret detail\n {4}at /);
    assert.equal((await fetch(`${url}/api/v4/health`)).status, 200);
  });
});

/** Both ends of a connection that requested a tunnel; the client keeps listening. */
async function askForTunnel(t: TestContext) {
  const server: Server = createSilentServer();
  await listening(server, () => server.listen(0, '127.0.0.1'));
  t.after(() => server.close());
  const { port } = server.address() as { port: number };
  const asked = once(server, 'connect');
  const client = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  t.after(() => client.destroy());
  client.write('CONNECT example.com:443 HTTP/1.1\r\nHost: x\r\n\r\n');
  const [, connection] = (await asked) as [unknown, Socket];
  return { connection, client };
}

describe('a client that requests a tunnel', () => {
  test('and is gone before the answer does no harm', async (t) => {
    const { connection } = await askForTunnel(t);
    const closed = new Promise((resolve) => connection.once('close', resolve));
    // Emits what Node reports if the response cannot be written; without a listener it ends the process.
    connection.destroy(new Error('write ECONNRESET'));
    await closed;
  });

  test('and stays does not keep the connection', async (t) => {
    const { connection, client } = await askForTunnel(t);
    if (!connection.closed) await once(connection, 'close');
    assert.equal((await readAnswerFrom(client)).status, 400);
  });
});

describe('connections', () => {
  test('of one address are bounded, and a closed one makes room', async (t) => {
    const { url } = await openListening(t, {}, { maxConnectionsPerAddress: 2 });
    const held = [openSocket(url), openSocket(url)];
    await Promise.all(held.map((socket) => once(socket, 'connect')));
    const refused = openSocket(url);
    refused.on('error', () => {});
    await once(refused, 'close');
    const [first, second] = held as [Socket, Socket];
    first.destroy();
    second.write('GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    assert.equal((await readAnswerFrom(second)).status, 200);
    const { status } = await exchange(url, 'GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    assert.equal(status, 200);
  });

  test('of a trusted proxy are not: it stands for many clients', async (t) => {
    const options = { maxConnectionsPerAddress: 1, trustedProxies: ['127.0.0.0/8'] };
    const { url } = await openListening(t, {}, options);
    const held = openSocket(url);
    await once(held, 'connect');
    const { status } = await exchange(url, 'GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    assert.equal(status, 200);
    held.destroy();
  });

  test('that are idle do not delay a stop, a running request does', async (t) => {
    const { route, begun, answer } = waitingRoute();
    const { url, stop } = await openListening(t, { routes: [route] });
    const idle = openSocket(url);
    await once(idle, 'connect');
    const closed = once(idle.resume(), 'close');
    const asked = fetch(`${url}/waiting`);
    await begun;
    let isStopped = false;
    const stopping = stop().then(() => {
      isStopped = true;
    });
    await closed;
    assert.equal(isStopped, false);
    answer();
    assert.equal((await asked).status, 200);
    await stopping;
    await assert.rejects(fetch(`${url}/`));
  });
});
