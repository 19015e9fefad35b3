import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { runBerth } from '../../support/berth-command.ts';
import { exchange } from '../../support/raw-socket.ts';
import { findForms } from '../../support/secret-search.ts';
import {
  type ServerProcess,
  seedLicenses,
  startServerProcess,
  temporaryFolder,
} from '../../support/server-process.ts';
import { testLicense } from '../../support/test-license.ts';

/**
 * One attack for each way in which license servers have been broken into, on a real server. What needs a
 * cloud, a file or a clock is attacked in the tests of those.
 */

const PASSWORD = 'a password of my own';

const folder = temporaryFolder({ after });
const data = join(folder, 'data');
let server: ServerProcess;

before(async () => {
  mkdirSync(join(folder, 'outside'));
  writeFileSync(join(folder, 'outside', 'secret.txt'), 'must stay as it is');
  await seedLicenses(data, [testLicense(1)]);
  server = await startServerProcess({ data, args: ['--log-requests'] });
});

after(() => server.stop('SIGKILL'));

/** Replaces the one-time password: the server is set up. Made once, by whoever comes first. */
let setUp: Promise<void> | null = null;

function setUpServer(): Promise<void> {
  setUp ??= runBerth(data, ['user', 'password', 'admin'], {}, `${PASSWORD}\n`).then(({ code, stderr }) =>
    assert.equal(code, 0, stderr),
  );
  return setUp;
}

async function signIn(): Promise<string> {
  await setUpServer();
  const basic = Buffer.from(`admin:${PASSWORD}`).toString('base64');
  const answer = await fetch(`${server.url}/auth`, { headers: { authorization: `Basic ${basic}` } });
  return ((await answer.json()) as { token: string }).token;
}

async function expectAlive(): Promise<void> {
  assert.equal((await fetch(`${server.url}/api/v4/health`)).status, 200);
  assert.equal(server.child.exitCode, null);
  assert.doesNotMatch(server.readLog(), /"msg":"bug"| at .*\.ts:\d+/);
}

/** Everything under the folder beside the data, by name and content. */
function readOutside(): Record<string, string> {
  const names = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.parentPath.startsWith(data))
    .map(({ parentPath, name }) => join(parentPath, name));
  return Object.fromEntries(names.map((name) => [name, readFileSync(name, 'utf8')]));
}

interface Operation {
  readonly method: string;
  readonly path: string;
  readonly isAdministration: boolean;
}

/** Every operation that the server says it has, and whether it asks for credentials. */
async function listOperations(): Promise<readonly Operation[]> {
  const document = (await (await fetch(`${server.url}/api/v4/openapi.json`)).json()) as {
    paths: Record<string, Record<string, { security?: object }>>;
  };
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { security }]) => ({
      method: method.toUpperCase(),
      path,
      // Whatever says nothing of its own is for administrators.
      isAdministration: security === undefined,
    })),
  );
}

