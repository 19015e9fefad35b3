import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ERROR_CODES, type ErrorCode } from '@berth/protocol/errors';
import type { AddConsumption } from '../../../src/core/command.ts';
import { decide, subjectOf } from '../../../src/core/decide.ts';
import { addConsumption } from '../../../src/core/decisions/add-consumption.ts';
import { DENIAL_WINDOW_MS } from '../../../src/core/lending/deny.ts';
import { ANSWER_LIFETIME_MS } from '../../../src/core/lending/repeat-answer.ts';
import type { Meter } from '../../../src/core/nouns/consumption.ts';
import { instant, plus } from '../../../src/core/nouns/instant.ts';
import type { License } from '../../../src/core/nouns/license.ts';
import type { Measured, Refused } from '../../../src/core/outcome.ts';
import type { Denial, RememberedAnswer } from '../../../src/core/view.ts';
import {
  consume,
  exampleFeature,
  exampleLicense,
  exampleLimits,
  exampleSlot,
  exampleView,
  expectRefused,
  NOW,
  readsOf,
  type ViewFacts,
} from '../examples.ts';

const LICENSE = exampleLicense({ consumption: exampleLimits() });

function decideOn(command: AddConsumption, facts: ViewFacts = {}) {
  const view = exampleView({ license: LICENSE, ...facts }, command.user);
  return decide(command, view, NOW);
}

function refusedOf(command: AddConsumption, facts: ViewFacts = {}): Refused {
  const { outcome } = decideOn(command, facts);
  return expectRefused(outcome);
}

function totalOf(command: AddConsumption, facts: ViewFacts = {}): number {
  const { outcome } = decideOn(command, facts);
  assert.equal(outcome.kind, 'measured', JSON.stringify(outcome));
  return (outcome as Measured).total;
}

const used = (total: number, more: Partial<Meter> = {}) => ({ meter: { total, pending: total, ...more } });
const limited = (facts: Partial<License['consumption']>) => ({
  license: exampleLicense({ consumption: exampleLimits(facts) }),
});

describe('a count that fits', () => {
  test('is added to the total and to what is pending, in one change', () => {
    const { outcome, changes, events } = decideOn(consume(3, { user: 'ada' }), {
      meter: { total: 4, pending: 2, reported: 9 },
    });
    assert.deepEqual(outcome, {
      kind: 'measured',
      licenseId: LICENSE.id,
      feature: null,
      limits: LICENSE.consumption,
      total: 7,
      inUse: 0,
      slot: null,
      now: NOW,
    });
    const meter = {
      feature: '',
      windowStart: instant(0),
      total: 7,
      pending: 5,
      reported: 9,
      cloudTotal: null,
      cloudAt: null,
    };
    assert.deepEqual(changes, [{ kind: 'put_meter', meter }]);
    assert.deepEqual(events, [{ kind: 'consumption_added', feature: null, user: 'ada', count: 3, total: 7 }]);
  });

  test('fits up to the limit, to the last one', () => {
    assert.equal(totalOf(consume(10)), 10);
    assert.equal(totalOf(consume(1), used(9)), 10);
    assert.equal(refusedOf(consume(1), used(10)).code, 'license_not_enough_consumptions');
    assert.equal(refusedOf(consume(11)).code, 'license_not_enough_consumptions');
  });

  test('may use the overage, unless the request limits it', () => {
    const facts = { ...limited({ allowOverages: true, maxOverages: 2 }), ...used(10) };
    const narrow = (maxOverages: number | null, allowOverages: boolean | null = null) =>
      consume(2, { narrowing: { allowOverages, maxOverages } });
    assert.equal(totalOf(narrow(null), facts), 12);
    assert.equal(totalOf(narrow(99), facts), 12);
    assert.equal(refusedOf(narrow(1), facts).details.left, 1);
    assert.equal(refusedOf(narrow(null, false), facts).details.left, 0);
    const strict = { ...limited({ maxOverages: 2 }), ...used(10) };
    assert.equal(refusedOf(narrow(99, true), strict).details.left, 0, 'nothing widens it');
  });

  test('has no limit if the license has none, except the largest number', () => {
    const facts = limited({ unlimited: true, max: 0 });
    assert.equal(totalOf(consume(1_000_000), { ...facts, ...used(5) }), 1_000_005);
    const most = Number.MAX_SAFE_INTEGER;
    assert.equal(totalOf(consume(most), facts), most);
    assert.equal(refusedOf(consume(1), { ...facts, ...used(most) }).details.left, 0);
    assert.equal(refusedOf(consume(most), { ...facts, ...used(1) }).details.left, most - 1);
  });

  test('keeps the sum of all counts a valid number', () => {
    const facts = limited({ unlimited: true, period: 'daily' });
    const most = Number.MAX_SAFE_INTEGER;
    const meter = { total: 0, pending: 1, reported: most - 3 };
    assert.equal(totalOf(consume(2), { ...facts, meter }), 2);
    assert.equal(refusedOf(consume(3), { ...facts, meter }).details.left, 2);
    const huge = limited({ max: most, allowOverages: true, maxOverages: most });
    assert.equal(refusedOf(consume(1), { ...huge, ...used(most) }).details.left, 0);
  });

  test('is refused until a restored license was checked', () => {
    const license = { ...LICENSE, tie: { ...LICENSE.tie, restoredAt: plus(NOW, -5) } };
    const { code, details, message } = refusedOf(consume(1), { license });
    assert.deepEqual([code, details.restoredAt], ['license_check_overdue', plus(NOW, -5)]);
    assert.match(message, /^The data of the server was restored .* run "berth license sync"\.$/);
  });

  test('of 0 only reads, even above the limit, and changes nothing', () => {
    for (const total of [0, 10, 99]) {
      const decision = decideOn(consume(0), used(total));
      assert.equal((decision.outcome as Measured).total, total);
      assert.deepEqual([decision.changes, decision.events], [[], []]);
    }
  });
});

