import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ErrorCode } from '@berth/protocol/errors';
import type { LicenseCommand } from '../../../src/core/command.ts';
import { decide } from '../../../src/core/decide.ts';
import type { Feature } from '../../../src/core/nouns/feature.ts';
import type { FeatureSlot } from '../../../src/core/nouns/feature-slot.ts';
import { HOUR_MS, type Instant, MINUTE_MS, plus } from '../../../src/core/nouns/instant.ts';
import type { License } from '../../../src/core/nouns/license.ts';
import type { Measured, Refused } from '../../../src/core/outcome.ts';
import {
  borrow,
  exampleFeature,
  exampleFeatureSlot,
  exampleLicense,
  exampleSlot,
  exampleView,
  expectRefused,
  LICENSE_ID,
  NOW,
  registerFeature,
  type ViewFacts,
} from '../examples.ts';

const LENDING = { slots: 2, timeoutMinutes: 5, canBorrow: true, maxBorrowHours: 4 };
const HOLDER = exampleSlot('ada', { endsAt: plus(NOW, HOUR_MS) });

/** A license with the floating feature "render" and the counting feature "export". */
function licensed(feature: Partial<Feature> = {}, facts: Partial<License> = {}): License {
  const render = exampleFeature('render', { floating: LENDING, ...feature });
  return exampleLicense({ slots: 5, features: [exampleFeature('export'), render], ...facts });
}

function decideOn(command: LicenseCommand & { user: string }, facts: ViewFacts = {}) {
  const meter = { feature: 'feature' in command ? (command.feature ?? '') : 'render' };
  const view = exampleView({ license: licensed(), slots: [HOLDER], meter, ...facts }, command.user);
  return decide(command, view, NOW);
}

function measured(command: LicenseCommand & { user: string }, facts: ViewFacts = {}): Measured {
  const { outcome } = decideOn(command, facts);
  assert.equal(outcome.kind, 'measured', JSON.stringify(outcome));
  return outcome as Measured;
}

function refused(command: LicenseCommand & { user: string }, facts: ViewFacts = {}): Refused {
  const { outcome } = decideOn(command, facts);
  return expectRefused(outcome);
}

const TAKEN = [exampleFeatureSlot('bob'), exampleFeatureSlot('eve')];
const OTHERS = [exampleSlot('bob'), exampleSlot('eve')];

describe('a slot of a feature', () => {
  test("is lent to a user of the license, for the feature's timeout", () => {
    const { outcome, changes, events } = decideOn(registerFeature('ada'));
    const slot = exampleFeatureSlot('ada', { registeredAt: NOW, endsAt: plus(NOW, 5 * MINUTE_MS) });
    assert.deepEqual(changes, [{ kind: 'put_feature_slot', slot, isNew: true }]);
    assert.deepEqual(events, [{ kind: 'feature_lent', feature: 'render', user: 'ada' }]);
    const { inUse, total, feature, licenseId } = outcome as Measured;
    assert.deepEqual([inUse, total, feature?.code, licenseId], [1, 0, 'render', LICENSE_ID]);
    assert.deepEqual((outcome as Measured).slot, slot);
  });

  test('is renewed, not lent twice, even if all are in use', () => {
    const held = exampleFeatureSlot('ada');
    const facts = { featureSlots: [held, exampleFeatureSlot('bob')], slots: [HOLDER, exampleSlot('bob')] };
    const { outcome, changes, events } = decideOn(registerFeature('ada'), facts);
    assert.equal((outcome as Measured).inUse, 2);
    const slot = { ...held, endsAt: plus(NOW, 5 * MINUTE_MS) };
    assert.deepEqual(changes, [{ kind: 'put_feature_slot', slot, isNew: false }]);
    assert.deepEqual(events, []);
  });

  test('is lent to nobody while it is kept for others, but renewed', () => {
    const facts = { slots: [HOLDER, exampleSlot('bob')], kept: 1 };
    const bobs = { ...facts, featureSlots: [exampleFeatureSlot('bob')] };
    assert.equal(refused(registerFeature('ada'), bobs).code, 'floating_not_available');
    const both = { ...facts, featureSlots: [exampleFeatureSlot('ada'), exampleFeatureSlot('bob')] };
    assert.equal(measured(registerFeature('ada'), both).inUse, 2);
  });

  test('is renewed, but not lent, where the license was activated on another machine', () => {
    const license = licensed({}, { tie: { ...exampleLicense().tie, movedAt: NOW } });
    assert.equal(refused(registerFeature('ada'), { license }).code, 'server_identity_changed');
    const held = { license, featureSlots: [exampleFeatureSlot('ada')] };
    assert.equal(measured(registerFeature('ada'), held).inUse, 1);
    const longer = registerFeature('ada', { until: 'longest' });
    assert.equal(refused(longer, held).code, 'server_identity_changed');
  });

  test('never outlives the feature, nor validity and grace', () => {
    const soon = plus(NOW, MINUTE_MS);
    const byFeature = measured(registerFeature('ada'), { license: licensed({ expiresAt: soon }) });
    assert.equal(byFeature.slot?.endsAt, soon);
    const byLicense = measured(registerFeature('ada'), { license: licensed({}, { validUntil: soon }) });
    assert.equal(byLicense.slot?.endsAt, soon);
  });

  test('that has ended is lent again, and its end is an event', () => {
    const ended = exampleFeatureSlot('ada', { endsAt: NOW });
    const { outcome, changes, events } = decideOn(registerFeature('ada'), { featureSlots: [ended] });
    assert.equal((outcome as Measured).inUse, 1);
    assert.deepEqual(
      changes.map(({ kind }) => kind),
      ['remove_feature_slot', 'put_feature_slot'],
    );
    assert.deepEqual(
      events.map(({ kind }) => kind),
      ['feature_expired', 'feature_lent'],
    );
  });

  test("is free when its user's license slot has ended", () => {
    const slots = [HOLDER, exampleSlot('bob', { endsAt: NOW }), exampleSlot('eve')];
    const { outcome, events } = decideOn(registerFeature('ada'), { slots, featureSlots: TAKEN });
    assert.equal((outcome as Measured).inUse, 2);
    assert.deepEqual(events[0], { kind: 'feature_expired', feature: 'render', user: 'bob', endedAt: NOW });
  });
});

