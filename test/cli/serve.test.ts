import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { askBerth, runBerth } from '../support/berth-command.ts';
import { BERTH } from '../support/program.ts';
import { startServerHere } from '../support/server-here.ts';
import { type StartOptions, startServerProcess, temporaryFolder } from '../support/server-process.ts';

interface Events {
  readonly events: readonly { readonly kind: string }[];
}

async function startServer(t: TestContext, options: StartOptions) {
  const server = await startServerProcess(options);
  t.after(() => server.stop('SIGKILL'));
  return server;
}

async function listSystemEvents(data: string): Promise<string[]> {
  const { events } = await askBerth<Events>(data, ['audit', 'list', '--system']);
  // When the server signs, and whether there is anything to sign, is another matter.
  return events.map(({ kind }) => kind).filter((kind) => kind !== 'heads_signed');
}

function modeOf(path: string): string {
  return (statSync(path).mode & 0o777).toString(8);
}

/** Runs a server until its first line, ends it with a signal, and hands back all that it printed. */
async function serveUntilReady(data: string, args: readonly string[], signal: NodeJS.Signals) {
  const words = [...BERTH.args, 'serve', '--port', '0', '--data', data, ...args];
  const child = spawn(BERTH.file, words, { stdio: ['ignore', 'pipe', 'ignore'] });
  let stdout = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  await once(child.stdout, 'data');
  child.kill(signal);
  const [code] = await once(child, 'close');
  return { code, stdout };
}

describe('a server', () => {
  test('prints one line when it is ready, and exits with 0 when it is stopped', async (t) => {
    const data = temporaryFolder(t);
    const args = ['--log-level', 'error'];
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      const { code, stdout } = await serveUntilReady(data, args, signal);
      assert.match(stdout, /^berth listening on http:\/\/127\.0\.0\.1:\d+\n$/);
      assert.equal(code, 0);
    }
    const json = await serveUntilReady(data, [...args, '--json'], 'SIGTERM');
    assert.match(JSON.parse(json.stdout).url, /^http:/);
    const life = ['server_stopped', 'server_started'];
    assert.deepEqual(await listSystemEvents(data), [...life, ...life, ...life, 'account_created']);
  });

  test('keeps its data to its owner', async (t) => {
    const data = join(temporaryFolder(t), 'deep', 'data');
    const server = await startServer(t, { data });
    assert.equal(modeOf(data), '700');
    assert.equal(modeOf(join(data, 'master.key')), '600');
    assert.equal(modeOf(join(data, 'berth.sock')), '600');
    assert.equal(existsSync(join(data, 'control.json')), false);
    assert.equal(await server.stop(), 0);
    assert.equal(existsSync(join(data, 'berth.sock')), false);
  });

  test('uses a port and a token where the path is too long for a socket', async (t) => {
    const data = join(temporaryFolder(t), 'd'.repeat(100));
    const server = await startServerHere({ data, args: ['--demo'] });
    t.after(server.stop);
    const file = join(data, 'control.json');
    assert.equal(existsSync(join(data, 'berth.sock')), false);
    assert.equal(modeOf(file), '600');
    const { port } = JSON.parse(readFileSync(file, 'utf8'));
    for (const headers of [{}, { 'x-berth-control': 'guess' }]) {
      const answer = await fetch(`http://127.0.0.1:${port}/api/admin/status`, { headers });
      assert.equal(answer.status, 401);
    }
    const status = await askBerth<{ url: string }>(data, ['status']);
    assert.equal(status.url, server.url);
    await server.stop();
    assert.equal(existsSync(file), false);
    assert.equal((await askBerth<{ url: null }>(data, ['status'])).url, null);
  });
});

describe('a second server', () => {
  test('on the same data is refused with a message, and the first one continues', async (t) => {
    const data = temporaryFolder(t);
    const server = await startServer(t, { data });
    const holder = `another Berth process \\(process id ${server.child.pid}\\)`;
    for (const port of ['0', new URL(server.url).port]) {
      const { code, stdout, stderr } = await runBerth(data, ['serve', '--port', port]);
      assert.equal(code, 1);
      assert.equal(stdout, '');
      assert.match(stderr, new RegExp(`^The data folder .* is in use by ${holder}\\. [^\\n]*\\n$`));
    }
    assert.equal((await fetch(`${server.url}/api/v4/health`)).status, 200);
  });

  test('on the same port is refused with a message, and releases its data', async (t) => {
    const server = await startServerHere({ data: temporaryFolder(t) });
    t.after(server.stop);
    const data = temporaryFolder(t);
    const { port } = new URL(server.url);
    const { code, stdout, stderr } = await runBerth(data, ['serve', '--port', port]);
    assert.equal(code, 1);
    assert.equal(stdout, '');
    assert.match(stderr, new RegExp(`Cannot listen on 127\\.0\\.0\\.1 port ${port}: .*\\n$`));
    assert.doesNotMatch(stderr, /\n {4}at /);
    await (await startServerHere({ data })).stop();
    assert.deepEqual(await listSystemEvents(data), ['server_stopped', 'server_started', 'account_created']);
  });
});

test('another master key is refused with both fingerprints', async (t) => {
  const data = temporaryFolder(t);
  await (await startServerHere({ data })).stop();
  const env = { BERTH_MASTER_KEY: 'ab'.repeat(32) };
  for (const words of [['serve', '--port', '0'], ['status']]) {
    const { code, stdout, stderr } = await runBerth(data, words, env);
    assert.equal(code, 1);
    assert.equal(stdout, '');
    const fingerprints = stderr.match(/\b[0-9a-f]{16}\b/g);
    assert.equal(new Set(fingerprints).size, 2, stderr);
    assert.doesNotMatch(stderr, /\n {4}at |abab/);
  }
  const right = { BERTH_MASTER_KEY_FILE: join(data, 'master.key') };
  assert.equal((await runBerth(data, ['clock'], right)).code, 0);
});

test('the one-time password is shown once, works, and is stored nowhere', async (t) => {
  const data = temporaryFolder(t);
  const first = await startServer(t, { data });
  const [, password = ''] = /one-time password {2}(\S+)\n/.exec(first.readLog()) ?? [];
  assert.match(password, /^(\w{5}-){4}\w{5}$/);
  const authorization = `Basic ${Buffer.from(`admin:${password}`).toString('base64')}`;
  const answer = await fetch(`${first.url}/auth`, { headers: { authorization } });
  assert.equal(answer.status, 200);
  const closed = once(first.child, 'close');
  assert.equal(await first.stop(), 0);
  await closed;
  const logLines = first
    .readLog()
    .split('\n')
    .filter((line) => line.startsWith('{'));
  assert.ok(logLines.length > 0);
  for (const line of logLines) assert.ok(!line.includes(password));
  assert.equal(first.readLog().split(password).length, 2, 'shown once');
  const bytes = Buffer.from(password);
  for (const name of readdirSync(data)) {
    const content = readFileSync(join(data, name), 'latin1');
    for (const form of [password, bytes.toString('hex'), bytes.toString('base64')]) {
      assert.ok(!content.includes(form), `${name} holds the password`);
    }
  }
  const second = await startServerHere({ data });
  t.after(second.stop);
  assert.doesNotMatch(second.announced, /password/);
});