describe('a negative count', () => {
  test('takes back if the license allows it, down to 0', () => {
    const facts = { ...limited({ allowNegative: true }), ...used(5) };
    const { outcome, changes, events } = decideOn(consume(-5), facts);
    assert.equal((outcome as Measured).total, 0);
    assert.deepEqual(changes[0]?.kind === 'put_meter' && changes[0].meter.pending, 0);
    assert.equal(events[0]?.kind === 'consumption_added' && events[0].count, -5);
    const refused = refusedOf(consume(-6), facts);
    assert.equal(refused.code, 'validation_error');
    assert.deepEqual(refused.details, { field: 'consumptions', totalConsumptions: 5 });
  });

  test('makes the pending amount negative when it was already reported', () => {
    const facts = { ...limited({ allowNegative: true }), ...used(5, { pending: 1, reported: 4 }) };
    const { changes } = decideOn(consume(-3), facts);
    assert.equal(changes[0]?.kind === 'put_meter' && changes[0].meter.pending, -2);
  });

  test('reduces a total that is above a lowered limit', () => {
    assert.equal(totalOf(consume(-1), { ...limited({ allowNegative: true, max: 3 }), ...used(9) }), 8);
  });

  test('is refused without a trace if the license does not allow it', () => {
    const decision = decideOn(consume(-1), used(5));
    assert.equal(expectRefused(decision.outcome).code, 'validation_error');
    assert.deepEqual([decision.changes, decision.events], [[], []]);
  });
});

