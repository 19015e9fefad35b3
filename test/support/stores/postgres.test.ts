import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, cpSync, existsSync, lstatSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import connect from 'postgres';
import { pollUntil } from '../poll.ts';
import { temporaryFolder } from '../server-process.ts';
import { hasPostgres, sharedPostgres, startPostgres, type TestPostgres } from './postgres.ts';
import { findBinaries, findRunAs, makeUsable } from './postgres-binaries.ts';

const skip = hasPostgres ? false : 'optional: needs PostgreSQL for this platform';
const canStop = process.env.BERTH_TEST_DATABASE_URL === undefined;
const skipStop = hasPostgres && canStop ? false : 'optional: needs a PostgreSQL that tests may stop';

async function ask(url: string, statement: string): Promise<unknown> {
  const sql = connect(url, { max: 1, fetch_types: false, connect_timeout: 5, onnotice: () => {} });
  try {
    const [row] = await sql.unsafe(statement);
    return row === undefined ? undefined : Object.values(row)[0];
  } finally {
    await sql.end({ timeout: 1 });
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

describe('the PostgreSQL of a test file', { skip }, () => {
  const shared = sharedPostgres();

  test('is the same for all its tests, and has as many empty databases as they need', async () => {
    assert.equal(await shared(), await shared());
    const postgres = await shared();
    const urls = await Promise.all([postgres.createDatabase(), postgres.createDatabase()]);
    assert.notEqual(urls[0], urls[1]);
    for (const url of urls) {
      assert.equal(await ask(url, 'SHOW server_encoding'), 'UTF8');
      assert.equal(await ask(url, "SELECT count(*)::int FROM pg_tables WHERE schemaname = 'public'"), 0);
    }
  });

  test('syncs what it commits', async () => {
    assert.equal(await ask((await shared()).url('postgres'), 'SHOW fsync'), 'on');
  });
});

describe('a PostgreSQL of its own', { skip: skipStop }, () => {
  let postgres: TestPostgres | undefined;
  after(() => postgres?.end());

  test('is stopped and restarted, with its data and other settings, and leaves no trace', async () => {
    postgres = await startPostgres();
    const url = await postgres.createDatabase();
    await ask(url, 'CREATE TABLE kept (n INT)');
    for (const how of ['fast', 'immediate'] as const) {
      const pid = postgres.pid as number;
      await postgres.stop(how);
      assert.equal(isAlive(pid), false);
      await assert.rejects(ask(url, 'SELECT 1'), { code: 'ECONNREFUSED' });
      await postgres.start({ synchronous_commit: 'local' });
      assert.equal(await ask(url, 'SHOW synchronous_commit'), 'local');
      assert.equal(await ask(url, 'SELECT count(*)::int FROM kept'), 0);
    }
    const pid = postgres.pid as number;
    await postgres.end();
    assert.deepEqual([isAlive(pid), existsSync(postgres.folder)], [false, false]);
  });

  test('does not outlive a test that was killed', async (t) => {
    const child = startKeeper();
    t.after(() => child.kill('SIGKILL'));
    const [line] = await once(createInterface({ input: child.stdout as NodeJS.ReadableStream }), 'line');
    const { pid, folder } = JSON.parse(line) as { pid: number; folder: string };
    assert.ok(isAlive(pid));
    child.kill('SIGKILL');
    await pollUntil('the server is gone', () => !isAlive(pid) || undefined);
    await pollUntil('its folder is gone', () => !existsSync(folder) || undefined);
  });
});

/** A process that starts a server and then idles. */
function startKeeper(): ChildProcess {
  const module = JSON.stringify(fileURLToPath(new URL('./postgres.ts', import.meta.url)));
  const program = `
    const { startPostgres } = await import(${module});
    const { pid, folder } = await startPostgres();
    console.log(JSON.stringify({ pid, folder }));
    setInterval(() => {}, 1000);
  `;
  return spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}

describe('the binaries', { skip: skipStop }, () => {
  test('run from a folder that only we may read, and without the links of an install script', (t) => {
    const folder = temporaryFolder(t);
    const closed = join(folder, 'closed');
    mkdirSync(closed, { mode: 0o700 });
    const native = join(closed, 'native');
    const isNoLink = (path: string) => !lstatSync(path).isSymbolicLink();
    cpSync(findBinaries() as string, native, { recursive: true, filter: isNoLink });
    const open = join(folder, 'open');
    mkdirSync(open);
    chmodSync(folder, 0o755);
    const runAs = findRunAs() ?? {};
    const usable = makeUsable(native, open, runAs);
    assert.equal(usable, join(open, 'postgres'));
    assert.equal(makeUsable(usable, join(folder, 'unused'), runAs), usable, 'they run there');
  });
});
