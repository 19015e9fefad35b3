import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { LicenseCommand } from '../../../src/core/command.ts';
import type { Decision } from '../../../src/core/decision.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, plus } from '../../../src/core/nouns/instant.ts';
import {
  borrow,
  denying,
  exampleFeatureSlot,
  exampleLicense,
  exampleSlot,
  expectRefused,
  from,
  inForce,
  limitingAddresses,
  NOW,
  recall,
  register,
  registerFeature,
  release,
  releaseFeature,
  unregister,
} from '../examples.ts';
import { answering, decideOn, type Member, refused } from './example-pool.ts';

const FULL = [exampleSlot('x'), exampleSlot('y', { endsAt: plus(NOW, 5 * MINUTE_MS) })];
const ada = exampleSlot('ada');
const DISABLED = { enabled: false };
const NO_BORROWING = { canBorrow: false };

const kindsOf = ({ events }: Pick<Decision, 'events'>) => events.map(({ kind }) => kind);

describe('register in a pool', () => {
  const cases: [string, readonly Member[], number][] = [
    ['takes a slot of the most recently added license', [{ id: 2 }, { id: 1 }], 2],
    ['takes one of the next when that is full', [{ id: 2, slots: FULL }, { id: 1 }], 1],
    ['and of the one after it', [{ id: 3, slots: FULL }, { id: 2, slots: FULL }, { id: 1 }], 1],
    ['skips one that cannot be used', [{ id: 2, facts: DISABLED }, { id: 1 }], 1],
    ["stays on the license with the user's slot", [{ id: 2 }, { id: 1, slots: [ada] }], 1],
    ['even if that is full', [{ id: 2 }, { id: 1, slots: [ada, ...FULL] }], 1],
    [
      'uses the newest of several that they hold',
      [
        { id: 2, slots: [ada] },
        { id: 1, slots: [ada] },
      ],
      2,
    ],
    ['continues if theirs cannot be renewed', [{ id: 2, facts: DISABLED, slots: [ada] }, { id: 1 }], 1],
    [
      'but first to another one of theirs',
      [{ id: 3, facts: DISABLED, slots: [ada] }, { id: 2 }, { id: 1, slots: [ada] }],
      1,
    ],
    [
      'stays if the license is only out of reach',
      [{ id: 2 }, { id: 1, slots: [ada], facts: { source: 'offline', tie: moved() } }],
      1,
    ],
    ['does not stay if the slot has ended', [{ id: 2 }, { id: 1, slots: [{ ...ada, endsAt: NOW }] }], 2],
  ];
  for (const [title, members, expected] of cases) {
    test(title, () => assert.equal(answering(register('ada', from('10.0.0.1')), members), expected));
  }

  test('looks at no license after the one that answers', () => {
    assert.deepEqual(decideOn(register('ada'), [{ id: 3 }, { id: 2 }, { id: 1, slots: [ada] }]).asked, [1]);
    assert.deepEqual(decideOn(register('bob'), [{ id: 3, slots: FULL }, { id: 2 }, { id: 1 }]).asked, [3, 2]);
  });

  test('leaves slots of an unusable license alone', () => {
    const held = { ...ada, borrowedUntil: ada.endsAt };
    const { on, others } = decideOn(register('ada'), [{ id: 2, facts: DISABLED, slots: [held] }, { id: 1 }]);
    assert.deepEqual([on, others], [1, []]);
  });
});

function moved() {
  return { ...exampleLicense().tie, hardwareId: 'home', movedAt: NOW };
}

