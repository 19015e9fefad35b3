import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, test } from 'node:test';
import { openTestStore, readEvents } from '../../../../test/support/test-app.ts';
import type { Store } from '../store/store.ts';
import { createIdentity, type Machine } from './identity.ts';

const NOTHING: Machine = { hardwareId: null, machineId: null, isShared: false };

describe('the hardware id', () => {
  test('is the same for the same data on the same machine, and another elsewhere', async (t) => {
    const { store } = await openTestStore(t);
    const { store: other } = await openTestStore(t);
    const read = (one: typeof store, machine: Partial<Machine>) =>
      createIdentity(one, { ...NOTHING, ...machine }).readHardwareId();
    const first = await read(store, { machineId: 'a' });
    assert.match(first, /^[0-9a-f]{64}$/);
    assert.equal(await read(store, { machineId: 'a' }), first);
    const others = [
      await read(store, { machineId: 'b' }),
      await read(store, { machineId: null }),
      await read(other, { machineId: 'a' }),
    ];
    assert.equal(new Set([first, ...others]).size, 4);
  });

  test('does not tell the id of the machine', async (t) => {
    const { store } = await openTestStore(t);
    const machineId = '0123456789abcdef0123456789abcdef';
    const id = await createIdentity(store, { ...NOTHING, machineId }).readHardwareId();
    assert.ok(!id.includes(machineId));
  });

  test('is what the administrator says, wherever the data is', async (t) => {
    const { store } = await openTestStore(t);
    const identity = createIdentity(store, { ...NOTHING, hardwareId: 'chosen', machineId: 'a' });
    assert.equal(await identity.readHardwareId(), 'chosen');
  });
});

describe('being bound to a machine', () => {
  test('is noticed when it is another one than before, and once', async (t) => {
    const { store } = await openTestStore(t);
    const bind = (machineId: string) => createIdentity(store, { ...NOTHING, machineId }).bind();
    assert.equal(await bind('a'), false, 'the first time');
    assert.equal(await bind('a'), false);
    assert.equal(await bind('b'), true);
    assert.equal(await bind('b'), false);
    assert.equal(await bind('a'), true);
    const kinds = (await readEvents(store)).map(({ kind }) => kind);
    assert.deepEqual(kinds, ['identity_changed', 'identity_changed']);
  });
});

describe('the hardware id of data that several machines share', () => {
  const share = (store: Store, machine: Partial<Machine>) =>
    createIdentity(store, { ...NOTHING, isShared: true, ...machine });

  test('is that of the data, on every machine', async (t) => {
    const { store } = await openTestStore(t);
    const { identity } = await store.read({ kind: 'describe_store' });
    const expected = createHash('sha256').update(identity).digest('hex');
    for (const machineId of ['a', 'b', null]) {
      const here = share(store, { machineId });
      assert.equal(await here.readHardwareId(), expected);
      assert.equal(await here.bind(), false);
      await here.requireHome();
    }
  });

  test('stays what it was when the data was on one machine', async (t) => {
    const { store } = await openTestStore(t);
    const before = createIdentity(store, { ...NOTHING, machineId: 'a' });
    await before.bind();
    const moved = share(store, { machineId: 'b' });
    assert.equal(await moved.readHardwareId(), await before.readHardwareId());
    assert.equal(await moved.bind(), false);
  });

  test('is what the administrator says', async (t) => {
    const { store } = await openTestStore(t);
    await share(store, {}).bind();
    const chosen = share(store, { hardwareId: 'chosen' });
    assert.equal(await chosen.readHardwareId(), 'chosen');
    await assert.rejects(chosen.requireHome(), { code: 'server_identity_changed' });
    assert.equal(await chosen.bind(), true);
    assert.equal(
      await share(store, {}).readHardwareId(),
      'chosen',
      'it stays what the licenses are bound to',
    );
  });
});
