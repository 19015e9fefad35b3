import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createCallOf, rewriteHints } from '../../src/console/hints.ts';

const COMMANDS = ['status', 'license sync'];

for (const [text, rewritten] of [
  ['Run "berth status".', 'Run "./berth status --data ./my".'],
  [
    'Run "berth license sync --accept-older" or "berth status"!',
    'Run "./berth license sync --accept-older --data ./my" or "./berth status --data ./my"!',
  ],
  ['There is no user "berth x".', 'There is no user "berth x".'],
  ['There is no user "berth status', 'There is no user "berth status'],
  ['berth listening, "berth statuses"', 'berth listening, "berth statuses"'],
] as const) {
  test(text, () => {
    const callOf = createCallOf('./berth', { data: './my', config: undefined });
    assert.equal(rewriteHints(text, { name: 'berth', commands: COMMANDS, callOf }), rewritten);
  });
}

test('a folder with spaces is quoted', () => {
  assert.equal(createCallOf('berth', { data: 'my data' })('status'), "berth status --data 'my data'");
});
