import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, type TestContext, test } from 'node:test';
import { askBerth } from '../support/berth-command.ts';
import { PROJECT, plainEnv } from '../support/clone.ts';
import { temporaryFolder } from '../support/server-process.ts';

const skip = process.platform === 'win32' && 'signals of POSIX';

/** A server that something else has started, up and running. */
interface Started {
  readonly starter: ChildProcess;
  /** The process id of the server itself. */
  readonly pid: number;
  readonly data: string;
  readonly url: string;
  /** Resolves when nobody is left who could write: neither the server nor anything beside it. */
  readonly ended: Promise<unknown>;
}

interface StartOptions {
  readonly level?: string;
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
}

async function start(
  t: TestContext,
  file: string,
  words: readonly string[],
  { level = 'error', cwd = PROJECT, env = {} }: StartOptions = {},
): Promise<Started> {
  const data = temporaryFolder(t);
  const args = [...words, '--port', '0', '--data', data, '--log-level', level];
  const starter = spawn(file, args, { cwd, env: plainEnv(env), stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = Promise.all([once(starter.stdout, 'close'), once(starter.stderr.resume(), 'close')]);
  let url: string | undefined;
  const lines = createInterface({ input: starter.stdout });
  for await (const line of lines) {
    url = /^berth listening on (\S+)$/.exec(line)?.[1];
    if (url !== undefined) break;
  }
  starter.stdout.resume();
  assert.ok(url !== undefined, 'it serves');
  const pid = Number(readFileSync(join(data, 'berth.pid'), 'utf8'));
  t.after(() => killIfAlive(pid));
  return { starter, pid, data, url, ended };
}

function killIfAlive(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {}
}

/** It has stopped in good order: the folder is free, and the log says so. */
async function expectStopped({ ended, data }: Started): Promise<void> {
  await ended;
  assert.equal(existsSync(join(data, 'berth.sock')), false);
  const { events } = await askBerth<{ events: readonly { kind: string }[] }>(data, [
    'audit',
    'list',
    '--system',
  ]);
  const last = events.find(({ kind }) => kind !== 'heads_signed');
  assert.equal(last?.kind, 'server_stopped');
}

describe('a server started by npm', { skip, concurrency: true }, () => {
  test('stops with SIGTERM to npm, which waits for it and succeeds', async (t) => {
    const server = await start(t, 'npm', ['start', '--']);
    server.starter.kill('SIGTERM');
    const [code] = await once(server.starter, 'exit');
    assert.equal(code, 0);
    await expectStopped(server);
  });

  test('stops when npm is killed, with the cloud beside it', async (t) => {
    const server = await start(t, 'npm', ['start', '--', '--demo-cloud']);
    server.starter.kill('SIGKILL');
    await expectStopped(server);
  });

  test('stops when npx is stopped, which finds Berth in the clone without asking a registry', async (t) => {
    const cache = temporaryFolder(t, { hasPrograms: true });
    const env = { npm_config_cache: cache, npm_config_registry: 'http://127.0.0.1:9' };
    const server = await start(t, 'npx', ['berth', 'serve'], { cwd: join(PROJECT, 'docs'), env });
    server.starter.kill('SIGTERM');
    await expectStopped(server);
  });
});

describe('a server started by ./berth', { skip, concurrency: true }, () => {
  test('is the process that was started, and stops when its terminal closes', async (t) => {
    const server = await start(t, join(PROJECT, 'berth'), ['serve'], { level: 'info' });
    assert.equal(server.pid, server.starter.pid);
    server.starter.stdout?.destroy();
    server.starter.stderr?.destroy();
    server.starter.kill('SIGHUP');
    const [code] = await once(server.starter, 'exit');
    assert.equal(code, 0);
    await expectStopped(server);
  });

  test('keeps running under nohup until it is interrupted', async (t) => {
    const server = await start(t, 'nohup', [join(PROJECT, 'berth'), 'serve']);
    server.starter.kill('SIGHUP');
    assert.equal((await fetch(`${server.url}/api/v4/health`)).status, 200);
    server.starter.kill('SIGINT');
    const [code] = await once(server.starter, 'exit');
    assert.equal(code, 0);
    await expectStopped(server);
  });
});
