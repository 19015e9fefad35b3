import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { defineRoute } from '@berth/server/http/route';
import { exchange } from '../../../test/support/raw-socket.ts';
import { openTestApp } from '../../../test/support/test-app.ts';
import { listen } from '../src/listen.ts';
import { json } from '../src/reply.ts';

/** A server that responds with the peer it sees. */
async function openMirror(t: TestContext, trustedProxies: readonly string[], host = '127.0.0.1') {
  const route = defineRoute('GET /mirror', {
    name: 'mirror',
    access: 'public',
    summary: 'Who asks',
    answer: { kind: 'empty' },
    errors: [],
    handle: ({ peer, caller }) => json({ address: peer.address, caller: caller.address }),
  });
  const { app, clock } = await openTestApp(t, { routes: [route], clientRequestsPerMinute: 1 });
  const bounds = { maxConnections: 100, maxConnectionsPerAddress: 100, trustedProxies };
  const place = { host, port: 0, certificates: null, clock };
  const { url, stop } = await listen(app, { ...place, ...bounds });
  t.after(stop);
  const port = new URL(url).port;
  const ask = (path: string, headers: Readonly<Record<string, string>> = {}) =>
    fetch(`http://127.0.0.1:${port}${path}`, { headers });
  const addressFor = async (headers?: Readonly<Record<string, string>>) => {
    const seen = (await (await ask('/mirror', headers)).json()) as { address: string; caller: string };
    assert.equal(seen.address, seen.caller);
    return seen.address;
  };
  return { url, ask, addressFor };
}

const SPOOFED = {
  'x-forwarded-for': '203.0.113.7',
  'x-forwarded-proto': 'https',
  forwarded: 'for=203.0.113.7;proto=https',
};

describe('the client', () => {
  test('is the other end of the connection, whatever its headers say', async (t) => {
    const { addressFor } = await openMirror(t, []);
    assert.equal(await addressFor(), '127.0.0.1');
    assert.equal(await addressFor(SPOOFED), '127.0.0.1');
    const { addressFor: elsewhere } = await openMirror(t, ['10.0.0.0/8', '::1']);
    assert.equal(await elsewhere(SPOOFED), '127.0.0.1');
  });

  test('is the one that a trusted proxy names', async (t) => {
    const { addressFor } = await openMirror(t, ['127.0.0.1', '10.0.0.0/8']);
    assert.equal(await addressFor(), '127.0.0.1');
    assert.equal(await addressFor(SPOOFED), '203.0.113.7');
    assert.equal(
      await addressFor({ 'x-forwarded-for': '198.51.100.1, 203.0.113.7, 10.1.1.1' }),
      '203.0.113.7',
    );
    assert.equal(await addressFor({ forwarded: 'for="[2001:db8::1]:80"' }), '2001:db8::1');
  });

  test('has an IPv4 address even if the server listens on IPv6', async (t) => {
    const { addressFor } = await openMirror(t, [], '::');
    assert.equal(await addressFor(SPOOFED), '127.0.0.1');
    const { addressFor: trusting } = await openMirror(t, ['127.0.0.0/8'], '::');
    assert.equal(await trusting(SPOOFED), '203.0.113.7');
  });

  test('is limited by its effective address', async (t) => {
    const spoofing = await openMirror(t, []);
    const statusFor = async ({ ask }: typeof spoofing, address: string) =>
      (await ask('/api/v4/license', { 'x-forwarded-for': address })).status;
    assert.equal(await statusFor(spoofing, '203.0.113.1'), 200);
    assert.equal(await statusFor(spoofing, '203.0.113.2'), 429);
    const proxied = await openMirror(t, ['127.0.0.1']);
    assert.equal(await statusFor(proxied, '203.0.113.1'), 200);
    assert.equal(await statusFor(proxied, '203.0.113.1'), 429);
    assert.equal(await statusFor(proxied, '203.0.113.2'), 200);
  });
});

describe('an administrator without credentials', () => {
  test('never comes through a proxy, trusted or not', async (t) => {
    for (const proxies of [[], ['127.0.0.1']]) {
      const { url } = await openMirror(t, proxies);
      const head = `GET /api/admin/status HTTP/1.1\r\nHost: localhost\r\n`;
      assert.equal((await exchange(url, `${head}\r\n`)).status, 200);
      for (const name of ['X-Forwarded-For', 'X-Forwarded-Proto', 'Forwarded']) {
        for (const value of ['127.0.0.1', 'for=127.0.0.1', 'https']) {
          assert.equal((await exchange(url, `${head}${name}: ${value}\r\n\r\n`)).status, 401, name);
        }
      }
    }
  });
});
