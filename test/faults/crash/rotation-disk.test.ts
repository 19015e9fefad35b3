import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, type TestContext, test } from 'node:test';
import { askBerth, runBerth } from '../../support/berth-command.ts';
import { ensureTool } from '../../support/install-tools.ts';
import { pollUntil } from '../../support/poll.ts';
import { seedLicenses } from '../../support/server-process.ts';
import { ServerUnderTest } from '../../support/server-under-test.ts';
import { underFault } from './disk-errors.ts';

interface Keys {
  readonly cloud_keys: Readonly<Record<string, string>>;
  readonly master_key: { readonly fingerprint: string };
}

const MAX_ROTATIONS = 40;

/** The first sync to fail; by turns, unless this is set. */
const FIRSTS = [6, 7];
const hasAll = process.env.BERTH_ALL_FAULTS !== undefined;

async function rotate(data: string): Promise<boolean> {
  const { code, stderr } = await runBerth(data, ['key', 'rotate']);
  if (code !== 0) assert.match(stderr, /cannot (write|be written|be replaced)/);
  return code === 0;
}

/** What may happen between the rotation that fails and the crash. */
const AFTERMATHS: Readonly<Record<string, (data: string) => Promise<unknown>>> = {
  nothing: async () => {},
  'another one at once': rotate,
  'others until one succeeds': (data) =>
    pollUntil('a rotation that succeeds', async () => (await rotate(data)) || undefined),
};

/** Everything that is sealed can be opened. */
async function expectWhole(data: string): Promise<Keys> {
  const keys = await askBerth<Keys>(data, ['key', 'show']);
  assert.deepEqual(Object.keys(keys.cloud_keys), ['api_key_fingerprint', 'shared_key_fingerprint']);
  assert.ok(!Object.values(keys.cloud_keys).includes(null as never));
  assert.equal((await askBerth<{ ok: boolean }>(data, ['audit', 'verify'])).ok, true);
  return keys;
}

/**
 * A sync that fails leaves a commit that was reported as failed, and that is there all the same when the file
 * is opened again: the new master key is needed, and must not be lost.
 */
describe('a rotation whose sync fails', () => {
  let hasStrace = false;
  before(async () => {
    hasStrace = process.platform === 'linux' && (await ensureTool('strace'));
  });

  async function run(t: TestContext, first: number, aftermath: (data: string) => Promise<unknown>) {
    const server = ServerUnderTest.make(t);
    await seedLicenses(server.data, []);
    const { code } = await runBerth(server.data, ['key', 'set'], {}, 'one\ntwo\n');
    assert.equal(code, 0);
    const { cloud_keys } = await expectWhole(server.data);
    const fault = { calls: 'fsync,fdatasync', error: 'EIO', first, count: 2 };
    // Only the syncs of commits: those of the key files are on another thread.
    const onlyLog = ['-P', join(server.data, 'berth.db-wal')];
    await server.start({ under: [...underFault(fault), ...onlyLog] });
    let rotations = 0;
    while (rotations < MAX_ROTATIONS && (await rotate(server.data))) rotations += 1;
    assert.ok(rotations < MAX_ROTATIONS, 'the fault was met');
    await aftermath(server.data);
    await server.stop('SIGKILL');
    await server.start({ isHere: true });
    assert.deepEqual((await expectWhole(server.data)).cloud_keys, cloud_keys);
    assert.equal(existsSync(join(server.data, 'master.key.next')), false);
    assert.equal(await rotate(server.data), true);
    await server.stop();
    assert.deepEqual((await expectWhole(server.data)).cloud_keys, cloud_keys);
  }

  for (const [index, [title, aftermath]] of Object.entries(AFTERMATHS).entries()) {
    for (const first of FIRSTS.filter((_, at) => hasAll || at === index % FIRSTS.length)) {
      test(`and then ${title}, from sync ${first} on`, async (t) => {
        if (!hasStrace) return t.skip('optional: needs strace');
        await run(t, first, aftermath);
      });
    }
  }
});
