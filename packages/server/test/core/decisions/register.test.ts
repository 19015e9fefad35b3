import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { decide } from '../../../src/core/decide.ts';
import type { Decision } from '../../../src/core/decision.ts';
import { HOUR_MS, MINUTE_MS, plus } from '../../../src/core/nouns/instant.ts';
import type { Granted, Refused } from '../../../src/core/outcome.ts';
import {
  exampleLicense,
  exampleSlot,
  exampleView,
  expectRefused,
  NOW,
  register,
  type ViewFacts,
} from '../examples.ts';

const TIMEOUT_MS = 10 * MINUTE_MS;

function registerOn(facts: ViewFacts, user = 'ada', host = register(user).host): Decision {
  return decide(register(user, {}, host), exampleView(facts, user), NOW);
}

function grantedOf({ outcome }: Decision): Granted {
  assert.equal(outcome.kind, 'granted');
  return outcome as Granted;
}

function refusedOf({ outcome }: Decision): Refused {
  return expectRefused(outcome);
}

describe('register lends a slot', () => {
  test('for one timeout, and says how many are in use', () => {
    const decision = registerOn({ slots: [exampleSlot('bob')] });
    const { registration, inUse, now } = grantedOf(decision);
    const expected = {
      user: 'ada',
      host: register('ada').host,
      origin: null,
      credential: null,
      registeredAt: NOW,
      endsAt: plus(NOW, TIMEOUT_MS),
      borrowedUntil: null,
      programs: null,
    };
    assert.deepEqual(registration, expected);
    assert.deepEqual([inUse, now], [2, NOW]);
    assert.deepEqual(decision.changes, [
      { kind: 'put_registration', registration: expected, before: null },
      { kind: 'set_in_use', inUse: 2 },
    ]);
    assert.deepEqual(decision.events, [{ kind: 'slot_lent', user: 'ada', hostname: 'host-1' }]);
  });

  test('the last one, but not one more', () => {
    const license = exampleLicense({ slots: 1 });
    assert.equal(grantedOf(registerOn({ license })).inUse, 1);
    assert.equal(
      refusedOf(registerOn({ license, slots: [exampleSlot('bob')] })).code,
      'floating_not_available',
    );
  });

  test('none that is kept for others, but to those who hold one', () => {
    const facts = { slots: [exampleSlot('bob')], kept: 1 };
    assert.equal(refusedOf(registerOn(facts)).code, 'floating_not_available');
    assert.equal(grantedOf(registerOn({ slots: [exampleSlot('ada')], kept: 1 })).inUse, 1);
  });

  test('none if there are none', () => {
    const { code, details } = refusedOf(registerOn({ license: exampleLicense({ slots: 0 }) }));
    assert.equal(code, 'floating_not_available');
    assert.deepEqual(details, { slots: 0, inUse: 0 });
  });

  test('that ended in this millisecond', () => {
    const license = exampleLicense({ slots: 1 });
    const ended = exampleSlot('bob', { endsAt: NOW });
    const decision = registerOn({ license, slots: [ended] });
    assert.equal(grantedOf(decision).inUse, 1);
    assert.deepEqual(decision.events, [
      { kind: 'slot_expired', user: 'bob', endedAt: NOW },
      { kind: 'slot_lent', user: 'ada', hostname: 'host-1' },
    ]);
    assert.deepEqual(decision.changes[0], { kind: 'remove_registration', registration: ended });
  });

  test("whose end is nobody's doing", () => {
    const by = { name: 'app', address: '10.0.0.9' };
    const ended = exampleSlot('bob', { endsAt: NOW });
    const { events } = decide(register('ada', { by }), exampleView({ slots: [ended] }, 'ada'), NOW);
    assert.deepEqual(
      events.map((event) => [event.kind, event.by]),
      [
        ['slot_expired', undefined],
        ['slot_lent', by],
      ],
    );
  });

  test('never beyond validity and grace', () => {
    const license = exampleLicense({ validUntil: plus(NOW, MINUTE_MS) });
    assert.equal(grantedOf(registerOn({ license })).registration.endsAt, plus(NOW, MINUTE_MS));
    const graceful = { ...license, validUntil: NOW, allowGracePeriod: true, graceHours: 1 / 60 };
    const { registration } = grantedOf(registerOn({ license: graceful }));
    assert.equal(registration.endsAt, plus(NOW, MINUTE_MS));
  });
});