describe('known attacks', () => {
  test('cross-site request forgery: a page in a browser on the machine gets nothing', async () => {
    const pages: Record<string, string>[] = [
      { origin: 'http://evil.example' },
      { origin: 'null' },
      { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' },
      { cookie: 'visited=1' },
      { host: 'evil.example' },
    ];
    for (const headers of pages) {
      for (const path of ['/api/v4/unregister/all', '/api/v4/setKeys?apiKey=x', '/api/admin/status']) {
        const lines = Object.entries({ host: '127.0.0.1', ...headers }).map(
          ([name, value]) => `${name}: ${value}`,
        );
        const request = `GET ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\nConnection: close\r\n\r\n`;
        const { status } = await exchange(server.url, request);
        assert.equal(status, 401, `${path} ${JSON.stringify(headers)}`);
      }
    }
  });

  test('unauthenticated administration: once the server is set up, nothing of it is open', async () => {
    await setUpServer();
    const administration = (await listOperations()).filter(({ isAdministration }) => isAdministration);
    assert.ok(administration.length > 30);
    for (const { method, path } of administration) {
      const body = method === 'POST' ? { body: '{}' } : {};
      const answer = await fetch(`${server.url}${path}`, { method, ...body });
      assert.equal(answer.status, 401, `${method} ${path}`);
      await answer.body?.cancel();
    }
  });

  test('default credentials: none of the usual ones works', async () => {
    for (const pair of ['admin:admin', 'admin:', 'admin:password', 'admin:berth', 'root:root', ':']) {
      const basic = Buffer.from(pair).toString('base64');
      const { status } = await fetch(`${server.url}/auth`, { headers: { authorization: `Basic ${basic}` } });
      assert.ok(status === 401 || status === 429, pair);
    }
  });

  test('path traversal: no path leads to a file', async () => {
    const paths = [
      '/../outside/secret.txt',
      '/../../../../../../../../etc/passwd',
      '/api/v4/../../outside/secret.txt',
      '/%2e%2e/%2e%2e/outside/secret.txt',
      '/..%2foutside%2fsecret.txt',
      '/..\\outside\\secret.txt',
      '/%252e%252e/outside/secret.txt',
      '/api/v4/docs/../../../master.key',
      '/master.key',
      '/berth.db',
      '/api/v4/docs.css%00.html',
      `/${'../'.repeat(200)}etc/passwd`,
    ];
    for (const path of paths) {
      const request = `GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`;
      const { status, text } = await exchange(server.url, request);
      assert.ok(status === 404 || status === 400, `${path}: ${status}`);
      assert.ok(!text.includes('must stay') && !text.includes('root:'), path);
    }
  });

  test('file upload: what is sent as a license is neither stored nor run, whatever its name', async () => {
    const before = readOutside();
    const inData = readdirSync(data).sort();
    const authorization = `Bearer ${await signIn()}`;
    for (const name of ['../outside/secret.txt', '/etc/cron.d/berth', 'shell.php', '..\\..\\x.lic', 'a\0b']) {
      const form = new FormData();
      form.set('file', new Blob(['<?php system($_GET[0]); ?>']), name);
      const headers = { authorization };
      const answer = await fetch(`${server.url}/api/v4/license/upload`, {
        method: 'POST',
        body: form,
        headers,
      });
      assert.equal(answer.status, 400, name);
    }
    assert.deepEqual(readOutside(), before);
    assert.deepEqual(readdirSync(data).sort(), inData);
  });

  test('stack exhaustion: malformed requests are refused, and the server continues', async () => {
    const deep = '['.repeat(30_000);
    const bodies = [
      deep,
      `{"user":${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}}`,
      `"${'\\u0000'.repeat(10_000)}"`,
      `{"user":"${'x'.repeat(60_000)}"}`,
      `{${Array.from({ length: 5_000 }, (_, n) => `"k${n}":1`).join(',')},"user":[[]]}`,
      '\uD800',
    ];
    for (const body of bodies) {
      const { status } = await fetch(`${server.url}/api/v4/register`, { method: 'POST', body });
      assert.equal(status, 400, body.slice(0, 20));
    }
    const headers = `X-Long: ${'y'.repeat(20_000)}`;
    const { status } = await exchange(server.url, `GET / HTTP/1.1\r\nHost: x\r\n${headers}\r\n\r\n`);
    assert.equal(status, 431);
    await expectAlive();
  });

  test('request smuggling: an ambiguous request is refused', async () => {
    const both =
      'POST /api/v4/register HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n' +
      '0\r\n\r\nGET /api/admin/status HTTP/1.1\r\nHost: x\r\n\r\n';
    assert.equal((await exchange(server.url, both)).status, 400);
    const twice =
      'POST /api/v4/register HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nContent-Length: 4\r\n\r\n{}xx';
    assert.equal((await exchange(server.url, twice)).status, 400);
    await expectAlive();
  });

  test('credentials in URLs and logs: what came in a URL is in no log and no file', async () => {
    const authorization = `Bearer ${await signIn()}`;
    const secret = 'planted-in-a-url-8271';
    const url = `${server.url}/api/v4/setKeys?apiKey=${secret}&sharedKey=${secret}`;
    assert.equal((await fetch(url, { headers: { authorization } })).status, 200);
    const wrong = `${server.url}/api/v4/setPassword?passwordOld=${secret}&passwordNew=${secret}`;
    assert.equal((await fetch(wrong, { headers: { authorization } })).status, 400);
    assert.equal((await fetch(`${server.url}/api/v4/nowhere?apiKey=${secret}`)).status, 404);
    assert.match(server.readLog(), /set_keys/);
    const files = readdirSync(data).filter((name) => name !== 'berth.sock');
    const stored = files.map((name) => readFileSync(join(data, name)));
    for (const bytes of [Buffer.from(server.readLog()), ...stored]) {
      assert.deepEqual(findForms(bytes, secret), []);
    }
  });

  test('privilege escalation: a user creates no administrator, not even of itself', async () => {
    const authorization = `Bearer ${await signIn()}`;
    const post = (path: string, body: object, token: string) =>
      fetch(`${server.url}${path}`, {
        method: 'POST',
        body: JSON.stringify(body),
        headers: { authorization: token },
      });
    const made = await post('/api/admin/tokens/create', { name: 'app', role: 'user' }, authorization);
    const user = `Bearer ${((await made.json()) as { token: string }).token}`;
    const wishes: [string, object][] = [
      ['/api/admin/users/add', { name: 'eve', role: 'admin' }],
      ['/api/admin/users/role', { name: 'admin', role: 'user' }],
      ['/api/admin/users/password', { name: 'admin', password: PASSWORD }],
      ['/api/admin/tokens/create', { name: 'eve', role: 'admin' }],
      ['/api/admin/keys/export', { passphrase: PASSWORD }],
    ];
    for (const [path, body] of wishes) assert.equal((await post(path, body, user)).status, 403, path);
    const list = await runBerth(data, ['user', 'list', '--json']);
    assert.equal((JSON.parse(list.stdout) as { users: unknown[] }).users.length, 1);
    await expectAlive();
  });
});