describe('a count that is refused', () => {
  const EXPORT = exampleFeature('export', { consumption: exampleLimits({ max: 3 }) });
  const featured = (facts = {}, license: Partial<License> = {}) => ({
    license: exampleLicense({ features: [{ ...EXPORT, ...facts }], ...license }),
    meter: { feature: 'export' },
  });

  const cases: [string, AddConsumption, ViewFacts, ErrorCode][] = [
    [
      'a license of another type',
      consume(1),
      { license: exampleLicense({ type: 'perpetual' }) },
      'license_not_consumption',
    ],
    ['a license that is full', consume(11), {}, 'license_not_enough_consumptions'],
    [
      'a feature that the license does not have',
      consume(1, { feature: 'nothing' }),
      featured(),
      'invalid_license_feature_code',
    ],
    [
      'an expired feature',
      consume(1, { feature: 'export' }),
      featured({ expiresAt: NOW }),
      'license_feature_expired',
    ],
    [
      'a feature of another type',
      consume(1, { feature: 'export' }),
      featured({ type: 'activation' }),
      'feature_not_consumption',
    ],
    [
      'a feature that is full',
      consume(4, { feature: 'export' }),
      featured(),
      'feature_not_enough_consumptions',
    ],
    [
      'a disabled license',
      consume(1),
      { license: exampleLicense({ enabled: false }) },
      'license_not_enabled',
    ],
  ];
  for (const [title, command, facts, code] of cases) {
    test(`${title}: nothing is counted, and the denial is recorded`, () => {
      const { outcome, changes, events } = decideOn(command, facts);
      assert.equal(expectRefused(outcome).code, code);
      assert.deepEqual(
        changes.map(({ kind }) => kind),
        ['put_denial'],
      );
      const subject = command.feature === null ? {} : { feature: command.feature };
      assert.deepEqual(events, [{ kind: 'consumption_denied', ...subject, user: null, code, repeated: 0 }]);
    });
  }

  test('includes what is left', () => {
    assert.deepEqual(refusedOf(consume(5), used(7)).details, {
      left: 3,
      totalConsumptions: 7,
      maxConsumptions: 10,
    });
  });

  test('a feature counts even if the license does not, until the feature expires', () => {
    const facts = featured({ expiresAt: plus(NOW, 1) }, { type: 'perpetual' });
    assert.equal(totalOf(consume(3, { feature: 'export' }), facts), 3);
  });

  test('is refused for the first reason, in the order of the table of errors', () => {
    const wrong = { expiresAt: NOW, type: 'activation' } as const;
    const steps: [ErrorCode, Partial<License>][] = [
      ['license_not_enabled', { enabled: true }],
      ['license_not_active', { active: true }],
      ['license_start_date_error', { startsAt: null }],
      ['license_expired', { validUntil: null }],
      ['invalid_license_feature_code', { features: [{ ...EXPORT, ...wrong }] }],
      ['license_feature_expired', { features: [{ ...EXPORT, type: 'activation' }] }],
      ['feature_not_consumption', { features: [EXPORT] }],
      ['feature_not_enough_consumptions', {}],
    ];
    const dates = { startsAt: plus(NOW, 1), validUntil: plus(NOW, -1) };
    let license = exampleLicense({ enabled: false, active: false, ...dates, features: [] });
    for (const [code, cure] of steps) {
      const command = consume(4, { feature: 'export' });
      assert.equal(refusedOf(command, { license, meter: { feature: 'export' } }).code, code);
      license = { ...license, ...cure };
    }
    for (const [code] of steps) assert.ok(ERROR_CODES.includes(code));
  });

  test('repeated within a minute raises a counter, per user and feature', () => {
    const code = 'license_not_enough_consumptions';
    const denial: Denial = { user: 'ada', feature: '', code, deniedAt: plus(NOW, -1), repeated: 2 };
    const again = decideOn(consume(11, { user: 'ada' }), { denials: [denial] });
    assert.deepEqual(again.changes, [{ kind: 'put_denial', denial: { ...denial, repeated: 3 } }]);
    assert.deepEqual(again.events, []);
    const other = decideOn(consume(11, { user: 'bob' }), { denials: [denial] });
    assert.equal(other.events.length, 1);
    const late = { ...denial, deniedAt: plus(NOW, -DENIAL_WINDOW_MS) };
    const [event] = decideOn(consume(11, { user: 'ada' }), { denials: [late] }).events;
    assert.equal(event?.kind === 'consumption_denied' && event.repeated, 2);
    const elsewhere = { ...denial, feature: 'export' };
    assert.equal(decideOn(consume(11, { user: 'ada' }), { denials: [elsewhere] }).events.length, 1);
  });

  test('still collects what has ended', () => {
    const ended = exampleSlot('bob', { endsAt: NOW });
    const { changes, events } = decideOn(consume(11), { slots: [ended] });
    assert.deepEqual(changes.slice(0, 2), [
      { kind: 'remove_registration', registration: ended },
      { kind: 'set_in_use', inUse: 0 },
    ]);
    assert.equal(events[0]?.kind, 'slot_expired');
  });
});