describe('register renews the slot that the user holds', () => {
  test('the timer restarts and the host is updated', () => {
    const host = { hostname: 'elsewhere', address: '10.9.9.9', info: 'x' };
    const held = exampleSlot('ada');
    const decision = registerOn({ slots: [held, exampleSlot('bob')] }, 'ada', host);
    const { registration, inUse } = grantedOf(decision);
    assert.deepEqual(registration, { ...held, host, endsAt: plus(NOW, TIMEOUT_MS) });
    assert.equal(inUse, 2);
    assert.deepEqual(decision.events, [], 'a renewal only moves a timer');
    assert.deepEqual(decision.changes, [{ kind: 'put_registration', registration, before: held }]);
  });

  test('in the last millisecond, but not in the next one', () => {
    const live = registerOn({ slots: [exampleSlot('ada', { endsAt: plus(NOW, 1) })] });
    assert.equal(grantedOf(live).registration.registeredAt, plus(NOW, -MINUTE_MS));
    const over = registerOn({ slots: [exampleSlot('ada', { endsAt: NOW })] });
    assert.equal(grantedOf(over).registration.registeredAt, NOW);
    assert.deepEqual(
      over.events.map(({ kind }) => kind),
      ['slot_expired', 'slot_lent'],
    );
    assert.deepEqual(over.changes.at(-1), { kind: 'set_in_use', inUse: 1 });
  });

  test('a heartbeat never shortens a borrow', () => {
    const borrowedUntil = plus(NOW, HOUR_MS);
    const decision = registerOn({ slots: [exampleSlot('ada', { borrowedUntil, endsAt: borrowedUntil })] });
    assert.equal(grantedOf(decision).registration.endsAt, borrowedUntil);
    assert.equal(grantedOf(decision).registration.borrowedUntil, borrowedUntil);
  });

  test('beyond a borrow that ends before the next timeout', () => {
    const borrowedUntil = plus(NOW, MINUTE_MS);
    const decision = registerOn({ slots: [exampleSlot('ada', { borrowedUntil, endsAt: borrowedUntil })] });
    assert.equal(grantedOf(decision).registration.endsAt, plus(NOW, TIMEOUT_MS));
    assert.equal(grantedOf(decision).registration.borrowedUntil, borrowedUntil);
  });

  test('even if the license has too few slots; nobody new gets one until use is within', () => {
    const license = exampleLicense({ slots: 1 });
    const slots = [exampleSlot('ada'), exampleSlot('bob')];
    assert.equal(grantedOf(registerOn({ license, slots })).inUse, 2);
    const refusal = refusedOf(registerOn({ license, slots }, 'eve'));
    assert.equal(refusal.code, 'floating_not_available');
    assert.deepEqual(refusal.details, { slots: 1, inUse: 2 }, 'the next end makes no room');
    assert.doesNotMatch(refusal.message, /may be free/);
  });
});

describe('register refuses', () => {
  test('when all slots are in use, with the facts, and records it', () => {
    const slots = [exampleSlot('bob', { endsAt: plus(NOW, 5) }), exampleSlot('eve')];
    const decision = registerOn({ slots });
    const { code, details, message } = refusedOf(decision);
    assert.equal(code, 'floating_not_available');
    assert.deepEqual(details, { slots: 2, inUse: 2, nextFreeAt: plus(NOW, 5) });
    assert.match(message, /^All 2 slots of "cad" are in use \(2\)\. .+\.$/);
    assert.deepEqual(decision.events, [
      { kind: 'slot_denied', user: 'ada', hostname: 'host-1', code: 'floating_not_available', repeated: 0 },
    ]);
    assert.deepEqual(
      decision.changes.map(({ kind }) => kind),
      ['put_denial'],
    );
  });

  test('a renewal when the license is no longer valid; the slot stays until its end', () => {
    const license = exampleLicense({ enabled: false });
    const decision = registerOn({ license, slots: [exampleSlot('ada')] });
    assert.equal(refusedOf(decision).code, 'license_not_enabled');
    assert.deepEqual(
      decision.changes.map(({ kind }) => kind),
      ['put_denial'],
    );
  });

  test('but still collects what has ended', () => {
    const license = exampleLicense({ active: false });
    const decision = registerOn({ license, slots: [exampleSlot('bob', { endsAt: NOW })] });
    assert.deepEqual(
      decision.changes.map(({ kind }) => kind),
      ['remove_registration', 'set_in_use', 'put_denial'],
    );
    assert.deepEqual(
      decision.events.map(({ kind }) => kind),
      ['slot_expired', 'slot_denied'],
    );
  });
});
