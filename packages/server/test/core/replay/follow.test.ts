import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { HOUR_MS, plus } from '../../../src/core/nouns/instant.ts';
import { type Limit, NO_NAMES } from '../../../src/core/rules/rule-set.ts';
import { cad, cadRules, ExampleLog, minute, replay } from './example-log.ts';

const licenses = [cad(1, { slots: 9 })];
const HERE = '10.0.0.1';
const THERE = '10.0.0.2';

function one(of: Limit['of']): Limit {
  return { slots: 1, of, line: 1, during: null };
}

const ONE_EACH = cadRules({ limit: [one({ each: 'address' })] });

function borrowFrom(log: ExampleLog, at: number, user: string, origin: string): ExampleLog {
  const borrowedUntil = plus(minute(at), HOUR_MS);
  return log.add(at, { kind: 'slot_borrowed', user, borrowedUntil, origin });
}

describe('a slot whose holder calls from elsewhere', () => {
  test('counts for the place from which it is borrowed', () => {
    const log = borrowFrom(new ExampleLog().lent(0, 'a'), 1, 'a', THERE);
    const { answers } = replay(ONE_EACH, log.lent(2, 'b').lent(3, 'c', { origin: THERE }), { licenses });
    assert.deepEqual(answers.slice(2), ['b served → served', 'c served → limit 1 for each address']);
  });

  test('counts as before if the rules would not lend it there', () => {
    const log = borrowFrom(new ExampleLog().lent(0, 'a').lent(0, 'b', { origin: THERE }), 1, 'b', HERE);
    const { answers } = replay(ONE_EACH, log.lent(2, 'c', { origin: THERE }), { licenses });
    assert.deepEqual(answers.slice(2), ['b served → served', 'c served → limit 1 for each address']);
  });

  test('counts as before if the rules would not lend a feature of it there', () => {
    const render = { allow: null, deny: NO_NAMES, reserve: [], limit: [one({ each: 'address' })] };
    const rules = cadRules({ limit: [{ ...one({ each: 'address' }), slots: 2 }], features: { render } });
    const log = new ExampleLog().lent(0, 'a').lent(0, 'b', { origin: THERE });
    for (const user of ['a', 'b']) log.add(1, { kind: 'feature_lent', feature: 'render', user });
    borrowFrom(log, 2, 'b', HERE).lent(3, 'c');
    assert.deepEqual(replay(rules, log, { licenses }).answers.slice(4), [
      'b served → served',
      'c served → served',
    ]);
  });

  test('counts as before if a feature of it is denied there', () => {
    const deny = { ...NO_NAMES, addresses: [THERE] };
    const render = { allow: null, deny, reserve: [], limit: [] };
    const rules = cadRules({ limit: [one({ each: 'address' })], features: { render } });
    const log = new ExampleLog().lent(0, 'a');
    log.add(1, { kind: 'feature_lent', feature: 'render', user: 'a' });
    borrowFrom(log, 2, 'a', THERE).lent(3, 'b', { origin: THERE });
    const { answers } = replay(rules, log, { licenses });
    assert.deepEqual(answers.slice(2), ['a served → served', 'b served → served']);
  });

  test('counts for the place from which it is taken in the log, if the rules have lent it before', () => {
    const rules = cadRules({ limit: [one({ group: 'lab' }), one({ group: 'ext' })] });
    const log = new ExampleLog().lent(0, 'x-1').lent(0, 'x-2').denied(1, 'a', { hostname: 'lab-1' });
    log.lent(1.5, 'a', { hostname: 'ws-1' }).lent(3, 'b', { hostname: 'lab-2' });
    assert.deepEqual(replay(rules, log).answers.slice(2), [
      'a refused → served',
      'a served → served',
      'b served → full',
    ]);
    assert.deepEqual(replay(rules, log, { licenses }).answers.slice(2), [
      'a refused → served',
      'a served → served',
      'b served → served',
    ]);
  });
});
