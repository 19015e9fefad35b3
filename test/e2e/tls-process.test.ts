import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { connect } from 'node:tls';
import { askBerth, runBerth } from '../support/berth-command.ts';
import { type Certificate, makeTestCertificate } from '../support/certificate.ts';
import { pollUntil } from '../support/poll.ts';
import { seedLicenses, startServerProcess, temporaryFolder } from '../support/server-process.ts';

interface Status {
  readonly url: string | null;
  readonly tls: Readonly<Record<string, unknown>> | null;
}

function writePair(t: TestContext, pair: Certificate) {
  const folder = temporaryFolder(t);
  const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
  writeFileSync(cert, pair.cert);
  writeFileSync(key, pair.key);
  return { cert, key, args: ['--tls-cert', cert, '--tls-key', key] };
}

function fingerprintOf({ cert }: Certificate): string {
  return new X509Certificate(cert).fingerprint256;
}

async function shownBy(url: string): Promise<string> {
  const { hostname: host, port } = new URL(url);
  const socket = connect({ host, port: Number(port), rejectUnauthorized: false });
  await once(socket, 'secureConnect');
  const { fingerprint256 } = socket.getPeerCertificate();
  socket.destroy();
  return fingerprint256;
}

async function statusOf(url: string, agent: Agent): Promise<number> {
  const [answer] = await once(request(`${url}/api/v4/health`, { agent }).end(), 'response');
  answer.resume();
  await once(answer, 'end');
  return answer.statusCode;
}

/** Every line of the key's text. */
function linesOf({ key }: Certificate): readonly string[] {
  return key.split('\n').filter((line) => line.length > 20 && !line.startsWith('-'));
}

test('a server switches to another certificate while it runs, and never reveals a key', async (t) => {
  const data = temporaryFolder(t);
  const first = makeTestCertificate({ commonName: 'first' });
  const { cert, key, args } = writePair(t, first);
  await seedLicenses(data);
  const server = await startServerProcess({ data, args: ['--demo', '--host', '0.0.0.0', ...args] });
  t.after(() => server.stop('SIGKILL'));
  assert.match(server.url, /^https:\/\/0\.0\.0\.0:\d+$/);
  assert.doesNotMatch(server.readLog(), /without TLS/);
  const url = server.url.replace('0.0.0.0', '127.0.0.1');
  const kept = new Agent({ keepAlive: true, maxSockets: 1, ca: first.cert });
  t.after(() => kept.destroy());
  assert.equal(await statusOf(url, kept), 200);

  const next = makeTestCertificate({ commonName: 'next' });
  writeFileSync(key, next.key);
  const error = await pollUntil('the wrong pair is told', async () => {
    const { tls } = await askBerth<Status>(data, ['status']);
    return tls?.error ?? undefined;
  });
  assert.match(String(error), /does not belong to the first certificate/);
  assert.equal(await shownBy(url), fingerprintOf(first));

  writeFileSync(cert, next.cert);
  await pollUntil(
    'the next one is shown',
    async () => (await shownBy(url)) === fingerprintOf(next) || undefined,
  );
  // The same connection: another one would not trust the new certificate.
  assert.equal(await statusOf(url, kept), 200);
  const { url: told, tls } = await askBerth<Status>(data, ['status']);
  assert.equal(told, server.url);
  const rest = { valid_until: '2100-12-31T23:59:59.000Z', asks_clients: false, error: null };
  assert.deepEqual(tls, { subject: 'CN=next', fingerprint256: fingerprintOf(next), ...rest });

  const { stdout } = await runBerth(data, ['status']);
  assert.match(stdout, /^certificate +CN=next, /m);
  assert.match(stdout, /^Running at https:/m);
  assert.equal(await server.stop(), 0);
  const log = server.readLog();
  assert.equal(log.match(/the previous ones stay in use/g)?.length, 1, log);
  for (const line of [...linesOf(first), ...linesOf(next)]) assert.ok(!`${log}${stdout}`.includes(line));
  assert.equal((await askBerth<Status>(data, ['status'])).tls, null);
});

test('a server does not start with invalid files, and says why', async (t) => {
  const data = temporaryFolder(t);
  const { args, key } = writePair(t, makeTestCertificate());
  const other = makeTestCertificate();
  writeFileSync(key, other.key);
  const { code, stdout, stderr } = await runBerth(data, ['serve', '--port', '0', ...args]);
  assert.equal(code, 1);
  assert.equal(stdout, '');
  assert.match(
    stderr,
    /^The key in \S+key\.pem does not belong to the first certificate in \S+cert\.pem\.\n$/,
  );
  for (const line of linesOf(other)) assert.ok(!stderr.includes(line));
  const alone = await runBerth(data, ['serve', '--port', '0', '--tls-key', key]);
  assert.equal(alone.code, 2);
  assert.match(alone.stderr, /^Set both "tls\.cert" and "tls\.key"/);
});

test('a demo cloud beside a server over TLS works', async (t) => {
  const data = temporaryFolder(t);
  const { args } = writePair(t, makeTestCertificate());
  const server = await startServerProcess({ data, args: ['--demo-cloud', ...args] });
  t.after(() => server.stop('SIGKILL'));
  assert.match(server.url, /^https:/);
  const { licenses } = await askBerth<{ licenses: readonly unknown[] }>(data, ['license', 'list']);
  assert.equal(licenses.length, 1);
  assert.equal(await server.stop(), 0);
});
