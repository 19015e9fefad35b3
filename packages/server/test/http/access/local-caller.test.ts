import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { FOREIGN, LOCAL, openTestApp, type SendOptions } from '../../../../../test/support/test-app.ts';
import type { AuthSettings } from '../../../src/http/access/caller.ts';

describe('a 401 says why a caller does not count as local', () => {
  const reasons: readonly [RegExp, Partial<AuthSettings>, SendOptions][] = [
    [/because "auth.localAdmin" is "never"\.$/, { localAdmin: 'never' }, {}],
    [
      /because other machines can reach this server \(.*"http.trustedProxies"\)\.$/,
      { isLoopbackOnly: false },
      {},
    ],
    [/because it does not come from 127\.0\.0\.1 or ::1\.$/, {}, { peer: FOREIGN }],
    [/because its Host header is not localhost/, {}, { headers: { host: 'vm' } }],
    [/because it is HTTP\/1\.0, which proxies send\.$/, {}, { peer: { ...LOCAL, isHttp10: true } }],
    [/because it has the header "referer", which browsers send\.$/, {}, { headers: { referer: 'x' } }],
    [/because it has the header "x-real-ip", which proxies/, {}, { headers: { 'x-real-ip': '127.0.0.1' } }],
  ];
  for (const [sentence, auth, request] of reasons) {
    test(String(sentence), async (t) => {
      const { get } = await openTestApp(t, { auth });
      const answer = await get('/api/admin/status', request);
      assert.equal(answer.status, 401);
      assert.match(String(answer.body.message), sentence);
    });
  }

  test('once the server is set up, and only to callers on the machine', async (t) => {
    const { get, store } = await openTestApp(t);
    const account = { name: 'admin', role: 'admin', passwordHash: 'x', by: 'test' } as const;
    await store.execute({ kind: 'create_account', ...account, oneTime: false });
    const here = await get('/api/admin/status');
    assert.match(String(here.body.message), /because setup is over/);
    const elsewhere = await get('/api/admin/status', { peer: FOREIGN });
    assert.doesNotMatch(elsewhere.text, /setup is over/);
  });
});
