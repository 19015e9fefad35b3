import assert from 'node:assert/strict';
import { HOUR_MS, MINUTE_MS, plus } from '../../../src/core/nouns/instant.ts';
import { licenseId } from '../../../src/core/nouns/license.ts';
import { NOW, register } from '../../core/examples.ts';
import { codeOf, type ExamStore, grantedOf, refusedOf, users } from './exam-store.ts';

const TIMEOUT_MS = 10 * MINUTE_MS;

/** Slots come and go. */
export const LENDING = {
  'what was acknowledged can be read at once': async (exam: ExamStore) => {
    await exam.install({ slots: 3 });
    for (const user of ['ada', 'bob']) {
      const { registration } = grantedOf(await exam.register(user));
      assert.deepEqual(await exam.findSlot(user), registration);
    }
    const { registration } = grantedOf(await exam.borrow('ada', 'longest'));
    assert.deepEqual(await exam.findSlot('ada'), registration);
    await exam.unregister('ada');
    assert.deepEqual(await exam.listUsers(), ['bob']);
    assert.deepEqual(
      (await exam.listLicenses()).map(({ inUse, borrowed, addedAt }) => [inUse, borrowed, addedAt]),
      [[1, 0, NOW]],
    );
  },

  'a slot is free in the millisecond in which it ends, without a sweep': async (exam: ExamStore) => {
    const license = await exam.install({ slots: 1 });
    await exam.register('ada');
    exam.clock.advance(TIMEOUT_MS - 1);
    const { code, details } = refusedOf(await exam.register('bob'));
    assert.equal(code, 'floating_not_available');
    assert.deepEqual(details, { slots: 1, inUse: 1, nextFreeAt: plus(NOW, TIMEOUT_MS) });
    assert.deepEqual(await exam.listUsers(), ['ada']);
    exam.clock.advance(1);
    assert.deepEqual(await exam.listUsers(), []);
    assert.equal(await exam.countInUse(license), 0);
    assert.equal(grantedOf(await exam.register('bob')).inUse, 1);
    assert.equal(codeOf(await exam.unregister('ada')), 'device_not_found');
  },

  'after a license shrank, a denial names only an end that makes room': async (exam: ExamStore) => {
    await exam.install({ slots: 3 });
    for (const user of users(3)) await exam.register(user);
    await exam.install({ slots: 1 });
    const detailsOf = async () => refusedOf(await exam.register('bob')).details;
    assert.deepEqual(await detailsOf(), { slots: 1, inUse: 3 });
    await exam.unregister(users(3)[0] as string);
    assert.deepEqual(await detailsOf(), { slots: 1, inUse: 2 });
    await exam.unregister(users(3)[1] as string);
    assert.deepEqual(await detailsOf(), { slots: 1, inUse: 1, nextFreeAt: plus(NOW, TIMEOUT_MS) });
  },

  'a heartbeat in the last millisecond keeps the slot': async (exam: ExamStore) => {
    await exam.install({ slots: 1 });
    const first = grantedOf(await exam.register('ada')).registration;
    exam.clock.advance(TIMEOUT_MS - 1);
    const { registration } = grantedOf(await exam.register('ada'));
    assert.equal(registration.registeredAt, first.registeredAt);
    exam.clock.advance(TIMEOUT_MS - 1);
    assert.equal(codeOf(await exam.register('bob')), 'floating_not_available');
  },

  'a borrowed slot is held until its date, and not a millisecond longer': async (exam: ExamStore) => {
    await exam.install({ slots: 1 });
    await exam.borrow('ada', plus(NOW, 5 * HOUR_MS));
    exam.clock.advance(5 * HOUR_MS - 1);
    assert.equal(codeOf(await exam.register('bob')), 'floating_not_available');
    exam.clock.advance(1);
    assert.equal(codeOf(await exam.register('bob')), 'granted');
  },

  'thousands of slots that end at once are counted correctly': async (exam: ExamStore) => {
    const license = await exam.install({ slots: 2050 });
    await Promise.all(users(2050).map((user) => exam.register(user)));
    assert.equal(codeOf(await exam.register('one-more')), 'floating_not_available');
    exam.clock.advance(TIMEOUT_MS);
    assert.equal(await exam.countInUse(license), 0);
    // The last of them first: their own ended slot lies beyond what one command collects.
    for (const [index, user] of users(2050).toReversed().slice(0, 5).entries()) {
      assert.equal(grantedOf(await exam.register(user)).inUse, index + 1);
    }
    const outcomes = await Promise.all(users(2046, 'new').map((user) => exam.register(user)));
    assert.equal(outcomes.filter(({ kind }) => kind === 'granted').length, 2045);
    const expired = await exam.listEventsOf('slot_expired', license.id);
    assert.equal(expired.length, 2050);
    assert.equal(new Set(expired.map(({ user }) => user)).size, 2050);
  },

  'all of them can be released while thousands have ended': async (exam: ExamStore) => {
    const license = await exam.install({ slots: 2050 });
    for (const user of users(3, 'live')) await exam.borrow(user, 'longest');
    await Promise.all(users(2040).map((user) => exam.register(user)));
    exam.clock.advance(TIMEOUT_MS);
    assert.deepEqual(await exam.releaseAll(license), { kind: 'done', count: 3 });
    assert.equal(await exam.countInUse(license), 0);
    assert.equal(grantedOf(await exam.register('ada')).inUse, 1);
    await exam.unregister('ada');
    assert.deepEqual(await exam.releaseAll(license), { kind: 'done', count: 0 });
  },

  'a borrowed slot is recalled, not released, as often as needed': async (exam: ExamStore) => {
    await exam.install({ slots: 2 });
    for (const user of ['ada', 'bob', 'eve', 'zoe']) {
      await exam.borrow(user, 'longest');
      assert.equal(codeOf(await exam.release(user)), 'slot_is_borrowed');
      assert.equal(codeOf(await exam.recall(user)), 'done');
      assert.equal(await exam.findSlot(user), undefined);
    }
    await exam.register('ada');
    assert.equal(codeOf(await exam.recall('ada')), 'slot_not_borrowed');
  },

  'denials in a loop are counted, and none is lost': async (exam: ExamStore) => {
    const license = await exam.install({ slots: 0 });
    await Promise.all(users(200).map(() => exam.register('ada')));
    const trace = async () =>
      (await exam.listEventsOf('slot_denied', license.id)).map(({ repeated }) => repeated);
    assert.deepEqual(await trace(), [0]);
    exam.clock.advance(MINUTE_MS);
    await exam.register('ada');
    await exam.register('ada');
    assert.deepEqual(await trace(), [0, 199], 'the next event carries the count');
    exam.clock.advance(MINUTE_MS);
    assert.deepEqual(await exam.store.read({ kind: 'list_untidy' }), [license.id]);
    await exam.execute({ kind: 'collect', licenseId: license.id });
    const carried = await exam.listEventsOf('denials_repeated', license.id);
    assert.deepEqual(
      carried.map(({ user, repeated }) => [user, repeated]),
      [['ada', 1]],
    );
    assert.deepEqual(await exam.store.read({ kind: 'list_untidy' }), []);
  },

  'a refusal changes nothing': async (exam: ExamStore) => {
    const full = await exam.install({ slots: 2 });
    await exam.install({ id: licenseId(8), product: 'cam', enabled: false });
    await exam.register('ada', { product: 'cad' });
    await exam.borrow('bob', 'longest', { product: 'cad' });
    const before = [await exam.listSlots(), await exam.listLicenses()];
    const cad = { product: 'cad' };
    const codes = await Promise.all([
      exam.register('eve'),
      exam.register('eve', { product: 'cax' }),
      exam.register('eve', { licenseId: licenseId(99) }),
      exam.register('eve', { product: 'cam' }),
      exam.register('eve', cad),
      exam.borrow('ada', NOW, cad),
      exam.borrow('ada', 'unreadable', cad),
      exam.unregister('eve', cad),
      exam.release('bob', cad),
      exam.recall('ada', cad),
      exam.execute({ kind: 'accept_clock', by: 'admin' }),
      exam.execute({ kind: 'reset_clock', by: 'admin' }),
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
    assert.deepEqual([await exam.listSlots(), await exam.listLicenses()], before);
    const kinds = (await exam.listEvents(full.id)).map(({ kind }) => kind);
    assert.deepEqual(kinds.filter((kind) => kind !== 'slot_denied').length, 4);
  },

  'a name in different case is another user, on every license': async (exam: ExamStore) => {
    const first = await exam.install({ slots: 3 });
    const second = await exam.install({ id: licenseId(8), product: 'cam' });
    for (const user of ['ada', 'Ada', ' ada']) await exam.register(user, { product: 'cad' });
    await exam.execute(register('ada', { product: 'cam' }));
    assert.equal(await exam.countInUse(first), 3);
    assert.equal(await exam.countInUse(second), 1);
    await exam.unregister('ada', { product: 'cam' });
    assert.equal(await exam.countInUse(first), 3);
  },
};
