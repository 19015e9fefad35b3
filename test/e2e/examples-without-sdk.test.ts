import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { pollUntil } from '../support/poll.ts';
import { startServerHere } from '../support/server-here.ts';
import { temporaryFolder } from '../support/server-process.ts';

const EXAMPLES = fileURLToPath(new URL('../../examples/without-sdk/', import.meta.url));
const isWanted = process.env.BERTH_ALL_EXAMPLES === '1';

/** How to build and run each program, and how to find out whether that is possible here. */
const PROGRAMS = {
  curl: { find: ['curl', '--version'], build: ['cp', join(EXAMPLES, 'withslot.sh'), 'withslot'] },
  go: { find: ['go', 'version'], build: ['go', 'build', '-o', 'withslot', join(EXAMPLES, 'withslot.go')] },
  dotnet: {
    find: ['dotnet', '--version'],
    build: ['dotnet', 'publish', join(EXAMPLES, 'withslot.cs'), '-o', '.', '--no-self-contained'],
  },
} as const;

for (const [tool, { find, build }] of Object.entries(PROGRAMS)) {
  describe(`the example in ${tool}`, { skip: whyNot(tool, find) }, () => {
    const folder = temporaryFolder({ after }, { hasPrograms: true });
    const program = join(folder, 'withslot');

    before(() => {
      const [command, ...words] = build;
      const { status, stderr, stdout } = spawnSync(command, words, { cwd: folder, encoding: 'utf8' });
      assert.equal(status, 0, stdout + stderr);
    });

    test('holds a slot while the command runs, and ends with its code', async (t) => {
      const server = await startServerHere({ data: temporaryFolder(t), args: ['--demo'] });
      t.after(() => server.stop());
      const run = start(program, server.url, 'sh', '-c', 'read line; exit 3');
      await pollUntil('the slot', async () => (await countInUse(server.url)) === 1 || undefined);
      run.child.stdin.end('go\n');
      assert.equal((await run.ended).code, 3);
      assert.equal(await countInUse(server.url), 0);
    });

    test('does not start the command if no slot is free', async (t) => {
      const server = await startServerHere({ data: temporaryFolder(t), args: ['--demo'] });
      t.after(() => server.stop());
      for (let n = 1; n <= 5; n++) await register(server.url, `user-${n}`);
      const { code, said } = await start(program, server.url, 'echo', 'started').ended;
      assert.equal(code, 75);
      assert.match(said, /^withslot: All 5 slots of "demo" are in use/);
    });

    test('ends the command when the slot is lost', async (t) => {
      const slot = { license_id: 1, slot_ends_in_seconds: 60, renew_in_seconds: 1 };
      let heartbeats = 0;
      const url = await serve(t, (_, response) => {
        heartbeats++;
        if (heartbeats <= 2) response.end(JSON.stringify(slot));
        else response.writeHead(400).end(JSON.stringify({ code: 'blacklisted', message: 'Barred.' }));
      });
      const { code, said } = await start(program, url, 'sleep', '60').ended;
      assert.deepEqual([code, heartbeats], [76, 3]);
      assert.match(said, /the slot was lost, so the command was ended\. Barred\./);
    });

    test('ends the command before a silent server may lend the slot again', async (t) => {
      const slot = { license_id: 1, slot_ends_in_seconds: 4, renew_in_seconds: 1 };
      let isFirst = true;
      const url = await serve(t, (_, response) => {
        if (isFirst) response.end(JSON.stringify(slot));
        else response.writeHead(503).end();
        isFirst = false;
      });
      const { code, said } = await start(program, url, 'sleep', '60').ended;
      assert.equal(code, 76);
      assert.match(said, /The server has not answered in time\./);
    });
  });
}

/** Building the first Go program on a machine builds Go's library too, which takes a minute. */
function whyNot(tool: string, [command, ...words]: readonly [string, ...string[]]): string | false {
  if (!isWanted && tool !== 'curl') return 'optional: takes long, and runs with npm run faults -- examples';
  return spawnSync(command, words).status === 0 ? false : `optional: needs ${tool}`;
}

function start(program: string, url: string, ...command: readonly string[]) {
  const child = spawn(program, [url, 'demo', 'ada', ...command], { stdio: ['pipe', 'ignore', 'pipe'] });
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  return { child, ended: once(child, 'close').then(([code]) => ({ code: code as number, said })) };
}

async function serve(t: TestContext, listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function register(url: string, user: string): Promise<void> {
  const body = JSON.stringify({ product: 'demo', user });
  const { status } = await fetch(`${url}/api/v4/register`, { method: 'POST', body });
  assert.equal(status, 200);
}

async function countInUse(url: string): Promise<number> {
  const answer = await fetch(`${url}/api/v4/license?product=demo`);
  return ((await answer.json()) as { floating_in_use: number }).floating_in_use;
}
