import assert from 'node:assert/strict';
import type { FeatureLending } from '../../../src/core/nouns/feature.ts';
import { HOUR_MS, MINUTE_MS, plus } from '../../../src/core/nouns/instant.ts';
import type { License } from '../../../src/core/nouns/license.ts';
import type { Outcome } from '../../../src/core/outcome.ts';
import { exampleFeature, NOW } from '../../core/examples.ts';
import { codeOf, type ExamStore, grantedOf, measuredOf, refusedOf, users } from './exam-store.ts';

const TIMEOUT_MS = 10 * MINUTE_MS;
const YEAR_MS = 365 * 24 * HOUR_MS;
const RESET = { kind: 'reset_clock', by: 'admin' } as const;

const LENDING: FeatureLending = { slots: 2, timeoutMinutes: 10, canBorrow: true, maxBorrowHours: 24 };

/** A license with many slots, whose feature "render" has some. */
function install(exam: ExamStore, lending: Partial<FeatureLending> = {}, facts: Partial<License> = {}) {
  const render = exampleFeature('render', { floating: { ...LENDING, ...lending } });
  return exam.install({ slots: 100, features: [exampleFeature('export'), render], ...facts });
}

/** Lends both slots to each of them. */
async function lendBoth(exam: ExamStore, names: readonly string[]): Promise<void> {
  const outcomes = await Promise.all(
    names.flatMap((user) => [exam.register(user), exam.registerFeature(user)]),
  );
  assert.deepEqual(new Set(outcomes.map(({ kind }) => kind)), new Set(['granted', 'measured']));
}

function slotOf(outcome: Outcome) {
  const { slot } = measuredOf(outcome);
  assert.ok(slot);
  return slot;
}

export const FEATURES_AT_ONCE = {
  'of sixty-four users on five slots of a feature exactly five get one': async (exam: ExamStore) => {
    const license = await install(exam, { slots: 5 });
    const names = users(64);
    for (const outcome of await Promise.all(names.map((user) => exam.register(user)))) grantedOf(outcome);
    const outcomes = await Promise.all(names.map((user) => exam.registerFeature(user)));
    const lent = outcomes.filter(({ kind }) => kind === 'measured').map(measuredOf);
    assert.deepEqual(lent.map(({ inUse }) => inUse).sort(), [1, 2, 3, 4, 5]);
    for (const { code, details } of outcomes.filter(({ kind }) => kind !== 'measured').map(refusedOf)) {
      assert.equal(code, 'floating_not_available');
      assert.deepEqual([details.slots, details.inUse], [5, 5]);
    }
    assert.equal(await exam.countFeatureSlots(license), 5);
    assert.equal((await exam.listEventsOf('slot_denied', license.id)).length, 59);
  },

  'one user who asks a hundred times at once holds one slot of it': async (exam: ExamStore) => {
    const license = await install(exam);
    await exam.register('ada');
    const outcomes = await Promise.all(users(100).map(() => exam.registerFeature('ada')));
    for (const outcome of outcomes) assert.equal(measuredOf(outcome).inUse, 1);
    assert.equal((await exam.listEventsOf('feature_lent', license.id)).length, 1);
  },

  'coming and going never exceeds the limit': async (exam: ExamStore) => {
    const license = await install(exam, { slots: 3 });
    const visit = async (user: string) => {
      for (let round = 0; round < 10; round++) {
        await exam.register(user);
        const outcome = await exam.registerFeature(user);
        if (outcome.kind === 'measured') assert.ok(outcome.inUse <= 3, `${outcome.inUse} in use`);
        const isLast = round === 9;
        if (!isLast && round % 2 === 0) await exam.releaseFeature(user);
        if (!isLast && round % 2 === 1) await exam.unregister(user);
      }
    };
    await Promise.all(users(12).map(visit));
    assert.equal(await exam.countFeatureSlots(license), 3);
  },
};

