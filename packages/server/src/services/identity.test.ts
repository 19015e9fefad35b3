import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { openTestStore, readEvents } from '../../../../test/support/test-app.ts';
import { createIdentity, type Machine } from './identity.ts';

const NOTHING: Machine = { hardwareId: null, machineId: null };

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
    const identity = createIdentity(store, { hardwareId: 'chosen', machineId: 'a' });
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