describe('a pool in which all slots are in use', () => {
  const members = [
    { id: 3, facts: DISABLED },
    { id: 2, slots: FULL },
    { id: 1, facts: { slots: 1 }, slots: [exampleSlot('z', { endsAt: plus(NOW, MINUTE_MS) })] },
  ];

  test('adds up the usable licenses, and is recorded once, on the newest of them', () => {
    const { on, outcome, events, changes, others } = refused(register('ada', from('10.0.0.1')), members);
    assert.deepEqual(outcome.details, { slots: 3, inUse: 3, nextFreeAt: plus(NOW, MINUTE_MS), licenses: 2 });
    assert.match(outcome.message, /^All 3 slots of "cad" are in use \(3 on 2 licenses\)\./);
    assert.deepEqual([on, others], [2, []]);
    const code = 'floating_not_available';
    const denied = {
      kind: 'slot_denied',
      user: 'ada',
      hostname: 'host-1',
      code,
      repeated: 0,
      ...from('10.0.0.1'),
    };
    assert.deepEqual(events, [denied]);
    assert.deepEqual(
      changes.map(({ kind }) => kind),
      ['put_denial', 'put_place_denial'],
    );
  });

  test('counts repeats there', () => {
    const denial = {
      user: 'ada',
      feature: '',
      code: 'floating_not_available',
      deniedAt: NOW,
      repeated: 4,
    } as const;
    const again = [
      { id: 2, slots: FULL, denials: [denial] },
      { id: 1, slots: FULL },
    ];
    const { changes, events } = refused(register('ada'), again);
    assert.deepEqual(changes, [{ kind: 'put_denial', denial: { ...denial, repeated: 5 } }]);
    assert.deepEqual(events, []);
  });

  test('collects what has ended on the license where it is recorded', () => {
    const ended = exampleSlot('gone', { endsAt: NOW });
    const { events } = refused(register('ada'), [
      { id: 2, slots: [ended, ...FULL] },
      { id: 1, slots: FULL },
    ]);
    assert.deepEqual(kindsOf({ events }), ['slot_expired', 'slot_denied']);
  });

  test('names the limit of the address if only that is in the way', () => {
    const spent = { ...from('10.0.0.1'), spent: { limit: 9, retryAfterSeconds: 60 } };
    const { on, outcome } = refused(register('ada', spent), [{ id: 2, slots: FULL }, { id: 1 }]);
    assert.deepEqual([on, outcome.code], [2, 'address_limit_reached']);
  });

  test('names a limit of the rules, which more slots would not change', () => {
    const here = exampleSlot('x', { origin: '10.0.0.1' });
    const { on, outcome } = refused(
      register('ada', from('10.0.0.1')),
      [
        { id: 2, slots: FULL },
        { id: 1, slots: [here] },
      ],
      inForce(limitingAddresses(1)),
    );
    assert.deepEqual([on, outcome.code], [2, 'floating_not_available']);
    assert.deepEqual(outcome.details, { rule: 'limit 1 for each address', limit: 1, inUse: 1 });
  });

  test('if none can be used, the most recently added one says why', () => {
    const { on, outcome, events } = refused(register('ada'), [
      { id: 2, facts: { validUntil: NOW } },
      { id: 1, facts: DISABLED, slots: [ada] },
    ]);
    assert.deepEqual([on, outcome.code, events.length], [2, 'license_expired', 1]);
  });

  test('a barred user is refused once, whatever they hold', () => {
    const rules = inForce(denying({ users: ['ada'] }));
    const { on, outcome, events, asked } = refused(
      register('ada'),
      [...members, { id: 0, slots: [ada] }],
      rules,
    );
    assert.deepEqual([on, outcome.code, events.length, asked], [2, 'blacklisted', 1, [0, 2]]);
  });
});

