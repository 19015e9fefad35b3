import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { CLOCK_TOLERANCE_MS } from '../../../src/core/clock/clock.ts';
import type { RestoreView } from '../../../src/core/clock/decide-restore.ts';
import { HOUR_MS, plus } from '../../../src/core/nouns/instant.ts';
import { NO_RULES } from '../../../src/core/rules/rules.ts';
import { chooseResetTime, resetClock } from '../../../src/core/system/clock.ts';
import type { ResetMode } from '../../../src/core/system-command.ts';
import { exampleLicense, exampleSlot, expectRefused, NOW } from '../examples.ts';

const to = plus(NOW, -24 * HOUR_MS);
const { endsAt: _, ...slot } = exampleSlot('ada', { registeredAt: plus(to, -HOUR_MS) });
const borrow = { ...slot, feature: '', borrowedUntil: plus(to, HOUR_MS) };

function viewOf(facts: Partial<RestoreView> = {}): RestoreView {
  return {
    license: exampleLicense(),
    isRemoved: false,
    rules: NO_RULES,
    inUse: 0,
    borrows: [borrow],
    registrations: [],
    featureSlots: [],
    elsewhere: [],
    featuresInUse: new Map(),
    ...facts,
  };
}

function reset(mode: ResetMode, licenses: readonly RestoreView[], time = to) {
  return resetClock.decide({ kind: 'reset_clock', mode, by: 'ada' }, { reset: { to: time, licenses } }, NOW);
}

describe('a reset of the clock', () => {
  test('goes back and restores borrows, in this order', () => {
    const { outcome, changes, events } = reset('careful', [viewOf()]);
    assert.equal(outcome.kind === 'clock_reset' && outcome.restored.length, 1);
    assert.deepEqual(
      changes.map(({ kind }) => kind),
      ['move_clock', 'restore_borrows', 'pull_back'],
    );
    assert.deepEqual(events, [{ kind: 'clock_reset', from: NOW, to, by: 'ada' }]);
  });

  test('is refused if the time is not ahead of the wall clock', () => {
    const { outcome, changes } = reset('forced', [], plus(NOW, -CLOCK_TOLERANCE_MS));
    assert.equal(expectRefused(outcome).code, 'clock_not_poisoned');
    assert.deepEqual(changes, []);
  });

  test('that loses borrows is refused, unless it is forced', () => {
    const full = viewOf({ inUse: 2 });
    const { outcome, changes } = reset('careful', [full]);
    assert.equal(expectRefused(outcome).code, 'borrows_not_restorable');
    assert.deepEqual(changes, []);
    const forced = reset('forced', [full]).outcome;
    assert.equal(forced.kind === 'clock_reset' && forced.lost[0]?.code, 'floating_not_available');
  });

  test('as a dry run changes nothing', () => {
    const { outcome, changes, events } = reset('trial', [viewOf()]);
    assert.equal(outcome.kind, 'clock_reset');
    assert.deepEqual([...changes, ...events], []);
  });

  test('leaves out a borrow that another license has replaced', () => {
    const other = exampleSlot('ada', { registeredAt: borrow.borrowedUntil, borrowedUntil: plus(NOW, 1) });
    const { outcome } = reset('careful', [viewOf({ elsewhere: [other] })]);
    assert.deepEqual(outcome, { kind: 'clock_reset', restored: [], lost: [] });
  });

  test('makes the slot of a user who is back a borrow again', () => {
    const registeredAt = plus(to, -5);
    const held = exampleSlot('ada', { registeredAt, host: { hostname: 'new', address: null, info: null } });
    const { changes } = reset('careful', [viewOf({ inUse: 1, registrations: [held] })]);
    const [, restore] = changes;
    const puts = restore?.kind === 'restore_borrows' ? restore.restoration.changes : [];
    const { borrowedUntil } = borrow;
    assert.deepEqual(puts[0], {
      kind: 'put_registration',
      registration: { ...held, borrowedUntil, endsAt: borrowedUntil },
      before: held,
    });
  });

  test("goes back no further than to the vendor's newest file", () => {
    const license = exampleLicense();
    const dated = { ...license, tie: { ...license.tie, fileAt: plus(to, 1) } };
    assert.equal(chooseResetTime(to, [license]), to);
    assert.equal(chooseResetTime(to, [license, dated]), plus(to, 1));
  });
});
