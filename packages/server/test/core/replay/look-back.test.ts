import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { exampleSlot } from '../examples.ts';
import { cad, cadRules, ExampleLog, minute, replay } from './example-log.ts';

const ALWAYS = { during: null };
const ONE_EXT = cadRules({ limit: [{ slots: 1, of: { group: 'ext' }, line: 5, ...ALWAYS }] });
const ONE_LAB = cadRules({ limit: [{ slots: 1, of: { group: 'lab' }, line: 5, ...ALWAYS }] });
const licenses = [cad(1, { slots: 3 })];

describe('slots that were held when the replay begins', () => {
  test('count if they are held still', () => {
    const registration = exampleSlot('x-1', { registeredAt: minute(-90), endsAt: minute(2000) });
    const log = new ExampleLog().lent(1, 'x-2');
    const { answers, isDone } = replay(ONE_EXT, log, { licenses, held: [{ chain: 1, registration }] });
    assert.deepEqual([answers, isDone], [['x-2 served → limit 1 for ext'], true]);
  });

  test('do not count if they were lent later', () => {
    const registration = exampleSlot('x-1', { registeredAt: minute(5), endsAt: minute(2000) });
    const log = new ExampleLog().lent(1, 'x-2').returned(2, 'x-2').lent(5, 'x-1');
    const { answers } = replay(ONE_EXT, log, { licenses, held: [{ chain: 1, registration }] });
    assert.deepEqual(answers, ['x-2 served → served', 'x-1 served → served']);
  });

  test('count until they end, though nothing is known of their beginning', () => {
    const log = new ExampleLog().lent(1, 'x-2').returned(2, 'x-1').lent(3, 'x-3');
    const { answers, isDone } = replay(ONE_EXT, log, { licenses });
    assert.deepEqual(answers, ['x-2 served → limit 1 for ext', 'x-3 served → served']);
    assert.equal(isDone, false);
  });

  test('count for the place that an older event names', () => {
    const log = new ExampleLog()
      .lent(-300, 'a', { hostname: 'ws-1' })
      .returned(-200, 'a')
      .lent(-100, 'a', { hostname: 'lab-1' })
      .lent(1, 'b', { hostname: 'lab-2' })
      .returned(2, 'a')
      .lent(3, 'c', { hostname: 'lab-3' });
    const { answers, isDone } = replay(ONE_LAB, log, { licenses });
    assert.deepEqual(answers, ['b served → limit 1 for lab', 'c served → served']);
    assert.equal(isDone, true);
  });

  test('count if all are returned together, which names nobody', () => {
    const log = new ExampleLog()
      .lent(-100, 'x-0')
      .returned(-90, 'x-0')
      .lent(-80, 'x-1')
      .lent(1, 'x-2')
      .lent(2, 'a')
      .add(3, { kind: 'all_slots_returned', count: 3 })
      .lent(4, 'x-3');
    const { answers, isDone } = replay(ONE_EXT, log, { licenses });
    assert.deepEqual(answers, ['x-2 served → limit 1 for ext', 'a served → served', 'x-3 served → served']);
    assert.equal(isDone, true);
  });

  test('count as borrowed', () => {
    const borrow = { allow: null, hours: null, keep: 2, perAddress: null, line: 7, ...ALWAYS };
    const log = new ExampleLog()
      .borrowed(-60, 'a', 2)
      .borrowed(30, 'b', 1)
      .returned(31, 'b')
      .returned(90, 'a');
    const { answers } = replay(cadRules({ borrow }), log.borrowed(91, 'c', 1), { licenses });
    assert.deepEqual(answers, ['b served → borrow keep 2', 'c served → served']);
  });

  test('count as borrowed if they were borrowed anew later, or returned with all others', () => {
    const borrow = { allow: null, hours: null, keep: 2, perAddress: null, line: 7, ...ALWAYS };
    const begun = () => new ExampleLog().borrowed(-60, 'a', 2).borrowed(10, 'b', 1).returned(11, 'b');
    const borrowedUntil = minute(2000);
    const registration = exampleSlot('a', { borrowedUntil, endsAt: borrowedUntil });
    const again = begun().add(30, { kind: 'slot_borrowed', user: 'a', borrowedUntil });
    const held = [{ chain: 1, registration }];
    const kept = 'b served → borrow keep 2';
    assert.deepEqual(replay(cadRules({ borrow }), again, { licenses, held }).answers, [
      kept,
      'a served → served',
    ]);
    const all = begun().add(30, { kind: 'all_slots_returned', count: 1 });
    assert.deepEqual(replay(cadRules({ borrow }), all, { licenses }).answers, [kept]);
  });

  test('count for the address from which they were borrowed later', () => {
    const limit = [{ slots: 1, of: { each: 'address' as const }, line: 5, ...ALWAYS }];
    const origin = '10.0.0.2';
    const log = new ExampleLog()
      .lent(-60, 'a')
      .add(-50, { kind: 'slot_borrowed', user: 'a', borrowedUntil: minute(20), origin })
      .lent(1, 'b')
      .lent(2, 'c', { origin })
      .returned(30, 'a');
    const { answers } = replay(cadRules({ limit }), log, { licenses });
    assert.deepEqual(answers, ['b served → served', 'c served → limit 1 for each address']);
  });

  test('are held to their end by people whom the rules keep out', () => {
    const log = new ExampleLog().lent(1, 't-1').returned(2, 'a').lent(3, 't-2').returned(4, 'b');
    const { answers } = replay(cadRules({ allow: ['team'] }), log);
    assert.deepEqual(answers, ['t-1 served → full', 't-2 served → served']);
  });

  test('may hold features', () => {
    const limit = [{ slots: 1, of: { group: 'ext' }, line: 3, ...ALWAYS }];
    const render = { ...(ONE_EXT.products.cad as object), limit } as never;
    const log = new ExampleLog()
      .lent(-10, 'x-1')
      .lent(1, 'x-2')
      .add(1, { kind: 'feature_lent', feature: 'render', user: 'x-2' })
      .add(2, { kind: 'feature_returned', feature: 'render', user: 'x-1' })
      .returned(3, 'x-1');
    const { answers } = replay(cadRules({ features: { render } }), log, { licenses });
    assert.deepEqual(answers, ['x-2 served → served', 'x-2 served → limit 1 for ext']);
  });

  for (const all of ['all_slots_returned', 'all_features_returned']) {
    test(`may hold features, which ${all} does not name`, () => {
      const limit = [{ slots: 2, of: { group: 'ext' }, line: 3, ...ALWAYS }];
      const render = { ...(ONE_EXT.products.cad as object), limit } as never;
      const feature = (kind: string, user: string) => ({ kind, feature: 'render', user });
      const log = new ExampleLog()
        .lent(-20, 'x-0')
        .add(-19, feature('feature_lent', 'x-0'))
        .add(-18, feature('feature_returned', 'x-0'))
        .lent(-10, 'x-1')
        .add(-9, feature('feature_lent', 'x-1'))
        .lent(1, 'x-2')
        .add(1, feature('feature_lent', 'x-2'))
        .lent(2, 'x-3')
        .add(2, feature('feature_lent', 'x-3'))
        .add(3, { kind: all, count: 4 })
        .lent(4, 'x-4')
        .add(4, feature('feature_lent', 'x-4'));
      const slots = ['x-0', 'x-1'].map((user) => exampleSlot(user, { endsAt: minute(2000) }));
      const kept = slots.map((registration) => ({ chain: 1, registration }));
      const held = all === 'all_slots_returned' ? [] : kept;
      const rules = cadRules({ features: { render } });
      const { answers } = replay(rules, log, { licenses: [cad(1, { slots: 9 })], held });
      assert.deepEqual(answers, [
        'x-2 served → served',
        'x-2 served → served',
        'x-3 served → served',
        'x-3 served → limit 2 for ext',
        'x-4 served → served',
        'x-4 served → served',
      ]);
    });
  }
});