describe('a slot of a feature is refused', () => {
  const cases: [string, ErrorCode, Partial<Parameters<typeof registerFeature>[1]>, ViewFacts][] = [
    ['by an unknown code', 'invalid_license_feature_code', { feature: 'nothing' }, {}],
    [
      'when the feature has expired',
      'license_feature_expired',
      {},
      { license: licensed({ expiresAt: NOW }) },
    ],
    ['if it has none', 'feature_not_floating', { feature: 'export' }, {}],
    ['without a slot of the license', 'device_not_found', {}, { slots: [] }],
    [
      'with one that has ended',
      'device_not_found',
      {},
      { slots: [exampleSlot('ada', { endsAt: NOW })], featureSlots: [exampleFeatureSlot('ada')] },
    ],
    [
      'when all are in use',
      'floating_not_available',
      {},
      { slots: [HOLDER, ...OTHERS], featureSlots: TAKEN },
    ],
    [
      'by a feature that is not borrowed',
      'license_borrow_not_allowed',
      { until: 'longest' },
      { license: licensed({ floating: { ...LENDING, canBorrow: false } }) },
    ],
    [
      'by a feature with 0 hours of borrowing',
      'license_borrow_not_allowed',
      { until: 'longest' },
      { license: licensed({ floating: { ...LENDING, maxBorrowHours: 0 } }) },
    ],
    ['until a time in the past', 'borrow_until_not_valid', { until: NOW }, {}],
    ['without a date', 'borrow_until_not_valid', { until: 'unreadable' }, {}],
    ['by a disabled license', 'license_not_enabled', {}, { license: licensed({}, { enabled: false }) }],
  ];
  for (const [title, code, request, facts] of cases) {
    test(`${title}: ${code}, and the denial is recorded`, () => {
      const command = registerFeature('ada', request);
      const { outcome, changes, events } = decideOn(command, facts);
      assert.equal(expectRefused(outcome).code, code);
      assert.equal(changes.at(-1)?.kind, 'put_denial');
      assert.ok(!changes.some(({ kind }) => kind === 'put_feature_slot'));
      const { feature } = command;
      assert.deepEqual(events.at(-1), { kind: 'slot_denied', feature, user: 'ada', code, repeated: 0 });
    });
  }

  test('with how many there are and when the next may be free', () => {
    const facts = { slots: [HOLDER, ...OTHERS], featureSlots: TAKEN };
    const { details, message } = refused(registerFeature('ada'), facts);
    assert.deepEqual(details, { slots: 2, inUse: 2, nextFreeAt: TAKEN[0]?.endsAt });
    assert.match(message, /"render"/);
    const shrunk = { ...facts, license: licensed({ floating: { ...LENDING, slots: 1 } }) };
    assert.deepEqual(refused(registerFeature('ada'), shrunk).details, { slots: 1, inUse: 2 });
  });
});

