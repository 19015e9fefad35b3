import assert from 'node:assert/strict';
import { exampleFeature, NOW } from '../../core/examples.ts';
import type { FeatureLending } from '../../core/nouns/feature.ts';
import { HOUR_MS, MINUTE_MS, plus } from '../../core/nouns/instant.ts';
import type { License } from '../../core/nouns/license.ts';
import type { Outcome } from '../../core/outcome.ts';
import { type Bench, codeOf, grantedOf, measuredOf, refusedOf, users } from './exam-store.ts';

const TIMEOUT_MS = 10 * MINUTE_MS;
const YEAR_MS = 365 * 24 * HOUR_MS;
const RESET = { kind: 'reset_clock', by: 'admin' } as const;

const LENDING: FeatureLending = { slots: 2, timeoutMinutes: 10, canBorrow: true, maxBorrowHours: 24 };

/** A license with many slots, whose feature "render" has some. */
function install(bench: Bench, lending: Partial<FeatureLending> = {}, facts: Partial<License> = {}) {
  const render = exampleFeature('render', { floating: { ...LENDING, ...lending } });
  return bench.install({ slots: 100, features: [exampleFeature('export'), render], ...facts });
}

/** Lends both slots to each of them. */
async function lendBoth(bench: Bench, names: readonly string[]): Promise<void> {
  const outcomes = await Promise.all(
    names.flatMap((user) => [bench.register(user), bench.registerFeature(user)]),
  );
  assert.deepEqual(new Set(outcomes.map(({ kind }) => kind)), new Set(['granted', 'measured']));
}

function slotOf(outcome: Outcome) {
  const { slot } = measuredOf(outcome);
  assert.ok(slot);
  return slot;
}

export const FEATURES_AT_ONCE = {
  'of sixty-four users on five slots of a feature exactly five get one': async (bench: Bench) => {
    const license = await install(bench, { slots: 5 });
    const names = users(64);
    for (const outcome of await Promise.all(names.map((user) => bench.register(user)))) grantedOf(outcome);
    const outcomes = await Promise.all(names.map((user) => bench.registerFeature(user)));
    const lent = outcomes.filter(({ kind }) => kind === 'measured').map(measuredOf);
    assert.deepEqual(lent.map(({ inUse }) => inUse).sort(), [1, 2, 3, 4, 5]);
    for (const { code, details } of outcomes.filter(({ kind }) => kind !== 'measured').map(refusedOf)) {
      assert.equal(code, 'floating_not_available');
      assert.deepEqual([details.slots, details.inUse], [5, 5]);
    }
    assert.equal(await bench.countFeatureSlots(license), 5);
    assert.equal((await bench.listEventsOf('slot_denied', license.id)).length, 59);
  },

  'one user who asks a hundred times at once holds one slot of it': async (bench: Bench) => {
    const license = await install(bench);
    await bench.register('ada');
    const outcomes = await Promise.all(users(100).map(() => bench.registerFeature('ada')));
    for (const outcome of outcomes) assert.equal(measuredOf(outcome).inUse, 1);
    assert.equal((await bench.listEventsOf('feature_lent', license.id)).length, 1);
  },

  'coming and going never passes the limit': async (bench: Bench) => {
    const license = await install(bench, { slots: 3 });
    const visit = async (user: string) => {
      for (let round = 0; round < 10; round++) {
        await bench.register(user);
        const outcome = await bench.registerFeature(user);
        if (outcome.kind === 'measured') assert.ok(outcome.inUse <= 3, `${outcome.inUse} in use`);
        const isLast = round === 9;
        if (!isLast && round % 2 === 0) await bench.releaseFeature(user);
        if (!isLast && round % 2 === 1) await bench.unregister(user);
      }
    };
    await Promise.all(users(12).map(visit));
    assert.equal(await bench.countFeatureSlots(license), 3);
  },
};