export const FEATURES = {
  'it is free at its end, to the millisecond, collected or not': async (exam: ExamStore) => {
    const license = await install(exam, { slots: 1, timeoutMinutes: 2 });
    await lendBoth(exam, ['ada']);
    await exam.register('bob');
    exam.clock.advance(2 * MINUTE_MS - 1);
    assert.equal(codeOf(await exam.registerFeature('bob')), 'floating_not_available');
    assert.equal(await exam.countFeatureSlots(license), 1);
    exam.clock.advance(1);
    assert.equal(await exam.countFeatureSlots(license), 0);
    assert.equal(measuredOf(await exam.registerFeature('bob')).inUse, 1);
    const events = await exam.listEventsOf('feature_expired', license.id);
    const endedAt = plus(NOW, 2 * MINUTE_MS);
    assert.deepEqual(events, [{ kind: 'feature_expired', feature: 'render', user: 'ada', endedAt }]);
  },

  "it is free when the license's slot ends, however long it was lent": async (exam: ExamStore) => {
    const license = await install(exam, { slots: 1, timeoutMinutes: 60 });
    await lendBoth(exam, ['ada']);
    exam.clock.advance(TIMEOUT_MS - 1);
    await exam.register('bob');
    assert.equal(codeOf(await exam.registerFeature('bob')), 'floating_not_available');
    exam.clock.advance(1);
    assert.equal(await exam.countFeatureSlots(license), 0, 'before anybody has collected');
    assert.equal(measuredOf(await exam.registerFeature('bob')).inUse, 1);
    const [event] = await exam.listEventsOf('feature_expired', license.id);
    assert.equal(event?.endedAt, plus(NOW, TIMEOUT_MS), 'it ended with the slot of the license');
  },

  'a new slot of the license does not restore the old one of the feature': async (exam: ExamStore) => {
    const license = await install(exam, { timeoutMinutes: 60 });
    await lendBoth(exam, ['ada']);
    exam.clock.advance(TIMEOUT_MS);
    await exam.register('ada');
    assert.equal(await exam.countFeatureSlots(license), 0);
    assert.equal(codeOf(await exam.releaseFeature('ada')), 'floating_feature_device_not_in_use');
  },

  'returning, releasing and recalling the license frees it at once': async (exam: ExamStore) => {
    const license = await install(exam, { slots: 1 });
    const ways = {
      unregister: () => exam.unregister('ada'),
      release: () => exam.release('ada'),
      recall: () => exam.recall('ada'),
      releaseAll: () => exam.releaseAll(license),
    };
    for (const [way, takeBack] of Object.entries(ways)) {
      await (way === 'recall' ? exam.borrow('ada', 'longest') : exam.register('ada'));
      measuredOf(await exam.registerFeature('ada'));
      assert.equal(codeOf(await takeBack()), 'done', way);
      await exam.register('bob');
      assert.equal(measuredOf(await exam.registerFeature('bob')).inUse, 1, way);
      await exam.unregister('bob');
    }
    assert.equal((await exam.listEventsOf('feature_returned', license.id)).length, 3 + 4);
  },

  'an administrator releases all of them, and the licenses stay lent': async (exam: ExamStore) => {
    const license = await install(exam, { slots: 5 });
    await lendBoth(exam, users(4));
    const command = { kind: 'release_all_features', licenseId: license.id, by: 'admin' } as const;
    assert.deepEqual(await exam.execute(command), { kind: 'done', count: 4 });
    assert.deepEqual(await exam.execute(command), { kind: 'done', count: 0 });
    assert.equal(await exam.countFeatureSlots(license), 0);
    assert.equal(await exam.countInUse(license), 4);
    assert.equal(measuredOf(await exam.registerFeature('user-0001')).inUse, 1);
  },

  'more than a thousand that ended at once are counted correctly': async (exam: ExamStore) => {
    const license = await install(exam, { slots: 1100, timeoutMinutes: 2 }, { slots: 1200 });
    await lendBoth(exam, users(1100));
    exam.clock.advance(2 * MINUTE_MS);
    assert.equal(await exam.countFeatureSlots(license), 0);
    assert.equal(measuredOf(await exam.registerFeature('user-1099')).inUse, 1, 'whose own was the last');
    const { totals } = grantedOf(await exam.register('user-0000')) as { totals?: unknown };
    assert.deepEqual(totals, await exam.readTotals(license));
    assert.equal(measuredOf(await exam.registerFeature('user-0000')).inUse, 2);
    assert.equal((await exam.listEventsOf('feature_expired', license.id)).length, 1100);
  },

  'the same when they end with more than a thousand slots of the license': async (exam: ExamStore) => {
    const license = await install(exam, { slots: 1100, timeoutMinutes: 60 }, { slots: 1200 });
    await lendBoth(exam, users(1100));
    exam.clock.advance(TIMEOUT_MS);
    assert.equal(await exam.countFeatureSlots(license), 0);
    const granted = grantedOf(await exam.register('user-1099'));
    assert.equal(granted.inUse, 1);
    assert.equal(await exam.countFeatureSlots(license), 0, 'the old one does not come back');
    assert.equal(measuredOf(await exam.registerFeature('user-1099')).inUse, 1);
    assert.equal(await exam.countFeatureSlots(license), 1);
    const command = { kind: 'release_all_features', licenseId: license.id, by: 'admin' } as const;
    assert.deepEqual(await exam.execute(command), { kind: 'done', count: 1 });
  },

  'its borrows do not outlast a shortened borrow of the license': async (exam: ExamStore) => {
    const license = await install(exam, { slots: 1, timeoutMinutes: 2 });
    await exam.borrow('ada', 'longest');
    slotOf(await exam.registerFeature('ada', { until: plus(NOW, 20 * HOUR_MS) }));
    const near = plus(NOW, HOUR_MS);
    await exam.borrow('ada', near);
    assert.equal(slotOf(await exam.registerFeature('ada')).borrowedUntil, near);
    const [listed] = await exam.listLicenses();
    assert.deepEqual(listed?.featuresBorrowed, [0, 1]);
    await exam.register('bob');
    assert.equal(refusedOf(await exam.registerFeature('bob')).details.nextFreeAt, near);
    for (let minutes = 0; minutes < 60; minutes += 5) {
      exam.clock.advance(5 * MINUTE_MS);
      await exam.register('ada');
    }
    assert.equal(await exam.countFeatureSlots(license), 0, 'although heartbeats hold the license');
  },

  'nor a validity that was shortened and extended again': async (exam: ExamStore) => {
    const license = await install(exam);
    await exam.borrow('ada', 'longest');
    slotOf(await exam.registerFeature('ada', { until: plus(NOW, 20 * HOUR_MS) }));
    const validUntil = plus(NOW, HOUR_MS);
    await install(exam, {}, { validUntil });
    await install(exam);
    assert.equal((await exam.findSlot('ada'))?.borrowedUntil, validUntil);
    assert.equal(slotOf(await exam.registerFeature('ada')).borrowedUntil, validUntil);
    exam.clock.advance(HOUR_MS - MINUTE_MS);
    await exam.register('ada');
    exam.clock.advance(MINUTE_MS);
    assert.equal(await exam.countInUse(license), 1);
    assert.equal(await exam.countFeatureSlots(license), 0);
  },

  'a feature that is removed from the license ends by itself': async (exam: ExamStore) => {
    const license = await install(exam);
    await lendBoth(exam, ['ada']);
    await exam.install({ slots: 100, features: [exampleFeature('export')] });
    assert.equal(codeOf(await exam.registerFeature('ada')), 'invalid_license_feature_code');
    await exam.unregister('ada');
    await install(exam);
    assert.equal(await exam.countFeatureSlots(license), 0);
  },

  'an earlier expiry ends what is held': async (exam: ExamStore) => {
    const license = await install(exam);
    await lendBoth(exam, ['ada']);
    const expiresAt = plus(NOW, MINUTE_MS);
    const render = exampleFeature('render', { floating: LENDING, expiresAt });
    await exam.install({ slots: 100, features: [exampleFeature('export'), render] });
    exam.clock.advance(MINUTE_MS - 1);
    assert.equal(await exam.countFeatureSlots(license), 1);
    exam.clock.advance(1);
    assert.equal(await exam.countFeatureSlots(license), 0);
    assert.equal(codeOf(await exam.registerFeature('ada')), 'license_feature_expired');
  },
};

