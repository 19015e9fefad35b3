import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { describe, type TestContext, test } from 'node:test';
import { createServer as createTlsServer } from 'node:tls';
import { makeTestCertificate } from '../../../../test/support/certificate.ts';
import { instant } from '../../src/core/nouns/instant.ts';
import { presentSent } from '../../src/http/reply/present-event.ts';
import type { SentEvent } from '../../src/receivers/event-receiver.ts';
import { createSyslog, type SyslogOptions } from '../../src/receivers/syslog.ts';

const AT = instant(Date.UTC(2030, 0, 15, 12));
const EVENTS = ['ann', 'bø\nb'].map((version, n) => ({
  id: `${n + 1}.0`,
  licenseId: null,
  at: AT,
  event: { kind: 'server_started', version } as const,
})) as unknown as readonly [SentEvent, SentEvent];

function open(url: string, options: Partial<SyslogOptions> = {}) {
  const { signal } = new AbortController();
  const usual = { url, ca: null, hostname: 'ws-7', timeoutMs: 10_000, signal, present: presentSent };
  return createSyslog({ ...usual, ...options });
}

/** The messages of a stream, by their lengths. */
function readFrames(bytes: Buffer): string[] {
  const frames: string[] = [];
  for (let rest = bytes; rest.length > 0; ) {
    const space = rest.indexOf(' ');
    const end = space + 1 + Number(rest.subarray(0, space).toString());
    frames.push(rest.subarray(space + 1, end).toString());
    rest = rest.subarray(end);
  }
  return frames;
}

async function listen(t: TestContext, server: Server): Promise<number> {
  server.on('connection', (socket) => {
    socket.on('error', () => {});
    t.after(() => socket.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  return (server.address() as AddressInfo).port;
}

/** Keeps what each connection has sent until it ended. */
function keep(got: Buffer[]): (socket: Socket) => void {
  return (socket) => {
    const parts: Buffer[] = [];
    socket.on('data', (part) => parts.push(part as Buffer));
    socket.on('end', () => got.push(Buffer.concat(parts)));
    socket.on('error', () => {});
  };
}

const EXPECTED = [
  '<110>1 2030-01-15T12:00:00.000Z ws-7 berth - server_started - ' +
    '{"id":"1.0","kind":"server_started","license_id":null,"at":"2030-01-15T12:00:00.000Z","version":"ann"}',
  '<110>1 2030-01-15T12:00:00.000Z ws-7 berth - server_started - ' +
    '{"id":"2.0","kind":"server_started","license_id":null,"at":"2030-01-15T12:00:00.000Z",' +
    '"version":"bø\\nb"}',
];

describe('a syslog receiver', () => {
  test('over TCP gets a portion in order, each message with its length', async (t) => {
    const got: Buffer[] = [];
    const port = await listen(t, createServer(keep(got)));
    assert.deepEqual(await open(`tcp://127.0.0.1:${port}`).send(EVENTS), { kind: 'delivered' });
    assert.deepEqual(readFrames(got[0] as Buffer), EXPECTED);
  });

  test('over TLS gets them if it is trusted, and nothing otherwise', async (t) => {
    const certificate = makeTestCertificate();
    const got: Buffer[] = [];
    const port = await listen(t, createTlsServer(certificate, keep(got)));
    const url = `tls://127.0.0.1:${port}`;
    assert.deepEqual(await open(url).send(EVENTS), {
      kind: 'failed',
      reason: 'it cannot be reached (DEPTH_ZERO_SELF_SIGNED_CERT)',
    });
    assert.equal(got.length, 0);
    assert.deepEqual(await open(url, { ca: certificate.cert }).send(EVENTS), { kind: 'delivered' });
    assert.deepEqual(readFrames(got[0] as Buffer), EXPECTED);
  });

  test('over UDP gets each in a datagram, cut if it does not fit', async (t) => {
    const socket = createSocket('udp4');
    t.after(() => socket.close());
    socket.bind(0, '127.0.0.1');
    await once(socket, 'listening');
    const got: string[] = [];
    const all = new Promise<void>((resolve) =>
      socket.on('message', (message) => got.push(message.toString()) === 3 && resolve()),
    );
    const [first, second] = EVENTS;
    const large = { ...first, event: { kind: 'server_started', version: 'x'.repeat(100_000) } as const };
    const receiver = open(`udp://127.0.0.1:${socket.address().port}`);
    assert.deepEqual(await receiver.send([first, second, large]), { kind: 'delivered' });
    await all;
    assert.deepEqual(got.slice(0, 2), EXPECTED);
    assert.equal(got[2]?.length, 65_000);
  });

  test('that may not have read everything gets it again', async (t) => {
    const polite: readonly ((socket: Socket) => void)[] = [
      (socket) => socket.end(),
      (socket) => socket.destroy(),
    ];
    const rude: typeof polite = [
      (socket) => socket.resetAndDestroy(),
      (socket) => socket.once('data', () => socket.resetAndDestroy()),
    ];
    // More than the kernels keep for both sides.
    const large = { ...EVENTS[0], event: { kind: 'server_started', version: 'x'.repeat(20e6) } as const };
    for (const react of [...polite, ...rude]) {
      const port = await listen(t, createServer({ allowHalfOpen: true }, react));
      for (const event of [EVENTS[0], large]) {
        const { kind } = await open(`tcp://127.0.0.1:${port}`).send([event]);
        assert.equal(kind, 'failed', String(react));
      }
    }
    const certificate = makeTestCertificate();
    for (const react of polite) {
      const port = await listen(t, createTlsServer(certificate, react));
      const { kind } = await open(`tls://127.0.0.1:${port}`, { ca: certificate.cert }).send(EVENTS);
      assert.equal(kind, 'failed', `TLS: ${react}`);
    }
    const closing = await listen(
      t,
      createServer((socket) => void socket.end()),
    );
    assert.deepEqual(await open(`tcp://127.0.0.1:${closing}`).send(EVENTS), {
      kind: 'failed',
      reason: 'it closed the connection too early',
    });
  });

  test('that hangs is given up, and one that is away is named', async (t) => {
    const sockets: Socket[] = [];
    t.after(() => sockets.forEach((socket) => void socket.destroy()));
    const server = createServer({ allowHalfOpen: true }, (socket) => void sockets.push(socket));
    const port = await listen(t, server);
    const slow = await open(`tcp://127.0.0.1:${port}`, { timeoutMs: 50 }).send(EVENTS);
    assert.deepEqual(slow, { kind: 'failed', reason: 'it did not answer in time' });
    const away = await open('tcp://127.0.0.1:1').send(EVENTS);
    assert.deepEqual(away, { kind: 'failed', reason: 'it cannot be reached (ECONNREFUSED)' });
    const stop = new AbortController();
    const waiting = open(`tcp://127.0.0.1:${port}`, { signal: stop.signal }).send(EVENTS);
    stop.abort();
    assert.deepEqual(await waiting, { kind: 'stopping' });
    for (const scheme of ['tcp', 'udp']) {
      const late = open(`${scheme}://127.0.0.1:${port}`, { signal: stop.signal }).send(EVENTS);
      assert.deepEqual(await late, { kind: 'stopping' });
    }
  });
});
