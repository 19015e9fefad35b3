import assert from 'node:assert/strict';
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { createPublicKey } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { request } from 'node:https';
import { connect } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, type TestContext, test } from 'node:test';
import { connect as connectTls } from 'node:tls';
import { promisify } from 'node:util';
import type { CloudKeys } from '@berth/protocol/cloud/cloud-authorization';
import { cloudLicense } from '@berth/protocol/cloud/cloud-license';
import { isSignedBy, SIGNATURE_HEADER } from '@berth/protocol/cloud/vendor-signature';
import { cloudFolder, signedHeaders } from '../support/cloud/test-cloud.ts';
import { ensureTool } from '../support/install-tools.ts';
import { BERTH } from '../support/program.ts';

const run = promisify(execFile);
const CLOUD = [...BERTH.args, 'cloud'];

async function tell(data: string, ...words: string[]) {
  const { stdout } = await run(BERTH.file, [...CLOUD, ...words, '--data', data, '--json']);
  return JSON.parse(stdout);
}

/** Fails where the cloud does not speak this cipher of TLS 1.2. */
async function shakeHands(url: string, ciphers: string): Promise<void> {
  const { hostname, port } = new URL(url);
  const place = {
    host: hostname,
    port: Number(port),
    maxVersion: 'TLSv1.2',
    rejectUnauthorized: false,
  } as const;
  const socket = connectTls({ ...place, ciphers });
  await once(socket, 'secureConnect');
  socket.destroy();
}

interface Started {
  readonly child: ChildProcess;
  readonly firstLine: string;
  readonly exited: Promise<unknown[]>;
  readLog(): string;
}

/** Starts the program and waits for its first line. It is gone after the test. */
async function start(t: TestContext, words: readonly string[]): Promise<Started> {
  const child = spawn(BERTH.file, [...CLOUD, ...words], { stdio: ['pipe', 'pipe', 'pipe'] });
  let log = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    log += text;
  });
  const exited = once(child, 'exit');
  t.after(() => child.kill('SIGKILL'));
  const line = once(createInterface({ input: child.stdout }), 'line');
  const first = await Promise.race([line, exited.then(() => null)]);
  assert.ok(first !== null, `It ended before it was ready:\n${log}`);
  return { child, firstLine: String(first[0]), exited, readLog: () => log };
}

async function post(url: string, keys: CloudKeys, operation: string, fields: object): Promise<Response> {
  const headers = signedHeaders(keys, Date.now());
  return fetch(`${url}/api/v4/${operation}`, { method: 'POST', headers, body: JSON.stringify(fields) });
}

/** As the server writes it: `test/e2e/http-log.test.ts`. */
const REQUEST_LINE = ['info', 'request', 'string', 'number', 'number'] as const;

