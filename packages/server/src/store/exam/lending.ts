import assert from 'node:assert/strict';
import { NOW, register } from '../../core/examples.ts';
import { HOUR_MS, MINUTE_MS, plus } from '../../core/nouns/instant.ts';
import { licenseId } from '../../core/nouns/license.ts';
import { type Bench, codeOf, grantedOf, refusedOf, users } from './exam-store.ts';

const TIMEOUT_MS = 10 * MINUTE_MS;

/** Slots come and go. */
export const LENDING = {
  'what was acknowledged can be read at once': async (bench: Bench) => {
    await bench.install({ slots: 3 });
    for (const user of ['ada', 'bob']) {
      const { registration } = grantedOf(await bench.register(user));
      assert.deepEqual(await bench.findSlot(user), registration);
    }
    const { registration } = grantedOf(await bench.borrow('ada', 'longest'));
    assert.deepEqual(await bench.findSlot('ada'), registration);
    await bench.unregister('ada');
    assert.deepEqual(await bench.listUsers(), ['bob']);
    assert.deepEqual(
      (await bench.listLicenses()).map(({ inUse, borrowed, addedAt }) => [inUse, borrowed, addedAt]),
      [[1, 0, NOW]],
    );
  },

  'a slot is free in the millisecond in which it ends, with nobody sweeping': async (bench: Bench) => {
    const license = await bench.install({ slots: 1 });
    await bench.register('ada');
    bench.clock.advance(TIMEOUT_MS - 1);
    const { code, details } = refusedOf(await bench.register('bob'));
    assert.equal(code, 'floating_not_available');
    assert.deepEqual(details, { slots: 1, inUse: 1, nextFreeAt: plus(NOW, TIMEOUT_MS) });
    assert.deepEqual(await bench.listUsers(), ['ada']);
    bench.clock.advance(1);
    assert.deepEqual(await bench.listUsers(), []);
    assert.equal(await bench.countInUse(license), 0);
    assert.equal(grantedOf(await bench.register('bob')).inUse, 1);
    assert.equal(codeOf(await bench.unregister('ada')), 'device_not_found');
  },

  'a heartbeat in the last millisecond keeps the slot': async (bench: Bench) => {
    await bench.install({ slots: 1 });
    const first = grantedOf(await bench.register('ada')).registration;
    bench.clock.advance(TIMEOUT_MS - 1);
    const { registration } = grantedOf(await bench.register('ada'));
    assert.equal(registration.registeredAt, first.registeredAt);
    bench.clock.advance(TIMEOUT_MS - 1);
    assert.equal(codeOf(await bench.register('bob')), 'floating_not_available');
  },

  'a borrowed slot is held until its date, and not a millisecond longer': async (bench: Bench) => {
    await bench.install({ slots: 1 });
    await bench.borrow('ada', plus(NOW, 5 * HOUR_MS));
    bench.clock.advance(5 * HOUR_MS - 1);
    assert.equal(codeOf(await bench.register('bob')), 'floating_not_available');
    bench.clock.advance(1);
    assert.equal(codeOf(await bench.register('bob')), 'granted');
  },

  'thousands of slots that end at once are counted right': async (bench: Bench) => {
    const license = await bench.install({ slots: 2050 });
    await Promise.all(users(2050).map((user) => bench.register(user)));
    assert.equal(codeOf(await bench.register('one-more')), 'floating_not_available');
    bench.clock.advance(TIMEOUT_MS);
    assert.equal(await bench.countInUse(license), 0);
    // The last of them first: their own ended slot lies beyond what one command collects.
    for (const [index, user] of users(2050).toReversed().slice(0, 5).entries()) {
      assert.equal(grantedOf(await bench.register(user)).inUse, index + 1);
    }
    const outcomes = await Promise.all(users(2046, 'new').map((user) => bench.register(user)));
    assert.equal(outcomes.filter(({ kind }) => kind === 'granted').length, 2045);
    const expired = await bench.listEventsOf('slot_expired', license.id);
    assert.equal(expired.length, 2050);
    assert.equal(new Set(expired.map(({ user }) => user)).size, 2050);
  },

  'all of them can be taken back while thousands have ended': async (bench: Bench) => {
    const license = await bench.install({ slots: 2050 });
    for (const user of users(3, 'live')) await bench.borrow(user, 'longest');
    await Promise.all(users(2040).map((user) => bench.register(user)));
    bench.clock.advance(TIMEOUT_MS);
    assert.deepEqual(await bench.releaseAll(license), { kind: 'done', count: 3 });
    assert.equal(await bench.countInUse(license), 0);
    assert.equal(grantedOf(await bench.register('ada')).inUse, 1);
    await bench.unregister('ada');
    assert.deepEqual(await bench.releaseAll(license), { kind: 'done', count: 0 });
  },

  'a borrowed slot is recalled, not released, as often as it takes': async (bench: Bench) => {
    await bench.install({ slots: 2 });
    for (const user of ['ada', 'bob', 'eve', 'zoe']) {
      await bench.borrow(user, 'longest');
      assert.equal(codeOf(await bench.release(user)), 'slot_is_borrowed');
      assert.equal(codeOf(await bench.recall(user)), 'done');
      assert.equal(await bench.findSlot(user), undefined);
    }
    await bench.register('ada');
    assert.equal(codeOf(await bench.recall('ada')), 'slot_not_borrowed');
  },

  'denials in a loop are counted, and nothing of the count is lost': async (bench: Bench) => {
    const license = await bench.install({ slots: 0 });
    await Promise.all(users(200).map(() => bench.register('ada')));
    const trace = async () =>
      (await bench.listEventsOf('slot_denied', license.id)).map(({ repeated }) => repeated);
    assert.deepEqual(await trace(), [0]);
    bench.clock.advance(MINUTE_MS);
    await bench.register('ada');
    await bench.register('ada');
    assert.deepEqual(await trace(), [0, 199], 'the next event carries the count');
    bench.clock.advance(MINUTE_MS);
    assert.deepEqual(await bench.store.read({ kind: 'list_untidy' }), [license.id]);
    await bench.execute({ kind: 'collect', licenseId: license.id });
    const carried = await bench.listEventsOf('denials_repeated', license.id);
    assert.deepEqual(
      carried.map(({ user, repeated }) => [user, repeated]),
      [['ada', 1]],
    );
    assert.deepEqual(await bench.store.read({ kind: 'list_untidy' }), []);
  },

  'a refusal changes nothing': async (bench: Bench) => {
    const full = await bench.install({ slots: 2 });
    await bench.install({ id: licenseId(8), product: 'cam', enabled: false });
    await bench.register('ada', { product: 'cad' });
    await bench.borrow('bob', 'longest', { product: 'cad' });
    const before = [await bench.listSlots(), await bench.listLicenses()];
    const cad = { product: 'cad' };
    const codes = await Promise.all([
      bench.register('eve'),
      bench.register('eve', { product: 'cax' }),
      bench.register('eve', { licenseId: licenseId(99) }),
      bench.register('eve', { product: 'cam' }),
      bench.register('eve', cad),
      bench.borrow('ada', NOW, cad),
      bench.borrow('ada', 'unreadable', cad),
      bench.unregister('eve', cad),
      bench.release('bob', cad),
      bench.recall('ada', cad),
      bench.execute({ kind: 'accept_clock', by: 'admin' }),
      bench.execute({ kind: 'reset_clock', by: 'admin' }),
    ]);
    assert.deepEqual(codes.map(codeOf), [
      'missing_parameters',
      'unknown_product',
      'license_not_found',
      'license_not_enabled',
      'floating_not_available',
      'borrow_until_not_valid',
      'borrow_until_not_valid',
      'device_not_found',
      'slot_is_borrowed',
      'slot_not_borrowed',
      'clock_not_ahead',
      'clock_not_poisoned',
    ]);
    assert.deepEqual([await bench.listSlots(), await bench.listLicenses()], before);
    const kinds = (await bench.listEvents(full.id)).map(({ kind }) => kind);
    assert.deepEqual(kinds.filter((kind) => kind !== 'slot_denied').length, 4);
  },

  'the same name in other letters is another user, on every license anew': async (bench: Bench) => {
    const first = await bench.install({ slots: 3 });
    const second = await bench.install({ id: licenseId(8), product: 'cam' });
    for (const user of ['ada', 'Ada', ' ada']) await bench.register(user, { product: 'cad' });
    await bench.execute(register('ada', { product: 'cam' }));
    assert.equal(await bench.countInUse(first), 3);
    assert.equal(await bench.countInUse(second), 1);
    await bench.unregister('ada', { product: 'cam' });
    assert.equal(await bench.countInUse(first), 3);
  },
};
