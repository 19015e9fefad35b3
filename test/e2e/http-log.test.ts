import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, type TestContext, test } from 'node:test';
import {
  type ServerProcess,
  seedLicenses,
  startServerProcess,
  temporaryFolder,
} from '../support/server-process.ts';

const SECRET = 'planted-secret/ä&7';

/** Requests that carry a secret in every place where a client may put one. */
async function visit({ url }: ServerProcess): Promise<void> {
  const planted = encodeURIComponent(SECRET);
  const headers = { authorization: `Bearer ${planted}` };
  const post = (path: string, body: string) => fetch(`${url}${path}`, { method: 'POST', body });
  await post(`/api/v4/register?sharedKey=${planted}`, '{"user":"ann"}');
  await post('/api/v4/register', `{"user":"ann","license_id":"${SECRET}"}`);
  await post(`/api/v4/unregister?x=${planted}`, `{"user":"ann","__proto__":"${SECRET}"}`);
  await fetch(`${url}/api/v4/license?product=${planted}`);
  const proxied = { via: '1.1 proxy' };
  await fetch(`${url}/api/v4/setKeys?apiKey=${planted}&sharedKey=${planted}`, { headers: proxied });
  await fetch(`${url}/api/admin/status?token=${planted}`, { headers });
  const basic = Buffer.from(`admin:${SECRET}`).toString('base64');
  await fetch(`${url}/auth?p=${planted}`, { headers: { authorization: `Basic ${basic}` } });
}

/** A machine that is busy makes requests slow, which is another line. */
const ARGS = ['--demo', '--log-slow-request-ms', '600000'];

/** Starts a server, visits it, stops it and answers the lines of its log that came after the start. */
async function collectLog(t: TestContext, args: readonly string[], env: Record<string, string> = {}) {
  const data = temporaryFolder(t);
  await seedLicenses(data);
  const server = await startServerProcess({ data, args: [...ARGS, ...args], env });
  t.after(() => server.stop('SIGKILL'));
  await visit(server);
  const closed = once(server.child, 'close');
  assert.equal(await server.stop(), 0);
  await closed;
  const log = server.readLog();
  const forms = [SECRET, encodeURIComponent(SECRET), Buffer.from(SECRET).toString('base64'), 'planted'];
  for (const form of forms) assert.ok(!log.includes(form), `the log shows the secret as ${form}`);
  return log.split('\n').filter((line) => line !== '');
}

function parseLines(lines: readonly string[]): Record<string, unknown>[] {
  return lines.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line));
}

describe('the log', () => {
  test('has no line for a request unless it was refused for its credentials', async (t) => {
    const lines = parseLines(await collectLog(t, []));
    const requests = lines.filter((line) => 'route' in line);
    assert.deepEqual(
      requests.map(({ route, status, level, msg }) => ({ route, status, level, msg })),
      [
        { route: 'set_keys', status: 401, level: 'warn', msg: 'request refused' },
        { route: 'admin_status', status: 401, level: 'warn', msg: 'request refused' },
        { route: 'auth', status: 401, level: 'warn', msg: 'request refused' },
      ],
    );
    const told = lines.filter((line) => !('route' in line)).map(({ msg }) => msg);
    const signed = /^the audit log was signed/;
    const expected = [/added the demo license/, signed, /^serving$/, /^stopping$/, signed, /^stopped$/];
    assert.equal(told.length, expected.length);
    for (const [index, sentence] of expected.entries()) assert.match(told[index] as string, sentence);
  });

  test('has a line for every request when asked to, with names of routes, never a URL', async (t) => {
    const lines = parseLines(await collectLog(t, ['--log-requests', '--log-format', 'json']));
    const requests = lines.filter(({ msg }) => msg === 'request');
    assert.deepEqual(
      requests.map(({ route, status }) => [route, status]),
      [
        ['register', 200],
        ['register', 400],
        ['unregister', 400],
        ['license', 400],
        ['set_keys', 401],
        ['admin_status', 401],
        ['auth', 401],
      ],
    );
    for (const line of requests) {
      assert.deepEqual(Object.keys(line), ['level', 'time', 'route', 'address', 'status', 'ms', 'msg']);
      assert.match(line.time as string, /^\d{4}-.*Z$/);
    }
  });

  test('is text for people if configured, and warns of unknown variables', async (t) => {
    const args = ['--log-format', 'text', '--log-requests'];
    const lines = await collectLog(t, args, { BERTH_PROT: '1' });
    const requests = lines.filter((line) => line.includes(' route='));
    assert.equal(requests.length, 7);
    assert.match(
      requests[0] ?? '',
      /^\S+Z info {2}request route="register" address="127.0.0.1" status=200 ms=\d+$/,
    );
    const warning = 'warn  The environment variable BERTH_PROT is unknown. Did you mean "BERTH_PORT"?';
    assert.ok(lines.some((line) => line.endsWith(warning)));
  });

  test('has only lines of the configured level', async (t) => {
    const lines = parseLines(await collectLog(t, ['--log-level', 'error']));
    assert.deepEqual(lines, []);
  });
});
