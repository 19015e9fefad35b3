import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { request as requestTls } from 'node:https';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { makeTestCertificate } from '../support/certificate.ts';
import { seedLicenses, startServerProcess, temporaryFolder } from '../support/server-process.ts';
import {
  openSlowClient,
  SLOW_HANDSHAKES,
  SLOW_KINDS,
  type SlowClient,
  type SlowKind,
} from './slow-clients.ts';

async function startServer(t: TestContext, args: readonly string[] = []) {
  const data = temporaryFolder(t);
  await seedLicenses(data);
  const server = await startServerProcess({ data, args: ['--demo', ...args] });
  t.after(() => server.stop('SIGKILL'));
  return server;
}

const TIMED_OUT = /^HTTP\/1\.1 408 .*"request_timeout"/s;

/** `npm run faults -- slow-clients` opens a thousand. */
const COUNT = Number(process.env.BERTH_SLOW_CLIENTS ?? 100);

/** In waves, because hundreds of handshakes at once are a test of the machine; all are there in the end. */
const WAVE = 100;

/** Fewer over TLS, where each costs more. */
const COUNT_TLS = Math.min(Math.ceil(COUNT / 4), 60);

async function openMany(
  url: string,
  kinds: readonly SlowKind[],
  count: number,
): Promise<readonly SlowClient[]> {
  const clients: SlowClient[] = [];
  while (clients.length < count) {
    const size = Math.min(WAVE, count - clients.length);
    const wave = Array.from({ length: size }, (_, index) => kinds[index % kinds.length] as SlowKind);
    clients.push(...(await Promise.all(wave.map((kind) => openSlowClient(url, kind)))));
    assert.equal(await renew(url), 200);
  }
  return clients;
}

/** An application that renews its slot; answers the status that it gets. */
function renew(url: string): Promise<number> {
  const headers = { 'Content-Type': 'application/json' };
  const options = { method: 'POST', headers, rejectUnauthorized: false };
  return new Promise((resolve, reject) => {
    const asked = (url.startsWith('https:') ? requestTls : request)(`${url}/api/v4/register`, options);
    asked.on('error', reject).on('response', (answer) => {
      answer.resume().on('end', () => resolve(answer.statusCode as number));
    });
    asked.end('{"product":"demo","user":"honest"}');
  });
}

const ASK_EVERY_MS = 50;

/** Asks like any other client until the slow ones are gone, and answers every status that it got. */
async function askMeanwhile(url: string, gone: Promise<unknown>): Promise<readonly number[]> {
  const statuses: number[] = [];
  let isOver = false;
  void gone.then(() => {
    isOver = true;
  });
  while (!isOver) {
    statuses.push(await renew(url));
    await delay(ASK_EVERY_MS);
  }
  return statuses;
}

async function expectAllCut(url: string, clients: readonly SlowClient[]): Promise<void> {
  const cuts = Promise.all(clients.map(({ wasCut }) => wasCut));
  const statuses = await askMeanwhile(url, cuts);
  const late = (await cuts).flatMap((wasCut, index) => (wasCut ? [] : [clients[index]?.kind.name]));
  assert.deepEqual([...new Set(late)], [], `${late.length} were not cut`);
  assert.deepEqual([...new Set(statuses)], [200], 'others are answered all the while');
}

/** At the same time: they mostly wait. */
describe('slow clients', { concurrency: true }, () => {
  test(`${COUNT} slow clients are cut, and the others are served`, async (t) => {
    const server = await startServer(t);
    const clients = await openMany(server.url, SLOW_KINDS, COUNT);
    await expectAllCut(server.url, clients);
    t.diagnostic(JSON.stringify({ 'slow clients': COUNT }));
    for (const [kind, alike] of Map.groupBy(clients, (client) => client.kind)) {
      const told = alike.filter(({ readHeard }) => TIMED_OUT.test(readHeard()));
      // Whoever still sends when the connection is cut may lose what was said last.
      if (kind.reads && kind.dribble === '') assert.equal(told.length, alike.length, kind.name);
      else if (kind.reads) assert.ok(told.length > 0, kind.name);
    }
    assert.doesNotMatch(server.readLog(), /"level":"error"/);
    assert.equal(await server.stop(), 0);
  });

  test('slow clients are cut over TLS too, from the handshake on', async (t) => {
    const folder = temporaryFolder(t);
    const { cert, key } = makeTestCertificate();
    const [certFile, keyFile] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
    writeFileSync(certFile, cert);
    writeFileSync(keyFile, key);
    const server = await startServer(t, ['--tls-cert', certFile, '--tls-key', keyFile]);
    const kinds = [...SLOW_KINDS, ...SLOW_HANDSHAKES];
    await expectAllCut(server.url, await openMany(server.url, kinds, COUNT_TLS));
    t.diagnostic(JSON.stringify({ 'slow clients': COUNT_TLS }));
    assert.doesNotMatch(server.readLog(), /"level":"error"/);
    assert.equal(await server.stop(), 0);
  });
});