export const FEATURE_CLOCK = {
  'a clock reset leaves no borrow of a feature beyond that of the license': async (exam: ExamStore) => {
    const lending = { slots: 5, maxBorrowHours: 24 };
    await install(exam, lending, { maxBorrowHours: 2 });
    await exam.restart(() => exam.clock.setWall(plus(exam.clock.readWall(), YEAR_MS)));
    await exam.borrow('ada', 'longest');
    await exam.register('bob');
    for (const user of ['ada', 'bob']) slotOf(await exam.registerFeature(user, { until: 'longest' }));
    exam.clock.setWall(plus(exam.clock.readWall(), -YEAR_MS));
    await exam.execute(RESET);
    const now = await exam.now();
    await install(exam, lending, { maxBorrowHours: 2 });
    assert.equal(slotOf(await exam.registerFeature('ada')).borrowedUntil, plus(now, 2 * HOUR_MS));
    assert.equal(slotOf(await exam.registerFeature('bob')).borrowedUntil, plus(now, TIMEOUT_MS));
  },

  'a clock reset caps borrows of features, and gives one timeout': async (exam: ExamStore) => {
    await install(exam, { slots: 5, maxBorrowHours: 2 });
    await exam.restart(() => exam.clock.setWall(plus(exam.clock.readWall(), YEAR_MS)));
    await exam.borrow('ada', 'longest');
    slotOf(await exam.registerFeature('ada', { until: 'longest' }));
    await lendBoth(exam, ['bob']);
    exam.clock.setWall(plus(exam.clock.readWall(), -YEAR_MS));
    await exam.execute(RESET);
    const now = await exam.now();
    const license = await install(exam, { slots: 5, maxBorrowHours: 2 });
    assert.equal(await exam.countFeatureSlots(license), 2);
    exam.clock.advance(TIMEOUT_MS - 1);
    assert.equal(await exam.countFeatureSlots(license), 2);
    exam.clock.advance(1);
    assert.equal(await exam.countFeatureSlots(license), 1, 'who borrowed still has it');
    const slot = slotOf(await exam.registerFeature('ada'));
    assert.equal(slot.borrowedUntil, plus(now, 2 * HOUR_MS));
    exam.clock.advance(2 * HOUR_MS - TIMEOUT_MS);
    assert.equal(await exam.countFeatureSlots(license), 0);
  },
};

