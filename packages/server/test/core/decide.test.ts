import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseRange } from '@berth/protocol/address-range';
import { ERROR_CODES, type ErrorCode } from '@berth/protocol/errors';
import type { LicenseCommand } from '../../src/core/command.ts';
import { decide, subjectOf } from '../../src/core/decide.ts';
import { DENIAL_WINDOW_MS, PLACE_WINDOW_MS } from '../../src/core/lending/deny.ts';
import { ANSWER_LIFETIME_MS } from '../../src/core/lending/repeat-answer.ts';
import { HOUR_MS, plus } from '../../src/core/nouns/instant.ts';
import type { License } from '../../src/core/nouns/license.ts';
import {
  borrow,
  exampleLicense,
  exampleSlot,
  exampleView,
  from,
  inForce,
  LICENSE_ID,
  limitingAddresses,
  NOW,
  readsOf,
  recall,
  register,
  release,
  unregister,
} from './examples.ts';

const FULL = [exampleSlot('bob'), exampleSlot('eve')];

/** Everything is wrong at once; each step puts right what the refusal before it named. */
const STEPS: [ErrorCode, Partial<License>][] = [
  ['license_not_enabled', { enabled: true }],
  ['license_not_active', { active: true }],
  ['license_start_date_error', { startsAt: null }],
  ['license_expired', { validUntil: null }],
];

const ALL_WRONG: Partial<License> = {
  enabled: false,
  active: false,
  startsAt: plus(NOW, 1),
  validUntil: plus(NOW, -1),
  canBorrow: false,
};

function refusals(command: LicenseCommand, steps: readonly [ErrorCode, Partial<License>][]) {
  let license = exampleLicense(ALL_WRONG);
  return steps.map(([, cure]) => {
    const { outcome } = decide(command, exampleView({ license, slots: FULL }, 'ada'), NOW);
    license = { ...license, ...cure };
    return outcome.kind === 'refused' ? outcome.code : outcome.kind;
  });
}

describe('when several refusals apply', () => {
  test('register answers the first of them', () => {
    const steps: [ErrorCode, Partial<License>][] = [...STEPS, ['floating_not_available', { slots: 3 }]];
    const codes = steps.map(([code]) => code);
    assert.deepEqual(refusals(register('ada'), steps), codes);
  });

  test('borrow answers the first of them', () => {
    const steps: [ErrorCode, Partial<License>][] = [
      ...STEPS,
      ['license_borrow_not_allowed', { canBorrow: true, maxBorrowHours: 1 }],
      ['borrow_until_not_valid', { maxBorrowHours: 24 }],
      ['floating_not_available', { slots: 3 }],
    ];
    const codes = steps.map(([code]) => code);
    assert.deepEqual(refusals(borrow('ada', plus(NOW, 2 * HOUR_MS)), steps), codes);
    const inRegistry = ERROR_CODES.filter((code) => codes.includes(code));
    assert.deepEqual(codes, inRegistry, 'the order is that of the table of errors');
  });

  test('a refusal by date names the date', () => {
    const startsAt = plus(NOW, HOUR_MS);
    const validUntil = plus(NOW, -HOUR_MS);
    for (const facts of [{ startsAt }, { validUntil }]) {
      const view = exampleView({ license: exampleLicense(facts) }, 'ada');
      const { outcome } = decide(register('ada'), view, NOW);
      assert.deepEqual(outcome.kind === 'refused' && outcome.details, facts);
    }
  });
});

describe('which license a command is about', () => {
  test('lending commands name it', () => {
    const aim = { product: 'cad', licenseId: LICENSE_ID };
    for (const command of [register, unregister, release, recall].map((make) => make('ada', aim))) {
      const { product, licenseId, user } = subjectOf(command);
      assert.deepEqual({ product, licenseId, user }, { ...aim, user: 'ada' });
    }
  });

  test('the others have one license, and no user', () => {
    const target = { product: null, licenseId: LICENSE_ID, user: null };
    const subject = { ...target, holder: null, users: [], answer: null };
    assert.deepEqual(subjectOf({ kind: 'collect', licenseId: LICENSE_ID }), subject);
    assert.deepEqual(subjectOf({ kind: 'release_all', licenseId: LICENSE_ID, by: 'admin' }), subject);
    const license = exampleLicense();
    assert.deepEqual(subjectOf({ kind: 'install_license', license, by: 'admin' }), subject);
  });
});