export const FEATURES = {
  'it is free at its time, to the millisecond, whoever has collected': async (bench: Bench) => {
    const license = await install(bench, { slots: 1, timeoutMinutes: 2 });
    await lendBoth(bench, ['ada']);
    await bench.register('bob');
    bench.clock.advance(2 * MINUTE_MS - 1);
    assert.equal(codeOf(await bench.registerFeature('bob')), 'floating_not_available');
    assert.equal(await bench.countFeatureSlots(license), 1);
    bench.clock.advance(1);
    assert.equal(await bench.countFeatureSlots(license), 0);
    assert.equal(measuredOf(await bench.registerFeature('bob')).inUse, 1);
    const events = await bench.listEventsOf('feature_expired', license.id);
    const endedAt = plus(NOW, 2 * MINUTE_MS);
    assert.deepEqual(events, [{ kind: 'feature_expired', feature: 'render', user: 'ada', endedAt }]);
  },

  'it is free when the slot of the license ends, however long it was lent': async (bench: Bench) => {
    const license = await install(bench, { slots: 1, timeoutMinutes: 60 });
    await lendBoth(bench, ['ada']);
    bench.clock.advance(TIMEOUT_MS - 1);
    await bench.register('bob');
    assert.equal(codeOf(await bench.registerFeature('bob')), 'floating_not_available');
    bench.clock.advance(1);
    assert.equal(await bench.countFeatureSlots(license), 0, 'before anybody has collected');
    assert.equal(measuredOf(await bench.registerFeature('bob')).inUse, 1);
    const [event] = await bench.listEventsOf('feature_expired', license.id);
    assert.equal(event?.endedAt, plus(NOW, TIMEOUT_MS), 'it ended with the slot of the license');
  },

  'a new slot of the license does not bring the old one of the feature back': async (bench: Bench) => {
    const license = await install(bench, { timeoutMinutes: 60 });
    await lendBoth(bench, ['ada']);
    bench.clock.advance(TIMEOUT_MS);
    await bench.register('ada');
    assert.equal(await bench.countFeatureSlots(license), 0);
    assert.equal(codeOf(await bench.releaseFeature('ada')), 'floating_feature_device_not_in_use');
  },

  'giving back, releasing and recalling the license frees it at once': async (bench: Bench) => {
    const license = await install(bench, { slots: 1 });
    const ways = {
      unregister: () => bench.unregister('ada'),
      release: () => bench.release('ada'),
      recall: () => bench.recall('ada'),
      releaseAll: () => bench.releaseAll(license),
    };
    for (const [way, takeBack] of Object.entries(ways)) {
      await (way === 'recall' ? bench.borrow('ada', 'longest') : bench.register('ada'));
      measuredOf(await bench.registerFeature('ada'));
      assert.equal(codeOf(await takeBack()), 'done', way);
      await bench.register('bob');
      assert.equal(measuredOf(await bench.registerFeature('bob')).inUse, 1, way);
      await bench.unregister('bob');
    }
    assert.equal((await bench.listEventsOf('feature_returned', license.id)).length, 3 + 4);
  },

  'an administrator takes back all of them, and the licenses stay lent': async (bench: Bench) => {
    const license = await install(bench, { slots: 5 });
    await lendBoth(bench, users(4));
    const command = { kind: 'release_all_features', licenseId: license.id, by: 'admin' } as const;
    assert.deepEqual(await bench.execute(command), { kind: 'done', count: 4 });
    assert.deepEqual(await bench.execute(command), { kind: 'done', count: 0 });
    assert.equal(await bench.countFeatureSlots(license), 0);
    assert.equal(await bench.countInUse(license), 4);
    assert.equal(measuredOf(await bench.registerFeature('user-0001')).inUse, 1);
  },

  'more than a thousand that ended at once are right for every answer': async (bench: Bench) => {
    const license = await install(bench, { slots: 1100, timeoutMinutes: 2 }, { slots: 1200 });
    await lendBoth(bench, users(1100));
    bench.clock.advance(2 * MINUTE_MS);
    assert.equal(await bench.countFeatureSlots(license), 0);
    assert.equal(measuredOf(await bench.registerFeature('user-1099')).inUse, 1, 'whose own was the last');
    const { standing } = grantedOf(await bench.register('user-0000')) as { standing?: unknown };
    assert.deepEqual(standing, await bench.readStanding(license));
    assert.equal(measuredOf(await bench.registerFeature('user-0000')).inUse, 2);
    assert.equal((await bench.listEventsOf('feature_expired', license.id)).length, 1100);
  },

  'so it is when they end with more than a thousand slots of the license': async (bench: Bench) => {
    const license = await install(bench, { slots: 1100, timeoutMinutes: 60 }, { slots: 1200 });
    await lendBoth(bench, users(1100));
    bench.clock.advance(TIMEOUT_MS);
    assert.equal(await bench.countFeatureSlots(license), 0);
    const granted = grantedOf(await bench.register('user-1099'));
    assert.equal(granted.inUse, 1);
    assert.equal(await bench.countFeatureSlots(license), 0, 'the old one does not come back');
    assert.equal(measuredOf(await bench.registerFeature('user-1099')).inUse, 1);
    assert.equal(await bench.countFeatureSlots(license), 1);
    const command = { kind: 'release_all_features', licenseId: license.id, by: 'admin' } as const;
    assert.deepEqual(await bench.execute(command), { kind: 'done', count: 1 });
  },

  'what is borrowed of it does not outlast a borrow of the license that is cut short': async (
    bench: Bench,
  ) => {
    const license = await install(bench, { slots: 1, timeoutMinutes: 2 });
    await bench.borrow('ada', 'longest');
    slotOf(await bench.registerFeature('ada', { until: plus(NOW, 20 * HOUR_MS) }));
    const near = plus(NOW, HOUR_MS);
    await bench.borrow('ada', near);
    assert.equal(slotOf(await bench.registerFeature('ada')).borrowedUntil, near);
    await bench.register('bob');
    assert.equal(refusedOf(await bench.registerFeature('bob')).details.nextFreeAt, near);
    for (let minutes = 0; minutes < 60; minutes += 5) {
      bench.clock.advance(5 * MINUTE_MS);
      await bench.register('ada');
    }
    assert.equal(await bench.countFeatureSlots(license), 0, 'although heartbeats hold the license');
  },

  'nor a validity that was cut short and comes back': async (bench: Bench) => {
    const license = await install(bench);
    await bench.borrow('ada', 'longest');
    slotOf(await bench.registerFeature('ada', { until: plus(NOW, 20 * HOUR_MS) }));
    const validUntil = plus(NOW, HOUR_MS);
    await install(bench, {}, { validUntil });
    await install(bench);
    assert.equal((await bench.findSlot('ada'))?.borrowedUntil, validUntil);
    assert.equal(slotOf(await bench.registerFeature('ada')).borrowedUntil, validUntil);
    bench.clock.advance(HOUR_MS - MINUTE_MS);
    await bench.register('ada');
    bench.clock.advance(MINUTE_MS);
    assert.equal(await bench.countInUse(license), 1);
    assert.equal(await bench.countFeatureSlots(license), 0);
  },

  'a feature that is taken from the license ends by itself': async (bench: Bench) => {
    const license = await install(bench);
    await lendBoth(bench, ['ada']);
    await bench.install({ slots: 100, features: [exampleFeature('export')] });
    assert.equal(codeOf(await bench.registerFeature('ada')), 'invalid_license_feature_code');
    await bench.unregister('ada');
    await install(bench);
    assert.equal(await bench.countFeatureSlots(license), 0);
  },

  'an expiry that comes nearer ends what is held': async (bench: Bench) => {
    const license = await install(bench);
    await lendBoth(bench, ['ada']);
    const expiresAt = plus(NOW, MINUTE_MS);
    const render = exampleFeature('render', { floating: LENDING, expiresAt });
    await bench.install({ slots: 100, features: [exampleFeature('export'), render] });
    bench.clock.advance(MINUTE_MS - 1);
    assert.equal(await bench.countFeatureSlots(license), 1);
    bench.clock.advance(1);
    assert.equal(await bench.countFeatureSlots(license), 0);
    assert.equal(codeOf(await bench.registerFeature('ada')), 'license_feature_expired');
  },
};

