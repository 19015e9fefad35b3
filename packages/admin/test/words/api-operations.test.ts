import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTestApp } from '../../../../test/support/test-app.ts';
import { type ApiDocument, findFault, listOperations } from '../../src/words/api-operations.ts';

test('everything that the caller may ask and that ends is offered once', async (t) => {
  const { get } = await openTestApp(t, { licenses: [] });
  const document = JSON.parse((await get('/api/v4/openapi.json')).text) as ApiDocument;
  const { operations } = JSON.parse((await get('/api/admin/session')).text);
  const all = listOperations(document, operations);
  const names = all.map(({ name }) => name);
  assert.equal(new Set(names).size, names.length);
  assert.deepEqual(all.find(({ name }) => name === 'register')?.method, 'POST');
  assert.equal(JSON.parse(all.find(({ name }) => name === 'register')?.body ?? '').product, 'demo');
  assert.ok(all.find(({ name }) => name === 'admin_audit')?.query.includes('limit'));
  for (const left of ['register_alias', 'license_upload', 'admin_events', 'docs']) {
    assert.ok(!names.includes(left), left);
  }
  const few = operations.filter((one: string) => !one.endsWith('/setKeys'));
  const allowed = listOperations(document, few).map(({ name }) => name);
  assert.ok(allowed.includes('admin_status') && !allowed.includes('set_keys'));
});

test('a body that the server would not read is refused with the reason', () => {
  assert.equal(findFault('{"user": "ada"}'), null);
  assert.equal(findFault('[]'), 'A body is an object in braces.');
  assert.match(findFault('{') ?? '', /^This is not JSON: /);
});