describe('borrow in a pool', () => {
  test('uses a license that allows it, and returns the slot held before', () => {
    const { on, outcome, events, others } = decideOn(borrow('ada', 'longest', from('10.0.0.1')), [
      { id: 2, facts: NO_BORROWING, slots: [ada], featureSlots: [exampleFeatureSlot('ada')] },
      { id: 1 },
    ]);
    assert.deepEqual([on, outcome.kind, kindsOf({ events })], [1, 'granted', ['slot_lent', 'slot_borrowed']]);
    const [{ licenseId: left, decision }] = others as [(typeof others)[0]];
    assert.equal(left, 2);
    assert.deepEqual(decision.changes, [
      { kind: 'remove_feature_slot', feature: 'render', user: 'ada' },
      { kind: 'remove_registration', registration: ada },
      { kind: 'set_in_use', inUse: 0 },
      { kind: 'forget_borrow', user: 'ada', feature: null },
    ]);
    assert.deepEqual(decision.events[1], { kind: 'slot_returned', user: 'ada', ...from('10.0.0.1') });
  });

  test("uses another one if the user's does not allow the date, or has too few slots", () => {
    const until = plus(NOW, 2 * DAY_MS);
    const long = { id: 1, facts: { maxBorrowHours: 72 } };
    const tooLate = decideOn(borrow('ada', until), [{ id: 2, slots: [ada] }, long]);
    assert.deepEqual([tooLate.on, tooLate.others.length], [1, 1]);
    const shrunk = decideOn(borrow('ada', 'longest'), [{ id: 2, slots: [ada, ...FULL] }, { id: 1 }]);
    assert.deepEqual([shrunk.on, shrunk.others.length], [1, 1]);
  });

  test("stays on the user's license if it can", () => {
    const { on, others } = decideOn(borrow('ada', 'longest'), [
      { id: 2 },
      { id: 1, slots: [ada, exampleSlot('x')] },
    ]);
    assert.deepEqual([on, others], [1, []]);
  });

  test('changes nothing when all refuse', () => {
    const { outcome, changes, others } = refused(borrow('ada', 'longest'), [
      { id: 2, facts: NO_BORROWING, slots: [ada] },
      { id: 1, slots: FULL },
    ]);
    assert.deepEqual(outcome.details, {
      slots: 2,
      inUse: 2,
      nextFreeAt: plus(NOW, 5 * MINUTE_MS),
      licenses: 1,
    });
    assert.deepEqual([changes.map(({ kind }) => kind), others], [['put_denial'], []]);
  });

  test('is refused by the license on which it got furthest', () => {
    const full = { id: 1, slots: FULL };
    const none = { id: 2, facts: NO_BORROWING };
    const short = { id: 3, facts: { maxBorrowHours: 1 } };
    const day = { id: 4, facts: { maxBorrowHours: 24 } };
    const late = borrow('ada', plus(NOW, 2 * DAY_MS));
    assert.equal(refused(borrow('ada', 'longest'), [full, none]).outcome.code, 'floating_not_available');
    assert.equal(refused(late, [none]).outcome.code, 'license_borrow_not_allowed');
    const { outcome, on } = refused(late, [none, short, day]);
    assert.deepEqual([outcome.code, on], ['borrow_until_not_valid', 2], 'recorded on the newest');
    assert.deepEqual(outcome.details, { latestUntil: plus(NOW, DAY_MS) }, 'the latest that any allows');
    const unreadable = refused(borrow('ada', 'unreadable'), [short, day]).outcome;
    assert.deepEqual(unreadable.details, { latestUntil: plus(NOW, DAY_MS) });
    const ended = {
      id: 5,
      facts: { validUntil: plus(NOW, -HOUR_MS), allowGracePeriod: true, graceHours: 9 },
    };
    assert.equal(answering(borrow('ada', plus(NOW, HOUR_MS)), [ended, short]), 3, 'grace lends no borrow');
  });
});

