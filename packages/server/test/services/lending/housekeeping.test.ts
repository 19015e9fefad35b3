import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { openTestStore, readEvents } from '../../../../../test/support/test-app.ts';
import { testLicense } from '../../../../../test/support/test-license.ts';
import { MINUTE_MS } from '../../../src/core/nouns/instant.ts';
import { COLLECT_LIMIT } from '../../../src/core/view.ts';
import { createCatalogue } from '../../../src/services/lending/catalogue.ts';
import { createHousekeeping } from '../../../src/services/lending/housekeeping.ts';
import { createLending } from '../../../src/services/lending/lending.ts';
import type { Store } from '../../../src/store/store.ts';

const HOST = { hostname: null, address: null, info: null };

async function fill(store: Store, product: string, count: number): Promise<void> {
  const lending = createLending(store);
  const users = Array.from({ length: count }, (_, index) => `user-${index}`);
  await Promise.all(users.map((user) => lending.register({ product, licenseId: null, user, host: HOST })));
}

describe('sweeping', () => {
  test('collects everything that has ended on every license, however much it is', async (t) => {
    const slots = COLLECT_LIMIT + 5;
    const licenses = [testLicense(1, { slots }), testLicense(2, { product: 'cam' })];
    const { store, clock } = await openTestStore(t, licenses);
    await fill(store, 'cad', slots);
    await fill(store, 'cam', 3);
    const housekeeping = createHousekeeping(store);
    assert.equal(await housekeeping.sweep(), 0, 'nothing has ended yet');
    clock.advance(11 * MINUTE_MS);
    assert.equal(await housekeeping.sweep(), slots + 3);
    assert.equal(await housekeeping.sweep(), 0);
    const expired = (await readEvents(store)).filter(({ kind }) => kind === 'slot_expired');
    assert.equal(expired.length, slots + 3);
  });
});

describe('releasing everything', () => {
  test('frees all licenses and returns how many slots that were', async (t) => {
    const { store } = await openTestStore(t, [testLicense(1), testLicense(2, { product: 'cam' })]);
    await fill(store, 'cad', 2);
    await fill(store, 'cam', 3);
    const lending = createLending(store);
    assert.equal(await lending.releaseAll('admin'), 5);
    assert.equal(await lending.releaseAll('admin'), 0);
  });
});

describe('the demo license', () => {
  test('is added to an empty store only', async (t) => {
    const { store } = await openTestStore(t);
    const catalogue = createCatalogue(store);
    assert.equal(await catalogue.addDemo(), true);
    assert.equal(await catalogue.addDemo(), false);
    const [demo] = await catalogue.list(null);
    assert.equal(demo?.license.product, 'demo');
    assert.equal(demo?.license.source, 'demo');
  });

  test('is not added beside others', async (t) => {
    const { store } = await openTestStore(t, [testLicense(1)]);
    const catalogue = createCatalogue(store);
    assert.equal(await catalogue.addDemo(), false);
    assert.equal((await catalogue.list(null)).length, 1);
  });
});
