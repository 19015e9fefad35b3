import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, describe, type TestContext, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { PYTHON, skip } from '../client/python/python.ts';
import type { Facts } from '../support/berth-api.ts';
import { pollUntil } from '../support/poll.ts';
import { temporaryFolder } from '../support/server-process.ts';
import { Release } from './release.ts';
import { listSlots, type Site, type Slot } from './site.ts';

/** Each program waits in line for a slot, and goes on when it gets a line of input. */
const TYPESCRIPT = (client: string) => `
  import { once } from 'node:events';
  import { connect } from ${JSON.stringify(client)};
  const [server, user] = process.argv.slice(2);
  const cad = connect({ server, product: 'cad', user, renewEvery: '10s' });
  const meter = connect({ server, product: 'meter', user });
  const slot = await cad.acquire({ wait: '50s' });
  console.log('held');
  await once(process.stdin, 'data');
  const feature = await slot.feature('render');
  await feature.release();
  const borrow = await slot.borrow({ until: '2h' });
  console.log('borrowed');
  await once(process.stdin, 'data');
  const key = 'count-of-' + user;
  await meter.consume(3, { key });
  const { total } = await meter.consume(3, { key });
  await (await cad.resume()).giveBack();
  await slot.release();
  console.log(String(total));
  process.exit();
`;

const PYTHON_PROGRAM = `
import sys
from berth_client import Client
server, user = sys.argv[1:]
cad = Client(server, "cad", user=user, renew_every="10s")
slot = cad.acquire(wait="50s")
print("held", flush=True)
sys.stdin.readline()
slot.feature("render").release()
slot.borrow(until="2h")
print("borrowed", flush=True)
sys.stdin.readline()
meter = Client(server, "meter", user=user)
meter.consume(3, key="count-of-" + user)
total = meter.consume(3, key="count-of-" + user).total
cad.resume().give_back()
slot.release()
print(total, flush=True)
`;

for (const release of Release.list()) {
  describe(`the packages for applications of ${release.version}`, { concurrency: true }, () => {
    let site: Site;
    const ends: (() => unknown)[] = [];
    const life = { after: (work: () => unknown) => ends.unshift(work) };
    const folder = temporaryFolder(life, { hasPrograms: true });
    before(async () => {
      site = release.unpackSite(life, 'stopped');
      await site.start();
    });
    after(async () => {
      for (const end of ends) await end();
    });

    test('for TypeScript: wait, renew, borrow, count and release', async (t) => {
      execFileSync('tar', ['-xzf', release.path(`berth-client-${release.version}.tgz`), '-C', folder]);
      const main = pathToFileURL(join(folder, 'package', 'dist', 'main.js')).href;
      const program = join(folder, 'program.mjs');
      writeFileSync(program, TYPESCRIPT(main));
      await play(t, site, { words: [process.execPath, program], user: 'cad-ts', instead: 'new-1' });
    });

    test('for Python: wait, renew, borrow, count and release', { skip }, async (t) => {
      const [wheel = ''] = globSync(release.path('*.whl'));
      const words = [PYTHON ?? '', '-c', PYTHON_PROGRAM];
      await play(t, site, { words, user: 'cad-py', instead: 'old-2', env: { PYTHONPATH: wheel } });
    });
  });
}

interface Played {
  readonly words: readonly string[];
  readonly user: string;
  /** Who leaves, so that there is a slot. */
  readonly instead: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** Runs a program that takes, keeps, borrows and returns a slot. */
async function play(t: TestContext, site: Site, { words, user, instead, env = {} }: Played): Promise<void> {
  const home = temporaryFolder(t);
  const child = spawn(words[0] as string, [...words.slice(1), site.url, user], {
    env: { ...process.env, ...env, HOME: home, XDG_STATE_HOME: home },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  t.after(() => child.kill('SIGKILL'));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const read = async () => (await lines.next()).value;
  await pollUntil('it waits in line', async () => {
    return JSON.stringify(await site.get('/api/admin/line')).includes(`"${user}"`) || undefined;
  });
  await site.post('unregister', { product: 'cad', user: instead });
  assert.equal(await read(), 'held');
  const { ends_at: first } = (await findSlot(site, user)) as Slot;
  await pollUntil('the slot is renewed', async () => {
    return (await findSlot(site, user))?.ends_at !== first || undefined;
  });
  child.stdin.write('\n');
  assert.equal(await read(), 'borrowed');
  assert.notEqual((await findSlot(site, user))?.borrowed_until, null);
  child.stdin.write('\n');
  await read();
  await once(child, 'close');
  assert.equal(await findSlot(site, user), undefined);
  const counted = await site.get(`/api/admin/audit?kind=consumption_added&search=${user}`);
  assert.deepEqual(
    (counted.events as readonly Facts[]).map(({ count }) => count),
    [3],
  );
}

async function findSlot(site: Site, user: string): Promise<Slot | undefined> {
  return (await listSlots(site)).find((slot) => slot.user === user);
}