test('what was lent on a license that is gone can be used', () => {
  const log = new ExampleLog().lent(1, 'a').add(5, { kind: 'license_removed', product: 'cad', inUse: 1 });
  assert.deepEqual(replay(ONE_EXT, log, { licenses: [] }).answers, ['a served → served']);
});

for (const fact of ['enabled', 'active']) {
  test(`a license that is not ${fact} now and then is used in between`, () => {
    const disabled = cad(1, { [fact]: false });
    const log = new ExampleLog()
      .denied(1, 'a')
      .add(5, { kind: 'license_changed', changed: [fact], slots: 2 });
    log.denied(6, 'b');
    const { answers } = replay(ONE_EXT, log, { licenses: [disabled] });
    assert.deepEqual(answers, ['a refused → served', 'b refused → full']);
  });
}

test('how many slots a license had is known from the change before', () => {
  const change = (slots: number) => ({ kind: 'license_changed', changed: ['slots'], slots }) as const;
  const isDone = (log: ExampleLog) =>
    replay(ONE_EXT, log.lent(1, 'a').add(5, change(3)), { licenses }).isDone;
  assert.equal(isDone(new ExampleLog()), false);
  assert.equal(isDone(new ExampleLog().add(-10, change(2))), true);
});

test('the median is that of slots that ended in the time that is replayed', () => {
  const log = new ExampleLog().lent(-600, 'a').returned(-1, 'a').lent(1, 'b').returned(6, 'b').lent(7, 'c');
  log.lent(7, 'd').denied(8, 'e').denied(10, 'e').returned(12, 'c').denied(13, 'e');
  const { answers } = replay(ONE_EXT, log);
  assert.deepEqual(answers.slice(3), ['e refused → full', 'e refused → served']);
});

test('the median is not that of slots that were returned together', () => {
  const log = new ExampleLog()
    .lent(0, 'a')
    .add(5, { kind: 'slot_borrowed', user: 'a', borrowedUntil: minute(90) })
    .add(8, { kind: 'all_slots_returned', count: 1 })
    .lent(10, 'b')
    .returned(40, 'b')
    .lent(50, 'x-1')
    .lent(50, 'x-2')
    .denied(51, 'c')
    .denied(80, 'd');
  assert.deepEqual(replay(ONE_EXT, log).answers.slice(5), ['c refused → served', 'd refused → full']);
});
