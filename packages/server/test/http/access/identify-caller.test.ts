import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTestApp } from '../../../../../test/support/test-app.ts';

test('an empty Authorization is reported as missing, and ignored if clients need none', async (t) => {
  const ask = async (clients: 'open' | 'required', authorization: string) => {
    const app = await openTestApp(t, { auth: { clients } });
    const { body } = await app.post('/api/v4/register', { user: 'ann' }, { headers: { authorization } });
    return body.message;
  };
  for (const empty of ['', ' ', 'Bearer', 'bearer ']) {
    assert.match(String(await ask('required', empty)), /^The token is missing: .* \/auth /, empty);
    assert.equal(await ask('open', empty), undefined);
  }
  assert.match(String(await ask('required', 'Bearer x')), /unknown or expired/);
});
