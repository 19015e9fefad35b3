import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { LicenseCommand } from '../../../src/core/command.ts';
import { decide } from '../../../src/core/decide.ts';
import type { Decision } from '../../../src/core/decision.ts';
import { HOUR_MS, plus } from '../../../src/core/nouns/instant.ts';
import {
  exampleFeature,
  exampleFeatureSlot,
  exampleLicense,
  exampleSlot,
  exampleView,
  expectRefused,
  NOW,
  register,
  release,
  releaseFeature,
  unregister,
  type ViewFacts,
} from '../examples.ts';
import { answering, decideOn as decideOnPool } from './example-pool.ts';

const borrowedUntil = plus(NOW, HOUR_MS);
const BOTH = exampleSlot('ada', { programs: 'a\nb\n' });
const LAST = exampleSlot('ada', { programs: 'a\n' });
const NAMELESS = exampleSlot('ada');
const BORROWED = exampleSlot('ada', { programs: 'a\n', borrowedUntil, endsAt: borrowedUntil });
const A = { instance: 'a' };

function decideOn(command: LicenseCommand, facts: ViewFacts): Decision {
  return decide(command, exampleView(facts, 'ada'), NOW);
}

describe('a program that joins a slot', () => {
  test('writes the slot once; its heartbeats only move the end', () => {
    const changesOf = (instance: string) =>
      decideOn(register('ada', { instance }), { slots: [LAST] }).changes;
    const [joined] = changesOf('b');
    assert.equal(joined?.kind === 'put_registration' && joined.registration.programs, BOTH.programs);
    assert.deepEqual(
      changesOf('a').map(({ kind }) => kind),
      ['renew_registration'],
    );
  });
});

describe('a program that leaves a slot', () => {
  test('frees it if it is the last', () => {
    const { outcome, changes, events } = decideOn(unregister('ada', A), { slots: [LAST] });
    assert.deepEqual(outcome, { kind: 'done', count: 1, programs: 0 });
    assert.deepEqual(changes, [
      { kind: 'remove_registration', registration: LAST },
      { kind: 'set_in_use', inUse: 0 },
    ]);
    assert.deepEqual(events, [{ kind: 'slot_returned', user: 'ada', by: null }]);
  });

  const staying: [string, ViewFacts, number, string | null][] = [
    ['another one uses it', { slots: [BOTH] }, 1, 'b\n'],
    ['one without a name uses it', { slots: [{ ...BOTH, programs: '\na\n' }] }, 1, null],
    ['it is borrowed', { slots: [BORROWED] }, 0, ''],
  ];
  for (const [why, facts, programs, left] of staying) {
    test(`leaves it to its user if ${why}`, () => {
      const { outcome, changes, events } = decideOn(unregister('ada', A), facts);
      const registration = { ...facts.slots?.[0], programs: left };
      assert.deepEqual(outcome, { kind: 'done', count: 0, programs });
      assert.deepEqual(changes, [{ kind: 'put_registration', registration, before: facts.slots?.[0] }]);
      assert.deepEqual(events, []);
    });
  }

  test('changes nothing if the slot does not know it', () => {
    for (const [slot, programs] of [
      [BOTH, 2],
      [NAMELESS, 1],
      [{ ...BORROWED, programs: '' }, 0],
    ] as const) {
      const { outcome, changes, events } = decideOn(unregister('ada', { instance: 'x' }), { slots: [slot] });
      assert.deepEqual(outcome, { kind: 'done', count: 0, programs });
      assert.deepEqual([changes, events], [[], []]);
    }
  });

  test('needs the credentials of the slot', () => {
    const command = unregister('ada', { ...A, credential: 'token 1' });
    const { outcome } = decideOn(command, { slots: [{ ...LAST, credential: 'token 2' }] });
    assert.equal(expectRefused(outcome).code, 'slot_of_another_client');
  });

  test('keeps a borrow that a wrong clock may have ended', () => {
    const lapsed = { ...LAST, borrowedUntil: NOW };
    const freed = decideOn(unregister('ada', A), { slots: [lapsed] });
    assert.deepEqual(
      freed.changes.map(({ kind }) => kind),
      ['remove_registration', 'set_in_use', 'keep_borrow', 'trim_borrows'],
    );
    const kindsOf = (command: LicenseCommand) =>
      decideOn(command, { slots: [{ ...lapsed, endsAt: NOW }] }).changes.map(({ kind }) => kind);
    assert.ok(kindsOf(unregister('ada')).includes('forget_borrow'));
    assert.ok(!kindsOf(unregister('ada', A)).includes('forget_borrow'));
  });

  test('leaves the slot that it has joined, if its user holds several', () => {
    const members = [
      { id: 2, slots: [{ ...LAST, programs: 'b\n' }] },
      { id: 1, slots: [LAST] },
    ];
    assert.equal(answering(unregister('ada', A), members), 1);
    assert.equal(answering(unregister('ada', { instance: 'b' }), members), 2);
    assert.equal(answering(unregister('ada', { instance: 'x' }), members), 2);
    assert.deepEqual(decideOnPool(unregister('ada'), members).asked, [2]);
  });
});

describe('whoever gives back the slot itself', () => {
  test('frees it at once, and the event says how many programs used it', () => {
    const event = { kind: 'slot_returned', user: 'ada', programs: 2 };
    assert.deepEqual(decideOn(unregister('ada'), { slots: [BOTH] }).events, [{ ...event, by: null }]);
    assert.deepEqual(decideOn(release('ada'), { slots: [BOTH] }).events, [{ ...event, by: 'admin' }]);
  });

  test('so does the event of a slot that has ended', () => {
    const { events } = decideOn(register('ada', A), { slots: [{ ...BOTH, endsAt: NOW }] });
    assert.deepEqual(events[0], { kind: 'slot_expired', user: 'ada', endedAt: NOW, programs: 2 });
  });
});

describe('features', () => {
  const lending = { slots: 2, timeoutMinutes: 10, canBorrow: true, maxBorrowHours: 24 };
  const license = exampleLicense({ features: [exampleFeature('render', { floating: lending })] });
  const render = (programs: string | null) => exampleFeatureSlot('ada', { programs });

  test('are left with the slot of the license', () => {
    const facts = { license, slots: [BOTH], featureSlots: [render('a\n')] };
    const freed = decideOn(unregister('ada', A), facts);
    assert.deepEqual(freed.changes.slice(1), [
      { kind: 'remove_feature_slot', feature: 'render', user: 'ada' },
    ]);
    assert.deepEqual(freed.events, [{ kind: 'feature_returned', feature: 'render', user: 'ada' }]);
    const kept = decideOn(unregister('ada', A), { ...facts, featureSlots: [render('a\nb\n')] });
    assert.deepEqual(kept.changes.slice(1), [
      { kind: 'put_feature_slot', slot: render('b\n'), isNew: false },
    ]);
    assert.deepEqual(kept.events, []);
  });

  test('are left alone, too', () => {
    const leave = (programs: string | null) => {
      const facts = { license, slots: [BOTH], featureSlots: [render(programs)], meter: { storedInUse: 1 } };
      return decideOn(releaseFeature('ada', A), facts);
    };
    assert.deepEqual(leave('a\n').outcome, { kind: 'done', count: 1, programs: 0 });
    assert.deepEqual(leave('a\nb\n').outcome, { kind: 'done', count: 0, programs: 1 });
    assert.deepEqual(leave(null).outcome, { kind: 'done', count: 0, programs: 1 });
    assert.deepEqual(leave(null).changes, []);
  });
});
