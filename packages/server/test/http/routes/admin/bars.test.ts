import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { openTestApp, readEvents } from '../../../../../../test/support/test-app.ts';

describe('bars', () => {
  test('are added, listed, and removed, each of them once', async (t) => {
    const { get, post } = await openTestApp(t);
    const bar = { kind: 'user', pattern: ' Fay ', note: 'left\u0007the company' };
    assert.deepEqual((await post('/api/admin/bars', bar)).body, { added: 1 });
    assert.deepEqual((await post('/api/admin/bars', { kind: 'user', pattern: 'fay' })).body, { added: 0 });
    const at = '2030-01-15T12:00:00.000Z';
    const kept = { kind: 'user', pattern: 'Fay', note: 'left the company', by: 'local', at };
    assert.deepEqual((await get('/api/admin/bars')).body, { bars: [kept] });
    assert.equal((await get('/api/admin/rules')).body.revision, 0, 'bars are not rules');
    const denied = await post('/api/v4/register', { product: 'cad', user: 'FAY' });
    assert.deepEqual([denied.body.code, denied.body.barred], ['blacklisted', 'user']);
    assert.doesNotMatch(
      JSON.stringify(denied.body),
      /rules_file|barred_?by|company/i,
      'clients learn no more',
    );
    const remove = { kind: 'user', pattern: 'FAY' };
    const lifted = await post('/api/admin/bars/remove', remove);
    assert.deepEqual(lifted.body, { removed: 1, still_barred_by: [] });
    const again = await post('/api/admin/bars/remove', remove);
    assert.deepEqual(again.body, { removed: 0, still_barred_by: [] });
    assert.equal((await post('/api/v4/register', { product: 'cad', user: 'fay' })).status, 200);
  });

  test('must be valid, as in the rules file', async (t) => {
    const { get, post } = await openTestApp(t);
    for (const [body, code, sentence] of [
      [
        { pattern: 'fay' },
        'missing_parameters',
        /^"kind" is missing: what is barred: user, host, address\.$/,
      ],
      [{ kind: 'user' }, 'missing_parameters', /^"pattern" is missing: a name in which \*/],
      [{}, 'missing_parameters', /^"kind" is missing: .*\. "pattern" is missing: /],
      [{ kind: 'team', pattern: 'fay' }, 'validation_error', /must be one of user, host, address/],
      [
        { kind: 'address', pattern: '10.0.0' },
        'validation_error',
        /"pattern" is "10\.0\.0", which is not an/,
      ],
      [{ kind: 'user', pattern: 'x'.repeat(257) }, 'validation_error', /longer than 256/],
    ] as const) {
      const answer = await post('/api/admin/bars', body);
      assert.equal(answer.body.code, code);
      assert.match(String(answer.body.message), sentence);
    }
    assert.equal((await post('/api/admin/bars', {})).body.field, 'kind');
    assert.deepEqual((await get('/api/admin/bars')).body, { bars: [] });
  });

  test('are explained to operators, with the source of each', async (t) => {
    const { get, post, folder, ruleBook, store } = await openTestApp(t);
    writeFileSync(join(folder, 'rules.yaml'), 'deny: {users: ["f*"], addresses: [10.0.0.0/8]}');
    await ruleBook.begin();
    await post('/api/admin/bars', { kind: 'user', pattern: 'fay', note: 'left' });
    await post('/api/admin/bars', { kind: 'host', pattern: 'lab-*' });
    const why = async (query: string) => (await get(`/api/admin/rules/why?${query}`)).body.barred_by;
    const byFile = { source: 'rules_file', kind: 'user', pattern: 'f*', note: null };
    const byBar = { source: 'bar', kind: 'user', pattern: 'fay', note: 'left' };
    assert.deepEqual(await why('user=Fay'), [byFile, byBar]);
    assert.deepEqual(await why('user=ann'), []);
    assert.deepEqual(
      ((await why('host=LAB-1&address=10.9.9.9')) as { pattern: string }[]).map(({ pattern }) => pattern),
      ['10.0.0.0/8', 'lab-*'],
    );
    assert.deepEqual(await why(''), []);
    const lifted = await post('/api/admin/bars/remove', { kind: 'user', pattern: 'fay' });
    assert.deepEqual(lifted.body, { removed: 1, still_barred_by: [byFile] });
    await post('/api/v4/register', { product: 'cad', user: 'fay' });
    const event = (await readEvents(store)).find(({ kind }) => kind === 'slot_denied');
    assert.ok(event?.kind === 'slot_denied');
    assert.deepEqual([event.barred, event.barredBy], ['user', 'rules_file']);
  });
});
