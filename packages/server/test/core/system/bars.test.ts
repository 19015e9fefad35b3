import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Bar, MAX_BARS } from '../../../src/core/nouns/bar.ts';
import { NO_RULES } from '../../../src/core/rules/rules.ts';
import { addBar, removeBar } from '../../../src/core/system/rules.ts';

const by = { name: 'ada', address: '192.0.2.1' };

function barring(patterns: readonly string[]) {
  const bars = patterns.map((pattern): Bar => ({ kind: 'user', pattern, note: null }));
  return { rules: { ...NO_RULES, bars } };
}

test('a bar is kept with the name of who set it, and recorded with the address', () => {
  const bar = { kind: 'user', pattern: 'fay', note: 'left' } as const;
  const { outcome, changes, events } = addBar.decide({ kind: 'add_bar', bar, by }, barring([]));
  assert.deepEqual(outcome, { kind: 'done', count: 1 });
  assert.deepEqual(changes, [{ kind: 'put_bar', bar, by: 'ada' }]);
  assert.deepEqual(events, [{ kind: 'bar_added', barred: 'user', pattern: 'fay', note: 'left', by }]);
});

test('a bar without a note does not remove the note', () => {
  const rules = { ...NO_RULES, bars: [{ kind: 'user', pattern: 'fay', note: 'left' } as const] };
  const bar = { kind: 'user', pattern: 'FAY', note: null } as const;
  assert.deepEqual(addBar.decide({ kind: 'add_bar', bar, by }, { rules }).changes, []);
});

test('there are only so many bars, and known ones can still be changed and lifted', () => {
  const full = barring(Array.from({ length: MAX_BARS }, (_, index) => `user-${index}`));
  const add = (pattern: string, note: string | null) =>
    addBar.decide({ kind: 'add_bar', bar: { kind: 'user', pattern, note }, by }, full).outcome;
  const refusal = add('fay', null);
  assert.ok(refusal.kind === 'refused');
  assert.equal(refusal.code, 'too_many_bars');
  assert.deepEqual(add('user-7', 'a note'), { kind: 'done', count: 1 });
  const remove = { kind: 'remove_bar', bar: { kind: 'user', pattern: 'USER-7' }, by } as const;
  const { changes } = removeBar.decide(remove, full);
  assert.deepEqual(changes, [{ kind: 'remove_bar', bar: { kind: 'user', pattern: 'user-7', note: null } }]);
});