describe('commands about a held slot', () => {
  const borrowed = { ...ada, borrowedUntil: ada.endsAt };
  const cases: [string, LicenseCommand, readonly Member[], number][] = [
    ['unregister returns the one', unregister('ada'), [{ id: 2 }, { id: 1, slots: [ada] }], 1],
    [
      'of two the newer',
      unregister('ada'),
      [
        { id: 2, slots: [ada] },
        { id: 1, slots: [ada] },
      ],
      2,
    ],
    [
      'but first the one that a heartbeat would renew',
      unregister('ada'),
      [
        { id: 2, slots: [ada], facts: DISABLED },
        { id: 1, slots: [ada] },
      ],
      1,
    ],
    [
      'even if it cannot be renewed',
      unregister('ada'),
      [{ id: 2 }, { id: 1, slots: [ada], facts: DISABLED }],
      1,
    ],
    [
      'and none of another user',
      unregister('ada', { credential: 'own' }),
      [
        { id: 2, slots: [{ ...ada, credential: 'other' }] },
        { id: 1, slots: [{ ...ada, credential: 'own' }] },
      ],
      1,
    ],
    [
      'release frees the one that is not borrowed',
      release('ada'),
      [
        { id: 2, slots: [borrowed] },
        { id: 1, slots: [ada] },
      ],
      1,
    ],
    [
      'recall the one that is',
      recall('ada'),
      [
        { id: 2, slots: [ada] },
        { id: 1, slots: [borrowed] },
      ],
      1,
    ],
    [
      'a feature is lent on the license with the slot',
      registerFeature('ada'),
      [{ id: 2 }, { id: 1, slots: [ada], meter: { feature: 'render' } }],
      1,
    ],
    [
      'and others back on the license that it was lent on',
      releaseFeature('ada'),
      [
        { id: 2, slots: [ada] },
        { id: 1, slots: [ada], featureSlots: [exampleFeatureSlot('ada')] },
      ],
      1,
    ],
  ];
  for (const [title, command, members, expected] of cases) {
    test(title, () => assert.equal(answering(command, members), expected));
  }

  test('a feature is not lent from another license, even if only that has it', () => {
    const { on, outcome } = refused(registerFeature('ada'), [
      { id: 2, meter: { feature: 'render' } },
      { id: 1, slots: [ada], facts: { features: [] } },
    ]);
    assert.deepEqual([on, outcome.code], [1, 'invalid_license_feature_code']);
  });

  test('an ended borrow is restored on no license once its user has returned it', () => {
    const ended = { ...borrowed, endsAt: NOW, borrowedUntil: NOW };
    const { on, others } = decideOn(unregister('ada'), [
      { id: 3 },
      { id: 2, slots: [ada] },
      { id: 1, slots: [ended] },
    ]);
    assert.equal(on, 2);
    const forgotten = { kind: 'forget_borrow', user: 'ada', feature: null };
    assert.deepEqual(
      others.map(({ licenseId, decision }) => [licenseId, decision.changes.at(-1)]),
      [[1, forgotten]],
    );
    const nothing = decideOn(unregister('ada'), [{ id: 2 }, { id: 1, slots: [ended] }]);
    assert.equal(expectRefused(nothing.outcome).code, 'device_not_found');
    assert.deepEqual(nothing.others[0]?.decision.changes.at(-1), forgotten);
    const kept = decideOn(release('ada'), [
      { id: 2, slots: [borrowed] },
      { id: 1, slots: [ended] },
    ]);
    assert.equal(expectRefused(kept.outcome).code, 'slot_is_borrowed');
    assert.deepEqual(kept.others, [], 'nothing was given back');
  });

  test('without any slot, the newest usable license refuses', () => {
    for (const command of [unregister('ada'), release('ada'), recall('ada'), registerFeature('ada')]) {
      const { on, outcome } = refused(command, [{ id: 3, facts: DISABLED }, { id: 2 }, { id: 1 }]);
      assert.deepEqual([on, outcome.code], [2, 'device_not_found'], command.kind);
    }
  });

  test('a feature that only some have is refused for lack of a slot', () => {
    for (const [command, code] of [
      [registerFeature('ada'), 'device_not_found'],
      [releaseFeature('ada'), 'floating_feature_device_not_in_use'],
    ] as const) {
      const { on, outcome } = refused(command, [{ id: 2, facts: { features: [] } }, { id: 1 }]);
      assert.deepEqual([on, outcome.code], [1, code], command.kind);
    }
  });

  test('a feature that none has is refused by the newest', () => {
    for (const command of [registerFeature('ada'), releaseFeature('ada')]) {
      const members = [2, 1].map((id) => ({ id, facts: { features: [] } }));
      const { on, outcome } = refused(command, members);
      assert.deepEqual([on, outcome.code], [2, 'invalid_license_feature_code'], command.kind);
    }
  });
});
