import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { LicenseCommand } from '../../../src/core/command.ts';
import { type License, licenseId } from '../../../src/core/nouns/license.ts';
import {
  consume,
  exampleFeature,
  exampleLicense,
  exampleLimits,
  exampleSlot,
  from,
  NOW,
} from '../examples.ts';
import { answering, type Member, refused } from './example-pool.ts';

const ada = exampleSlot('ada');
const DISABLED = { enabled: false };

const limited = (max: number) => ({ consumption: exampleLimits({ max, allowNegative: true }) });
const counted = (id: number, max: number, total: number, more: Partial<Member> = {}): Member => ({
  id,
  facts: limited(max),
  meter: { total },
  ...more,
});

describe('consumption in a pool', () => {
  const cases: [string, LicenseCommand, readonly Member[], number][] = [
    ['is counted on the most recently added license', consume(3), [counted(2, 10, 0), counted(1, 10, 0)], 2],
    ['on the next if the whole count does not fit', consume(3), [counted(2, 10, 8), counted(1, 10, 0)], 1],
    ["on the license with the user's slot", consume(3, { user: 'ada' }), [counted(2, 10, 0), own(1, 0)], 1],
    ['unless it has no room', consume(3, { user: 'ada' }), [counted(2, 10, 0), own(1, 8)], 2],
    ['or cannot be used', consume(3, { user: 'ada' }), [own(2, 0, DISABLED), counted(1, 10, 0)], 1],
    ['never on one that does not count', consume(3), [other(2), counted(1, 10, 0)], 1],
    ['a count of 0 reads the first', consume(0), [counted(2, 10, 10), counted(1, 10, 0)], 2],
    ['and skips one that does not count', consume(0), [other(2), counted(1, 10, 10)], 1],
    [
      'is taken back from a license that has counted as much',
      consume(-3),
      [counted(2, 10, 2), counted(1, 10, 5)],
      1,
    ],
    [
      'of a feature on a license that has it',
      consume(3, { feature: 'export' }),
      [{ id: 2, facts: { features: [] } }, { id: 1 }],
      1,
    ],
    [
      'on the license that has answered, in any state',
      consume(3, withKey()),
      [counted(2, 10, 0), answered(1, 'first')],
      1,
    ],
  ];
  for (const [title, command, members, expected] of cases) {
    test(title, () => assert.equal(answering(command, members), expected));
  }

  test('a different request with an earlier key is refused, and counted nowhere', () => {
    const { on, outcome, changes } = refused(consume(3, withKey()), [
      counted(2, 10, 0),
      answered(1, 'other'),
    ]);
    assert.deepEqual([on, outcome.code, changes], [1, 'idempotency_key_reused', []]);
  });

  test('that fits nowhere is refused with the most that fits, recorded once', () => {
    const members = [counted(3, 10, 0, { facts: DISABLED }), counted(2, 10, 8), counted(1, 20, 15), other(0)];
    const { on, outcome, events } = refused(consume(6, from('10.0.0.1')), members);
    assert.deepEqual([on, outcome.code], [2, 'license_not_enough_consumptions']);
    assert.deepEqual(outcome.details, { left: 5, totalConsumptions: 23, maxConsumptions: 30, licenses: 2 });
    assert.match(outcome.message, /^6 cannot be added: no license of "cad" has that much left\..* is 5\.$/);
    const denied = { kind: 'consumption_denied', user: null, code: outcome.code, repeated: 0 };
    assert.deepEqual(events, [{ ...denied, ...from('10.0.0.1') }]);
  });

  test('more than any license can take back is refused without a record', () => {
    const strict = { id: 2, facts: { consumption: exampleLimits() }, meter: { total: 9 } };
    const { outcome, changes, events } = refused(consume(-7), [strict, counted(1, 10, 5), counted(0, 10, 6)]);
    assert.deepEqual([outcome.code, changes, events], ['validation_error', [], []]);
    assert.deepEqual(outcome.details, { field: 'consumptions', totalConsumptions: 6 });
  });

  test('of a feature that none has, or that has expired, gets the furthest refusal', () => {
    const without = { id: 2, facts: { features: [] } };
    const over = { id: 1, facts: { features: [exampleFeature('export', { expiresAt: NOW })] } };
    const command = consume(1, { feature: 'export' });
    assert.equal(refused(command, [without]).outcome.code, 'invalid_license_feature_code');
    const { on, outcome } = refused(command, [without, over]);
    assert.deepEqual([on, outcome.code], [2, 'license_feature_expired']);
  });
});

function own(id: number, total: number, facts: Partial<License> = {}): Member {
  return { ...counted(id, 10, total), slots: [ada], facts: { ...limited(10), ...facts } };
}

/** One that does not count consumption. */
function other(id: number): Member {
  return { id, facts: { type: 'perpetual' } };
}

function withKey() {
  return { idempotency: { key: 'k', bodyHash: 'first' } };
}

function answered(id: number, bodyHash: string): Member {
  const license = exampleLicense({ id: licenseId(id) });
  const answer = { operation: 'add_consumption', user: '', key: 'k', bodyHash, answeredAt: NOW };
  const outcome = {
    kind: 'measured',
    licenseId: license.id,
    feature: null,
    limits: exampleLimits(),
  } as const;
  const told = { ...outcome, total: 3, inUse: 0, slot: null, now: NOW };
  return { id, facts: DISABLED, hasAnswered: true, rememberedAnswer: { ...answer, outcome: told } };
}
