import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseRange } from '@berth/protocol/address-range';
import { ERROR_CODES, type ErrorCode } from '@berth/protocol/errors';
import type { LicenseCommand } from './command.ts';
import { decide, moduleOf, targetOf } from './decide.ts';
import {
  borrow,
  exampleLicense,
  exampleSlot,
  exampleView,
  from,
  LICENSE_ID,
  NOW,
  recall,
  register,
  release,
  unregister,
} from './examples.ts';
import { DENIAL_WINDOW_MS, PLACE_WINDOW_MS } from './lending/deny.ts';
import { ANSWER_LIFETIME_MS } from './lending/repeat-answer.ts';
import { HOUR_MS, plus } from './nouns/instant.ts';
import type { License } from './nouns/license.ts';
import type { Registration } from './nouns/registration.ts';
import type { LicenseHead, ViewNeeds } from './view.ts';

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
      const { product, licenseId, user } = targetOf(command);
      assert.deepEqual({ product, licenseId, user }, { ...aim, user: 'ada' });
    }
  });

  test('the others have one license, and no user', () => {
    const target = { product: null, licenseId: LICENSE_ID, user: null };
    assert.deepEqual(targetOf({ kind: 'collect', licenseId: LICENSE_ID }), target);
    assert.deepEqual(targetOf({ kind: 'release_all', licenseId: LICENSE_ID, by: 'admin' }), target);
    const license = exampleLicense();
    assert.deepEqual(targetOf({ kind: 'install_license', license, by: 'admin' }), target);
  });
});

/** What the command asks for. */
function needsOf(command: LicenseCommand, head: LicenseHead, held: Registration | null = null): ViewNeeds {
  const needs = moduleOf(command).needs(command, head, held, NOW);
  return Object.fromEntries(Object.entries(needs).filter(([, need]) => need));
}

describe('a view is no wider than the decision needs', () => {
  const free = exampleView({}, null);
  const full = exampleView({ slots: FULL }, null);
  const closed = exampleView({ license: exampleLicense({ enabled: false }) }, null);
  const HERE = from('192.0.2.7');
  const denials = { user: 'ada', place: null };
  const noSlot = { denials, nextEnd: true, borrowed: true };
  const own = { endedBorrow: true, featureSlots: true };
  const late = plus(NOW, 25 * HOUR_MS);

  const cases: [string, LicenseCommand, typeof free, ViewNeeds][] = [
    ['register on a free license', register('ada'), free, {}],
    ['register on a full license', register('ada'), full, noSlot],
    ['register on a closed license', register('ada'), closed, { denials }],
    ['borrow on a free license', borrow('ada', 'longest'), free, { featureSlots: true }],
    ['borrow until a date that is refused', borrow('ada', late), free, { denials, featureSlots: true }],
    ['borrow on a full license', borrow('ada', 'longest'), full, { ...noSlot, featureSlots: true }],
    [
      'register from somewhere on a full license',
      register('ada', HERE),
      full,
      { ...noSlot, denials: { user: 'ada', place: '192.0.2.7' } },
    ],
    [
      'register with a limit for the address',
      register('ada', { ...HERE, perAddress: { slots: 1, borrows: 0 } }),
      free,
      { crowd: parseRange('192.0.2.7'), denials: { user: 'ada', place: '192.0.2.7' } },
    ],
    ['unregister', unregister('ada', HERE), full, own],
    ['release', release('ada'), full, own],
    ['recall', recall('ada'), full, own],
    [
      'collect',
      { kind: 'collect', licenseId: LICENSE_ID },
      full,
      {
        stale: {
          denialsBy: plus(NOW, -DENIAL_WINDOW_MS),
          placesBy: plus(NOW, -PLACE_WINDOW_MS),
          answersBy: plus(NOW, -ANSWER_LIFETIME_MS),
        },
      },
    ],
    ['release all', { kind: 'release_all', licenseId: LICENSE_ID, by: 'admin' }, full, { all: true }],
    ['install', { kind: 'install_license', license: exampleLicense(), by: 'admin' }, full, {}],
  ];
  for (const [title, command, head, needs] of cases) {
    test(title, () => assert.deepEqual(needsOf(command, head), needs));
  }

  test('a heartbeat needs one registration, even on a full license and with limits for addresses', () => {
    const heartbeat = register('ada', { ...HERE, perAddress: { slots: 1, borrows: 1 } });
    assert.equal(moduleOf(heartbeat).holder(heartbeat), 'ada');
    assert.deepEqual(needsOf(heartbeat, full, exampleSlot('ada')), {});
    const ended = exampleSlot('ada', { endsAt: NOW });
    assert.deepEqual(needsOf(heartbeat, full, ended).crowd, parseRange('192.0.2.7'));
  });

  test('commands about a whole license look at no particular user', () => {
    const command = { kind: 'release_all', licenseId: LICENSE_ID, by: 'admin' } as const;
    assert.equal(moduleOf(command).holder(command), null);
  });

  test('ended slots do not make a license full', () => {
    const head = exampleView({ slots: [exampleSlot('bob', { endsAt: NOW }), exampleSlot('eve')] }, null);
    assert.equal(needsOf(register('ada'), head).nextEnd, undefined);
  });
});