describe('a decision reads no more than it needs', () => {
  const free = exampleView({}, 'ada');
  const full = exampleView({ slots: FULL }, 'ada');
  const held = exampleView({ slots: [exampleSlot('ada'), exampleSlot('eve')] }, 'ada');
  const closed = exampleView({ license: exampleLicense({ enabled: false }) }, 'ada');
  const HERE = from('192.0.2.7');
  const rules = inForce(limitingAddresses(1, 1));
  const heldHere = exampleView(
    { slots: [exampleSlot('ada', { origin: '192.0.2.7' }), exampleSlot('eve')] },
    'ada',
  );
  const denied = { listDenials: ['ada'] };
  const noSlot = { ...denied, findNextEnd: [], countBorrowed: [] };
  const late = plus(NOW, 25 * HOUR_MS);
  const borrows = { countPoolBorrows: [parseRange('192.0.2.7')] };
  const own = { listFeatureSlots: [] };

  const cases: [string, LicenseCommand, typeof free, object][] = [
    ['register on a free license', register('ada'), free, {}],
    ['register on a full license', register('ada'), full, noSlot],
    ['register on a closed license', register('ada'), closed, denied],
    [
      'a heartbeat with limits for addresses on a full license',
      register('ada', HERE),
      { ...heldHere, rules },
      {},
    ],
    ['borrow on a free license', borrow('ada', 'longest'), free, {}],
    ['borrow by a holder', borrow('ada', 'longest'), held, own],
    ['borrow until a date that is refused', borrow('ada', late), free, denied],
    ['borrow on a full license', borrow('ada', 'longest'), full, noSlot],
    [
      'register from somewhere on a full license',
      register('ada', HERE),
      full,
      { ...noSlot, listPlaceDenials: ['192.0.2.7'] },
    ],
    [
      'register with a limit for the address',
      register('ada', HERE),
      { ...free, rules },
      { readHoldings: [null] },
    ],
    [
      'borrow with limits for the address',
      borrow('ada', 'longest', HERE),
      { ...free, rules },
      { readHoldings: [null], ...borrows },
    ],
    ['unregister', unregister('ada', HERE), held, own],
    ['release', release('ada'), held, own],
    ['unregister without a slot', unregister('ada', HERE), full, { findEndedBorrow: [] }],
    ['recall without a slot', recall('ada'), full, { findEndedBorrow: [] }],
    [
      'collect',
      { kind: 'collect', licenseId: LICENSE_ID },
      full,
      {
        listStaleDenials: [plus(NOW, -DENIAL_WINDOW_MS)],
        listStalePlaceDenials: [plus(NOW, -PLACE_WINDOW_MS)],
        countStaleAnswers: [plus(NOW, -ANSWER_LIFETIME_MS)],
      },
    ],
    ['release all', { kind: 'release_all', licenseId: LICENSE_ID, by: 'admin' }, full, { listAll: [] }],
    ['install', { kind: 'install_license', license: exampleLicense(), by: 'admin' }, full, {}],
  ];
  for (const [title, command, view, reads] of cases) {
    test(title, () => assert.deepEqual(readsOf(command, view), reads));
  }

  test('the registration of its user, if it is about one', () => {
    assert.equal(subjectOf(register('ada')).holder, 'ada');
    assert.equal(subjectOf({ kind: 'release_all', licenseId: LICENSE_ID, by: 'admin' }).holder, null);
  });

  test('ended slots do not make a license full', () => {
    const view = exampleView({ slots: [exampleSlot('bob', { endsAt: NOW }), exampleSlot('eve')] }, 'ada');
    assert.deepEqual(readsOf(register('ada'), view), {});
  });
});
