import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { HOUR_MS, plus } from '../../../src/core/nouns/instant.ts';
import { cad, cadRules, ExampleLog, minute, replay } from './example-log.ts';

const ALWAYS = { during: null };
const ONE_EXT = cadRules({ limit: [{ slots: 1, of: { group: 'ext' }, line: 5, ...ALWAYS }] });

describe('borrowing', () => {
  const borrow = { allow: null, hours: null, keep: 0, perAddress: null, line: 7, ...ALWAYS };
  const licenses = [cad(1, { slots: 3, maxBorrowHours: 240 })];

  test('is refused to people who are not allowed to, who keep the slot that they hold', () => {
    const rules = cadRules({
      borrow: { ...borrow, allow: ['team'] },
      limit: [{ slots: 1, of: { group: 'ext' }, line: 1, ...ALWAYS }],
    });
    const until = plus(minute(5), HOUR_MS);
    const log = new ExampleLog()
      .borrowed(0, 't-1', 1)
      .borrowed(1, 'x-1', 1)
      .lent(2, 'x-2')
      .add(5, { kind: 'slot_borrowed', user: 'x-2', borrowedUntil: until })
      .lent(6, 'x-3');
    assert.deepEqual(replay(rules, log, { licenses }).answers, [
      't-1 served → served',
      'x-1 served → borrow allow team',
      'x-2 served → served',
      'x-2 served → borrow allow team',
      'x-3 served → limit 1 for ext',
    ]);
  });

  test('is refused for too long, but not to those who asked for the longest', () => {
    const rules = cadRules({ borrow: { ...borrow, hours: 72 } });
    const log = new ExampleLog().borrowed(0, 'a', 72).borrowed(1, 'b', 73).borrowed(2, 'c', 240);
    assert.deepEqual(replay(rules, log, { licenses }).answers, [
      'a served → served',
      'b served → borrow hours 72',
      'c served → served',
    ]);
  });

  test('that was refused for its hours is still refused, unless the rules allow more now', () => {
    const denied = { code: 'borrow_until_not_valid', rule: 'borrow hours 72' } as const;
    const log = new ExampleLog().denied(0, 'a', denied);
    const answersWith = (hours: number | null) =>
      replay(cadRules({ borrow: { ...borrow, hours } }), log, { licenses }).answers;
    assert.deepEqual(answersWith(72), ['a refused → borrow hours 72']);
    assert.deepEqual(answersWith(24), ['a refused → borrow hours 24']);
    assert.deepEqual(answersWith(100), ['a refused → served']);
    assert.deepEqual(answersWith(null), ['a refused → served']);
  });

  test('that was refused needs no further slot if one is held, wherever the refusal is recorded', () => {
    const two = [cad(2, { slots: 1 }), cad(1, { slots: 1 })];
    const denied = { chain: 2, rule: 'borrow keep 2' };
    const log = new ExampleLog().lent(0, 'b', { chain: 2 }).lent(1, 'a').denied(2, 'a', denied);
    const { answers } = replay(cadRules({}), log, { licenses: two });
    assert.deepEqual(answers.slice(2), ['a refused → served']);
  });

  test('that was refused is refused again while too many are borrowed, unless it is a longer one', () => {
    const rules = cadRules({ borrow: { ...borrow, keep: 2 } });
    const denied = { rule: 'borrow keep 2' };
    const log = new ExampleLog().borrowed(0, 'a', 1).denied(1, 'b', denied).denied(2, 'a', denied);
    assert.deepEqual(replay(rules, log, { licenses }).answers, [
      'a served → served',
      'b refused → borrow keep 2',
      'a refused → served',
    ]);
  });

  test('leaves what is kept, until a borrow is over', () => {
    const rules = cadRules({ borrow: { ...borrow, keep: 2 } });
    const log = new ExampleLog().borrowed(0, 'a', 1).borrowed(59, 'b', 1).borrowed(60, 'c', 1);
    assert.deepEqual(replay(rules, log, { licenses }).answers, [
      'a served → served',
      'b served → borrow keep 2',
      'c served → served',
    ]);
  });

  test('is limited for each address', () => {
    const rules = cadRules({ borrow: { ...borrow, perAddress: 1 } });
    const log = new ExampleLog()
      .borrowed(0, 'a', 1)
      .borrowed(1, 'b', 1)
      .borrowed(2, 'c', 1, { origin: '10.0.0.2' });
    assert.deepEqual(replay(rules, log, { licenses }).answers, [
      'a served → served',
      'b served → borrow perAddress 1',
      'c served → served',
    ]);
  });

  test('counts for the address from which its holder last called', () => {
    const rules = cadRules({ borrow: { ...borrow, perAddress: 1 } });
    const elsewhere = { origin: '10.0.0.2' };
    const log = new ExampleLog()
      .borrowed(0, 'a', 1)
      .denied(1, 'a', { ...elsewhere, code: 'blacklisted', rule: 'allow staff' })
      .borrowed(2, 'b', 1)
      .borrowed(3, 'c', 1, elsewhere);
    assert.deepEqual(replay(rules, log, { licenses }).answers, [
      'a served → served',
      'a refused → served',
      'b served → served',
      'c served → borrow perAddress 1',
    ]);
  });

  test('from another license gives the first slot back', () => {
    const two = [cad(2, { slots: 1 }), cad(1, { slots: 1 })];
    const log = new ExampleLog()
      .lent(0, 'x-1', { chain: 1 })
      .borrowed(1, 'x-1', 1, { chain: 2 })
      .returned(1, 'x-1', { chain: 1 });
    assert.deepEqual(replay(ONE_EXT, log, { licenses: two }).answers, [
      'x-1 served → served',
      'x-1 served → served',
    ]);
  });
});