/** The same cases for a store that was closed and for one that crashed. */
export function featureRestartCases(again: 'restart' | 'crash') {
  return {
    "a live one gets a timeout like the license's slot; an ended one stays ended": async (
      exam: ExamStore,
    ) => {
      const license = await install(exam, { slots: 5, timeoutMinutes: 2 });
      await lendBoth(exam, ['ended']);
      exam.clock.advance(1);
      await lendBoth(exam, ['live']);
      exam.clock.advance(2 * MINUTE_MS - 1);
      await exam.now();
      await exam[again](() => exam.clock.advance(3 * HOUR_MS));
      assert.equal(await exam.countInUse(license), 2);
      assert.equal(await exam.countFeatureSlots(license), 1);
      assert.equal(codeOf(await exam.releaseFeature('ended')), 'floating_feature_device_not_in_use');
      exam.clock.advance(2 * MINUTE_MS - 1);
      assert.equal(await exam.countFeatureSlots(license), 1);
      exam.clock.advance(1);
      assert.equal(await exam.countFeatureSlots(license), 0);
    },

    "one that ended with the license's slot stays ended": async (exam: ExamStore) => {
      const license = await install(exam, { timeoutMinutes: 60 });
      await lendBoth(exam, ['ada']);
      exam.clock.advance(TIMEOUT_MS);
      await exam.now();
      await exam[again]();
      assert.equal(await exam.countFeatureSlots(license), 0);
      await exam.register('ada');
      assert.equal(await exam.countFeatureSlots(license), 0);
    },

    'a borrow keeps its date, and a full feature stays full': async (exam: ExamStore) => {
      const license = await install(exam, { slots: 1 });
      await exam.borrow('ada', 'longest');
      const until = plus(NOW, 5 * HOUR_MS);
      assert.equal(slotOf(await exam.registerFeature('ada', { until })).endsAt, until);
      await exam[again](() => exam.clock.advance(HOUR_MS));
      await exam.register('bob');
      const { code, details } = refusedOf(await exam.registerFeature('bob'));
      assert.deepEqual([code, details.nextFreeAt], ['floating_not_available', until]);
      exam.clock.advance(4 * HOUR_MS);
      assert.equal(await exam.countFeatureSlots(license), 0);
    },
  };
}