describe('the cloud as a process', () => {
  test('serves what the command line grants, and stops cleanly', async (t) => {
    const data = cloudFolder(t);
    const cloud = await start(t, ['serve', '--port', '0', '--data', data]);
    const url = /^cloud listening on (http:\/\/127\.0\.0\.1:\d+)$/.exec(cloud.firstLine)?.[1] ?? '';
    const key = await tell(data, 'key', 'create');
    const keys = { apiKey: key.api_key, sharedKey: key.shared_key };
    await tell(data, 'product', 'create', 'cad');
    const { license_key } = await tell(data, 'license', 'create', '--product', 'cad', '--slots', '5');
    const who = { product: 'cad', license_key, hardware_id: 'machine-1', hostname: 'alpha' };
    const response = await post(url, keys, 'activate_license', who);
    const bytes = new Uint8Array(await response.arrayBuffer());
    assert.equal(cloudLicense.parse(JSON.parse(Buffer.from(bytes).toString())).floating_users, 5);
    const publicKey = createPublicKey((await tell(data, 'public-key')).public_key);
    assert.ok(isSignedBy(publicKey, bytes, response.headers.get(SIGNATURE_HEADER) ?? ''));
    assert.equal((await tell(data, 'license', 'show', license_key)).devices[0].hostname, 'alpha');
    await tell(data, 'license', 'disable', license_key);
    const refused = (await (await post(url, keys, 'activate_license', who)).json()) as { code: string };
    assert.equal(refused.code, 'license_not_enabled');
    cloud.child.kill('SIGTERM');
    assert.deepEqual(await cloud.exited, [0, null]);
    const [first = '', ...lines] = cloud.readLog().trim().split('\n');
    const started = JSON.parse(first);
    assert.deepEqual([started.msg, started.url, started.data], ['serving', url, data]);
    for (const line of lines) {
      const { level, time, msg, route, status, ms } = JSON.parse(line);
      assert.deepEqual([level, msg, typeof route, typeof status, typeof ms], [...REQUEST_LINE]);
      assert.equal(new Date(time).toISOString(), time);
      assert.deepEqual(Object.keys(JSON.parse(line)).slice(0, 3), ['level', 'time', 'route']);
    }
    assert.ok(!cloud.readLog().includes(license_key));
  });

  test('answers invalid HTTP in JSON, signed', async (t) => {
    const data = cloudFolder(t);
    const cloud = await start(t, ['serve', '--port', '0', '--data', data]);
    const port = Number(/:(\d+)$/.exec(cloud.firstLine)?.[1]);
    const socket = connect(port, '127.0.0.1');
    socket.end('this is not HTTP\r\n\r\n');
    let text = '';
    for await (const chunk of socket.setEncoding('utf8')) text += chunk;
    const [head = '', body = ''] = text.split('\r\n\r\n');
    assert.equal(JSON.parse(body).code, 'bad_request');
    const signature = /^LicenseSignature: (.+)$/m.exec(head)?.[1]?.trim() ?? '';
    const publicKey = createPublicKey(readFileSync(join(data, 'signing-key.pem')));
    assert.ok(isSignedBy(publicKey, Buffer.from(body), signature));
  });

  test('speaks TLS, and warns beyond the machine without it', async (t) => {
    if (!(await ensureTool('openssl'))) return t.skip('openssl is missing');
    const data = cloudFolder(t);
    const [cert, key] = [join(data, 'cert.pem'), join(data, 'key.pem')];
    const make =
      'req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1';
    await run('openssl', [...make.split(' '), '-keyout', key, '-out', cert]);
    const words = ['serve', '--port', '0', '--data', data, '--json'];
    const secure = await start(t, [...words, '--tls-cert', cert, '--tls-key', key]);
    const { url } = JSON.parse(secure.firstLine);
    assert.match(url, /^https:/);
    const asked = request(`${url}/health`, { ca: readFileSync(cert) }).end();
    const [incoming] = await once(asked, 'response');
    assert.equal(incoming.statusCode, 200);
    assert.match(incoming.headers['strict-transport-security'], /^max-age=31536000; includeSubDomains$/);
    incoming.resume();
    await assert.rejects(shakeHands(url, 'AES256-GCM-SHA384'), 'a cipher without forward secrecy');
    await shakeHands(url, 'ECDHE-RSA-AES256-GCM-SHA384');
    assert.equal(secure.readLog().includes('without TLS'), false);
    const open = await start(t, [...words, '--host', '0.0.0.0']);
    assert.match(open.readLog(), /"level":"warn".+without TLS/);
  });

  test('a port in use is reported in one sentence', async (t) => {
    const first = await start(t, ['serve', '--port', '0', '--data', cloudFolder(t)]);
    const port = /:(\d+)$/.exec(first.firstLine)?.[1] ?? '';
    const second = run(BERTH.file, [...CLOUD, 'serve', '--port', port, '--data', cloudFolder(t)]);
    await assert.rejects(second, ({ code, stderr }: { code: number; stderr: string }) => {
      assert.equal(code, 1);
      assert.match(stderr, /^Cannot listen on 127\.0\.0\.1 port \d+: another program[^\n]+--port\.\n$/);
      return true;
    });
  });
});

describe('the demo', () => {
  test('contains what it says, and ends with whoever started it', async (t) => {
    const data = cloudFolder(t);
    const demo = await start(t, ['demo', '--data', data]);
    const facts = JSON.parse(demo.firstLine);
    const keys = { apiKey: facts.api_key, sharedKey: facts.shared_key };
    const who = { product: facts.product, license_key: facts.license_key, hardware_id: 'machine-1' };
    const license = cloudLicense.parse(await (await post(facts.url, keys, 'activate_license', who)).json());
    assert.equal(license.floating_users, 5);
    assert.equal(license.floating_timeout, 10);
    assert.equal(license.max_borrow_time, 168);
    assert.deepEqual([license.max_consumptions, license.consumption_period], [1000, 'monthly']);
    assert.deepEqual(
      license.product_features.map(({ code, max_consumptions, floating_users }) => [
        code,
        max_consumptions,
        floating_users,
      ]),
      [
        ['export', 100, undefined],
        ['render', 0, 2],
      ],
    );
    demo.child.stdin?.end();
    assert.deepEqual(await demo.exited, [0, null]);
    const again = await start(t, ['demo', '--data', data]);
    const { url: _first, ...kept } = facts;
    const { url: _second, ...found } = JSON.parse(again.firstLine);
    assert.deepEqual(found, kept, 'a second start finds the same');
    again.child.kill('SIGINT');
    assert.deepEqual(await again.exited, [0, null]);
  });

  test('leaves a real cloud alone', async (t) => {
    const data = cloudFolder(t);
    await tell(data, 'product', 'create', 'cad');
    const demo = run(BERTH.file, [...CLOUD, 'demo', '--data', data]);
    await assert.rejects(demo, ({ code, stderr }: { code: number; stderr: string }) => {
      assert.equal(code, 1);
      assert.match(stderr, /is not a demo/);
      return true;
    });
  });
});