export const FEATURE_CLOCK = {
  'a time that is reset leaves no borrow of a feature beyond that of the license': async (bench: Bench) => {
    const lending = { slots: 5, maxBorrowHours: 24 };
    await install(bench, lending, { maxBorrowHours: 2 });
    await bench.restart(() => bench.clock.setWall(plus(bench.clock.readWall(), YEAR_MS)));
    await bench.borrow('ada', 'longest');
    await bench.register('bob');
    for (const user of ['ada', 'bob']) slotOf(await bench.registerFeature(user, { until: 'longest' }));
    bench.clock.setWall(plus(bench.clock.readWall(), -YEAR_MS));
    await bench.execute(RESET);
    const now = await bench.now();
    await install(bench, lending, { maxBorrowHours: 2 });
    assert.equal(slotOf(await bench.registerFeature('ada')).borrowedUntil, plus(now, 2 * HOUR_MS));
    assert.equal(slotOf(await bench.registerFeature('bob')).borrowedUntil, plus(now, TIMEOUT_MS));
  },

  'a time that is reset caps borrows of features, and gives one timeout': async (bench: Bench) => {
    await install(bench, { slots: 5, maxBorrowHours: 2 });
    await bench.restart(() => bench.clock.setWall(plus(bench.clock.readWall(), YEAR_MS)));
    await bench.borrow('ada', 'longest');
    slotOf(await bench.registerFeature('ada', { until: 'longest' }));
    await lendBoth(bench, ['bob']);
    bench.clock.setWall(plus(bench.clock.readWall(), -YEAR_MS));
    await bench.execute(RESET);
    const now = await bench.now();
    const license = await install(bench, { slots: 5, maxBorrowHours: 2 });
    assert.equal(await bench.countFeatureSlots(license), 2);
    bench.clock.advance(TIMEOUT_MS - 1);
    assert.equal(await bench.countFeatureSlots(license), 2);
    bench.clock.advance(1);
    assert.equal(await bench.countFeatureSlots(license), 1, 'who borrowed still has it');
    const slot = slotOf(await bench.registerFeature('ada'));
    assert.equal(slot.borrowedUntil, plus(now, 2 * HOUR_MS));
    bench.clock.advance(2 * HOUR_MS - TIMEOUT_MS);
    assert.equal(await bench.countFeatureSlots(license), 0);
  },
};

