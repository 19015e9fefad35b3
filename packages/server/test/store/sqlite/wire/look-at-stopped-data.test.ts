import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { MINUTE_MS, plus } from '../../../../src/core/nouns/instant.ts';
import type { MasterKey } from '../../../../src/secrets/seal.ts';
import { createManualClock } from '../../../../src/store/clock.ts';
import { openInThreadStore } from '../../../../src/store/sqlite/in-thread-store.ts';
import { exampleLicense, NOW, register } from '../../../core/examples.ts';

const HOUR = 60 * MINUTE_MS;
const LIST = {
  kind: 'list_registrations',
  licenseId: null,
  product: null,
  user: null,
  limit: 10,
  after: null,
} as const;

function setUp(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'berth-look-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const clock = createManualClock(NOW);
  const masterKey = new Uint8Array(32) as MasterKey;
  const open = (resumeAtOpen: boolean) =>
    openInThreadStore({ file: join(folder, 'berth.db'), masterKey, clock, onNotice() {}, resumeAtOpen });
  return { clock, open };
}

test('reading stopped data moves no time and touches no slot, however often', async (t) => {
  const { clock, open } = setUp(t);
  const server = open(true);
  await server.execute({ kind: 'install_license', license: exampleLicense(), by: 'test' });
  await server.execute(register('ada'));
  await server.close();
  for (let look = 0; look < 3; look++) {
    clock.advance(48 * HOUR);
    const store = open(false);
    const [record] = (await store.read(LIST)).registrations;
    assert.equal(record?.registration.endsAt, plus(NOW, 10 * MINUTE_MS), 'as it was when the server stopped');
    const { jumpAtStart } = await store.keepClock();
    assert.equal(jumpAtStart?.serverAt, NOW, 'the jump is shown every time, because it was not followed yet');
    await store.close();
  }
});

test('the first change resumes as a server would: live slots get a whole timeout', async (t) => {
  const { clock, open } = setUp(t);
  const server = open(true);
  await server.execute({ kind: 'install_license', license: exampleLicense(), by: 'test' });
  await server.execute(register('ada'));
  await server.close();
  clock.advance(HOUR);
  const store = open(false);
  const outcome = await store.execute(register('bob'));
  assert.equal(outcome.kind === 'granted' && outcome.inUse, 2);
  const [ada] = (await store.read({ ...LIST, user: 'ada' })).registrations;
  assert.equal(ada?.registration.endsAt, plus(NOW, HOUR + 10 * MINUTE_MS));
  await store.close();
});