describe('a feature is borrowed', () => {
  test('until the date, at most as long as the feature allows and the license is held', () => {
    const lend = (until: Parameters<typeof registerFeature>[1]) =>
      measured(registerFeature('ada', until)).slot;
    const halfAnHour = plus(NOW, HOUR_MS / 2);
    assert.equal(lend({ until: halfAnHour })?.borrowedUntil, halfAnHour);
    assert.equal(lend({ until: 'longest' })?.borrowedUntil, HOLDER.endsAt);
    assert.equal(lend({ until: plus(HOLDER.endsAt, 5 * MINUTE_MS) })?.borrowedUntil, HOLDER.endsAt);
    const { code, details } = refused(registerFeature('ada', { until: plus(HOLDER.endsAt, 300_001) }));
    assert.deepEqual([code, details], ['borrow_until_not_valid', { latestUntil: HOLDER.endsAt }]);
    const long = { slots: [exampleSlot('ada', { endsAt: plus(NOW, 99 * HOUR_MS) })] };
    const slot = measured(registerFeature('ada', { until: 'longest' }), long).slot;
    assert.equal(slot?.borrowedUntil, plus(NOW, 4 * HOUR_MS));
    assert.equal(slot?.endsAt, plus(NOW, 4 * HOUR_MS));
  });

  test('no longer than the license is, even if heartbeats hold that longer', () => {
    const borrowedUntil = plus(NOW, MINUTE_MS);
    const slots = [exampleSlot('ada', { borrowedUntil, endsAt: plus(NOW, 10 * MINUTE_MS) })];
    const { slot } = measured(registerFeature('ada', { until: 'longest' }), { slots });
    assert.equal(slot?.borrowedUntil, borrowedUntil);
    const lapsed = [exampleSlot('ada', { borrowedUntil: NOW, endsAt: plus(NOW, 10 * MINUTE_MS) })];
    const plain = measured(registerFeature('ada', { until: 'longest' }), { slots: lapsed }).slot;
    assert.equal(plain?.borrowedUntil, plus(NOW, 10 * MINUTE_MS), 'a borrow that is over bounds nothing');
  });

  test('with an event; a heartbeat does not shorten it', () => {
    const until = plus(NOW, HOUR_MS / 2);
    const { events } = decideOn(registerFeature('ada', { until }));
    assert.deepEqual(events[1], {
      kind: 'feature_borrowed',
      feature: 'render',
      user: 'ada',
      borrowedUntil: until,
    });
    const held = exampleFeatureSlot('ada', { borrowedUntil: until, endsAt: until });
    const renewed = measured(registerFeature('ada'), { featureSlots: [held] }).slot;
    assert.deepEqual([renewed?.borrowedUntil, renewed?.endsAt], [until, until]);
  });

  test('not longer than before while too many are in use', () => {
    const held = exampleFeatureSlot('ada', { borrowedUntil: plus(NOW, HOUR_MS / 2) });
    const facts = { slots: [HOLDER, ...OTHERS], featureSlots: [held, ...TAKEN] };
    assert.equal(measured(registerFeature('ada'), facts).inUse, 3, 'a heartbeat is fine');
    const extend = registerFeature('ada', { until: 'longest' });
    assert.equal(refused(extend, facts).code, 'floating_not_available');
    assert.equal(measured(registerFeature('ada', { until: plus(NOW, 1) }), facts).inUse, 3);
  });
});

describe('when the license borrow is shortened', () => {
  const far = plus(NOW, 3 * HOUR_MS);
  const near = plus(NOW, HOUR_MS);
  const slots = [exampleSlot('ada', { borrowedUntil: far, endsAt: far }), exampleSlot('bob')];
  const cut = (until: Instant, slot: Partial<FeatureSlot> = {}, license = licensed()) => {
    const own = exampleFeatureSlot('ada', { borrowedUntil: far, endsAt: far, ...slot });
    const others = exampleFeatureSlot('bob', { borrowedUntil: far, endsAt: far });
    const { changes, events } = decideOn(borrow('ada', until), {
      slots,
      license,
      featureSlots: [own, others],
    });
    const puts = changes.flatMap((change) => (change.kind === 'put_feature_slot' ? [change.slot] : []));
    const told = events.flatMap((event) => (event.kind === 'feature_borrowed' ? [event.borrowedUntil] : []));
    return { puts: puts.map(({ user, borrowedUntil, endsAt }) => ({ user, borrowedUntil, endsAt })), told };
  };

  test("so are the user's borrowed features, and nobody else's", () => {
    assert.deepEqual(cut(near), { puts: [{ user: 'ada', borrowedUntil: near, endsAt: near }], told: [near] });
  });

  test('a feature with heartbeats keeps its timeout', () => {
    const soon = plus(NOW, MINUTE_MS);
    const endsAt = plus(NOW, 5 * MINUTE_MS);
    assert.deepEqual(cut(soon).puts, [{ user: 'ada', borrowedUntil: soon, endsAt }]);
    const gone = exampleLicense({ features: [] });
    assert.equal(cut(soon, {}, gone).puts[0]?.endsAt, soon, 'unless the feature is gone');
  });

  test('what is not borrowed, or for less time, stays', () => {
    assert.deepEqual(cut(near, { borrowedUntil: null }), { puts: [], told: [] });
    assert.deepEqual(cut(near, { borrowedUntil: near }), { puts: [], told: [] });
    assert.deepEqual(cut(plus(NOW, 4 * HOUR_MS)), { puts: [], told: [] });
  });
});
