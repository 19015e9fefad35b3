import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { describe, type TestContext, test } from 'node:test';
import { createClientPlaces } from './client-places.ts';
import { limitConnections } from './limit-connections.ts';
import { LIMITS } from './limits.ts';

const LARGE = Buffer.alloc(64 * 1024 * 1024);

/** A server with timeouts of milliseconds instead of seconds. */
async function openServer(t: TestContext, limits: Partial<Record<keyof typeof LIMITS, number>>) {
  const server = createServer((_, outgoing) => outgoing.end(LARGE));
  limitConnections(server, {
    places: createClientPlaces([]),
    isTls: false,
    limits: { ...LIMITS, ...limits },
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const open = async (localAddress = '127.0.0.1'): Promise<Socket> => {
    const socket = connect({ host: '127.0.0.1', port, localAddress });
    t.after(() => socket.destroy());
    socket.on('error', () => {});
    await once(socket, 'connect');
    return socket;
  };
  return Object.assign(open, { server });
}

/** Resolves on any end: a reset emits an error before it closes. */
function untilClosed(socket: Socket): Promise<void> {
  return new Promise((resolve) => socket.once('close', () => resolve()));
}

describe('a connection is cut', () => {
  test('on which nothing is sent', async (t) => {
    const open = await openServer(t, { silenceTimeoutMs: 50 });
    const socket = (await open()).resume();
    await untilClosed(socket);
  });

  test('on which something is sent, but no request', async (t) => {
    const open = await openServer(t, { firstRequestTimeoutMs: 200 });
    const socket = (await open()).resume();
    const drip = setInterval(() => socket.write('\r\n'), 20);
    t.after(() => clearInterval(drip));
    await untilClosed(socket);
  });

  test('whose answer nobody reads', async (t) => {
    const open = await openServer(t, { silenceTimeoutMs: 50 });
    const accepted = once(open.server, 'connection');
    const socket = await open();
    const [peer] = (await accepted) as [Socket];
    socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    await untilClosed(peer);
  });

  test('beyond the limit of its address; another address has its own', async (t) => {
    const open = await openServer(t, { connectionsPerPlace: 2 });
    const [first, second, third] = [await open(), await open(), await open()];
    third.resume();
    await untilClosed(third);
    await open('127.0.0.2');
    assert.ok(!first.closed && !second.closed);
  });
});
