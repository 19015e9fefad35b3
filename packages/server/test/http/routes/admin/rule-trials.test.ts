import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { openTestApp } from '../../../../../../test/support/test-app.ts';
import { EMPTY_RULE_SET } from '../../../../src/core/rules/rule-set.ts';
import { tryRules } from '../../../../src/services/rules/try-rules.ts';

const TEXT = `groups:
  team: { users: ["t-*"] }
products:
  cad:
    limit:
      - { slots: 1, for: team }
`;

describe('trying rules', () => {
  test('says what they would have answered', async (t) => {
    const { post } = await openTestApp(t);
    for (const user of ['t-1', 't-2']) await post('/api/v4/register', { product: 'cad', user });
    const { status, body } = await post('/api/admin/rules/try', { text: TEXT, since: '1h' });
    assert.equal(status, 200, JSON.stringify(body));
    assert.deepEqual([body.requests, body.newly_refused, body.newly_served], [2, 1, 0]);
    assert.deepEqual(body.rules, [
      {
        line: 6,
        text: 'limit 1 for team',
        product: 'cad',
        feature: null,
        would_refuse: 1,
        unused_share: null,
      },
    ]);
    assert.deepEqual(body.users, [{ user: 't-2', newly_refused: 1, newly_served: 0 }]);
  });

  test('needs a valid text and a time in the past', async (t) => {
    const { post } = await openTestApp(t);
    const codeOf = async (body: object) => (await post('/api/admin/rules/try', body)).body.code;
    assert.equal(await codeOf({}), 'missing_parameters');
    assert.equal(await codeOf({ text: 'products: [' }), 'rules_not_valid');
    assert.equal(await codeOf({ text: TEXT, since: '2999-01-01' }), 'validation_error');
    assert.equal(await codeOf({ text: TEXT, since: 'someday' }), 'validation_error');
  });

  test('ends when the client is gone', async (t) => {
    const { store } = await openTestApp(t);
    const trial = tryRules(store, { rules: EMPTY_RULE_SET, signal: AbortSignal.abort() });
    await assert.rejects(trial, /The client disconnected\./);
  });
});

describe('explaining rules', () => {
  test('says what would be answered, which line decides, and what makes a member', async (t) => {
    const { get, post } = await openTestApp(t);
    await post('/api/admin/rules/apply', { text: TEXT });
    const explain = async (query: string) => (await get(`/api/admin/rules/explain?${query}`)).body;
    assert.equal((await explain('user=t-1')).answer, 'served');
    await post('/api/v4/register', { product: 'cad', user: 't-1' });
    assert.match(String((await explain('user=t-1')).message), /holds a slot already/);
    const refused = await explain('user=t-2&product=cad');
    assert.deepEqual(
      [refused.answer, refused.code, refused.kind, refused.rule, refused.line],
      ['refused', 'floating_not_available', 'limit', 'limit 1 for team', 6],
    );
    assert.deepEqual(refused.groups, [{ group: 'team', by: 'users: t-*' }]);
    await post('/api/admin/bars', { kind: 'user', pattern: 't-*' });
    const barred = await explain('user=t-2');
    assert.deepEqual([barred.code, barred.rule, barred.line], ['blacklisted', 'bar user t-*', null]);
    assert.equal((await explain('user=t-2&product=cax')).code, 'unknown_product');
    assert.equal((await explain('product=cad')).code, 'missing_parameters');
  });
});
