import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, type TestContext, test } from 'node:test';
import { openTestStore, readEvents } from '../../../../../test/support/test-app.ts';
import { testLicense } from '../../../../../test/support/test-license.ts';
import { type License, licenseId, NO_TIE } from '../../../src/core/nouns/license.ts';
import { createIdentity, type Machine } from '../../../src/services/identity/identity.ts';
import type { Store } from '../../../src/store/store.ts';

const NOTHING: Machine = { hardwareId: null, machineId: null, isShared: false };

describe('the hardware id', () => {
  test('is the same for the same data on the same machine, and different elsewhere', async (t) => {
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

  test('does not reveal the id of the machine', async (t) => {
    const { store } = await openTestStore(t);
    const machineId = '0123456789abcdef0123456789abcdef';
    const id = await createIdentity(store, { ...NOTHING, machineId }).readHardwareId();
    assert.ok(!id.includes(machineId));
  });

  test('is what the administrator sets, wherever the data is', async (t) => {
    const { store } = await openTestStore(t);
    const identity = createIdentity(store, { ...NOTHING, hardwareId: 'chosen', machineId: 'a' });
    assert.equal(await identity.readHardwareId(), 'chosen');
  });
});

describe('being bound to a machine', () => {
  test('is noticed when the machine changes, and once', async (t) => {
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

describe('a hardware id that the administrator chooses', () => {
  const HERE = { ...NOTHING, machineId: 'a' };

  async function openWith(t: TestContext, machine: Machine, source: License['source'] = 'airgap') {
    const { store } = await openTestStore(t);
    const identity = createIdentity(store, machine);
    await identity.bind();
    const bound = { hardwareId: await identity.readHardwareId(), isIdChosen: await identity.isChosen() };
    const license = testLicense(7, { source, tie: { ...NO_TIE, ...bound } });
    await store.execute({ kind: 'install_license', license, by: 'test' });
    return { store, ...bound };
  }

  async function bindWith(store: Store, machine: Partial<Machine>): Promise<unknown> {
    const bound = await createIdentity(store, { ...HERE, ...machine }).bind();
    return typeof bound === 'object' ? bound.code : bound;
  }

  for (const source of ['airgap', 'offline'] as const) {
    test(`is refused once a license was activated under a generated one (${source})`, async (t) => {
      const { store, hardwareId } = await openWith(t, HERE, source);
      assert.equal(await bindWith(store, { hardwareId: 'chosen' }), 'server_identity_changed');
      const copied = { hardwareId, machineId: 'b' };
      assert.equal(await bindWith(store, copied), 'server_identity_changed', 'of a copy, the same id');
      assert.equal(await bindWith(store, { hardwareId }), false, 'on its machine it is what it would be');
      assert.equal(await bindWith(store, {}), false, 'and nothing has changed');
    });

    test(`is refused when it is that of a container, elsewhere (${source})`, async (t) => {
      const { store, hardwareId } = await openWith(t, NOTHING, source);
      assert.equal(await bindWith(store, { hardwareId, machineId: 'b' }), 'server_identity_changed');
      assert.equal(
        await bindWith(store, { hardwareId, machineId: null }),
        false,
        'in a container it is its own',
      );
    });

    test(`is kept if a license was activated under it (${source})`, async (t) => {
      const { store } = await openWith(t, { ...NOTHING, hardwareId: 'chosen' }, source);
      assert.equal(await bindWith(store, { hardwareId: 'chosen', machineId: 'b' }), false);
      assert.equal(await bindWith(store, { hardwareId: 'other' }), 'server_identity_changed');
    });
  }

  test('can change when the license was returned, but not when it was only removed', async (t) => {
    const { store } = await openWith(t, HERE);
    const remove = { kind: 'remove_license', licenseId: licenseId(7), by: 'test' } as const;
    await store.execute(remove);
    assert.equal(await bindWith(store, { hardwareId: 'chosen' }), 'server_identity_changed');
    const { store: other } = await openWith(t, HERE);
    await other.execute({ ...remove, isGivenBack: true });
    assert.equal(await bindWith(other, { hardwareId: 'chosen' }), true);
  });

  test('does not matter for licenses of a cloud, which notices', async (t) => {
    const { store } = await openWith(t, HERE, 'cloud');
    assert.equal(await bindWith(store, { hardwareId: 'chosen' }), true);
  });

  test('is accepted if an earlier release recorded nothing, while it is the same', async (t) => {
    const { store } = await openTestStore(t);
    const tie = { ...NO_TIE, hardwareId: 'chosen' };
    const license = testLicense(7, { source: 'airgap', tie });
    await store.execute({ kind: 'install_license', license, by: 'test' });
    assert.equal(await bindWith(store, { hardwareId: 'chosen' }), false);
    assert.equal(await bindWith(store, { hardwareId: 'other' }), 'server_identity_changed');
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

  test('is what the administrator sets', async (t) => {
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