describe('a request with a key', () => {
  const idempotency = { key: 'k', bodyHash: '1:body' };
  const command = consume(3, { idempotency });
  const first = decideOn(command);

  function remembered(facts: Partial<RememberedAnswer> = {}): RememberedAnswer {
    const [answer] = first.changes.flatMap((change) =>
      change.kind === 'remember_answer' ? [change.answer] : [],
    );
    return { ...(answer as RememberedAnswer), ...facts };
  }

  test('is remembered with its effect', () => {
    assert.deepEqual(first.changes[1], {
      kind: 'remember_answer',
      answer: {
        operation: 'add_consumption',
        user: '',
        key: 'k',
        bodyHash: '1:body',
        answeredAt: NOW,
        outcome: first.outcome,
      },
      isNew: true,
    });
  });

  test('is remembered although it only reads', () => {
    const decision = decideOn(consume(0, { idempotency }), used(99));
    const [{ outcome }, ...more] = decision.changes.flatMap((change) =>
      change.kind === 'remember_answer' ? [change.answer] : [],
    ) as [RememberedAnswer];
    assert.deepEqual([outcome, more, decision.events], [decision.outcome, [], []]);
    assert.equal(decision.changes.length, 1);
  });

  test('gets its first answer again, whatever the license says now', () => {
    const states = [{}, { enabled: false }, { consumption: exampleLimits({ max: 0 }) }];
    for (const state of states) {
      const license = exampleLicense(state);
      const again = decideOn(command, { ...used(9), license, rememberedAnswer: remembered() });
      assert.deepEqual(again, { outcome: first.outcome, changes: [], events: [] });
    }
  });

  test('is refused if the request differs', () => {
    const rememberedAnswer = remembered({ bodyHash: '1:other' });
    const decision = decideOn(command, { rememberedAnswer });
    assert.equal(expectRefused(decision.outcome).code, 'idempotency_key_reused');
    assert.deepEqual([decision.changes, decision.events], [[], []]);
  });

  test('gets its first answer again from a server of another version', () => {
    for (const bodyHash of ['2:other', '10:other']) {
      const decision = decideOn(command, { rememberedAnswer: remembered({ bodyHash }) });
      assert.deepEqual(decision, { outcome: first.outcome, changes: [], events: [] }, bodyHash);
    }
  });

  test('counts again after a day, and replaces the old answer', () => {
    const almost = remembered({ answeredAt: plus(NOW, 1 - ANSWER_LIFETIME_MS) });
    assert.deepEqual(decideOn(command, { rememberedAnswer: almost }).changes, []);
    const old = remembered({ answeredAt: plus(NOW, -ANSWER_LIFETIME_MS), bodyHash: '1:other' });
    const { changes } = decideOn(command, { ...used(3), rememberedAnswer: old });
    assert.deepEqual(
      changes.map(({ kind }) => kind),
      ['put_meter', 'remember_answer'],
    );
    assert.equal(changes[1]?.kind === 'remember_answer' && changes[1].isNew, false);
  });

  test('is not remembered when it is refused', () => {
    const { changes } = decideOn(consume(11, { idempotency }));
    assert.deepEqual(
      changes.map(({ kind }) => kind),
      ['put_denial'],
    );
  });
});

describe('a view for a count', () => {
  test('asks for denials only if one follows, and for an answer only with a key', () => {
    const view = exampleView({ license: LICENSE }, null);
    const answer = { findAnswer: [] };
    assert.deepEqual(readsOf(consume(1, { user: 'ada' }), view), answer);
    assert.deepEqual(readsOf(consume(11, { user: 'ada' }), view), { ...answer, listDenials: ['ada'] });
    assert.deepEqual(readsOf(consume(11), view), { ...answer, listDenials: [''] });
    assert.equal(subjectOf(consume(1, { user: 'ada' })).answer, null);
    const scope = { operation: 'add_consumption', user: 'ada', key: 'k' };
    const command = consume(1, { user: 'ada', idempotency: { key: 'k', bodyHash: 'b' } });
    assert.deepEqual(subjectOf(command).answer, scope);
  });

  test('asks for the meter and window of what is counted', () => {
    const license = exampleLicense();
    const month = instant(Date.UTC(2030, 0, 1));
    assert.deepEqual(addConsumption.meter(consume(1), license, NOW), { feature: '', windowStart: month });
    const need = { feature: 'export', windowStart: instant(0) };
    assert.deepEqual(addConsumption.meter(consume(1, { feature: 'export' }), license, NOW), need);
    assert.equal(addConsumption.meter(consume(1, { feature: 'nothing' }), license, NOW), null);
  });
});