/** The same cases for a store that was closed and for one that crashed. */
export function featureRestartCases(again: 'restart' | 'crash') {
  return {
    'a live one gets a timeout like the slot of its license; an ended one stays ended': async (
      bench: Bench,
    ) => {
      const license = await install(bench, { slots: 5, timeoutMinutes: 2 });
      await lendBoth(bench, ['ended']);
      bench.clock.advance(1);
      await lendBoth(bench, ['live']);
      bench.clock.advance(2 * MINUTE_MS - 1);
      await bench.now();
      await bench[again](() => bench.clock.advance(3 * HOUR_MS));
      assert.equal(await bench.countInUse(license), 2);
      assert.equal(await bench.countFeatureSlots(license), 1);
      assert.equal(codeOf(await bench.releaseFeature('ended')), 'floating_feature_device_not_in_use');
      bench.clock.advance(2 * MINUTE_MS - 1);
      assert.equal(await bench.countFeatureSlots(license), 1);
      bench.clock.advance(1);
      assert.equal(await bench.countFeatureSlots(license), 0);
    },

    'one that had ended with the slot of its license stays ended': async (bench: Bench) => {
      const license = await install(bench, { timeoutMinutes: 60 });
      await lendBoth(bench, ['ada']);
      bench.clock.advance(TIMEOUT_MS);
      await bench.now();
      await bench[again]();
      assert.equal(await bench.countFeatureSlots(license), 0);
      await bench.register('ada');
      assert.equal(await bench.countFeatureSlots(license), 0);
    },

    'a borrow keeps its date, and a full feature stays full': async (bench: Bench) => {
      const license = await install(bench, { slots: 1 });
      await bench.borrow('ada', 'longest');
      const until = plus(NOW, 5 * HOUR_MS);
      assert.equal(slotOf(await bench.registerFeature('ada', { until })).endsAt, until);
      await bench[again](() => bench.clock.advance(HOUR_MS));
      await bench.register('bob');
      const { code, details } = refusedOf(await bench.registerFeature('bob'));
      assert.deepEqual([code, details.nextFreeAt], ['floating_not_available', until]);
      bench.clock.advance(4 * HOUR_MS);
      assert.equal(await bench.countFeatureSlots(license), 0);
    },
  };
}
