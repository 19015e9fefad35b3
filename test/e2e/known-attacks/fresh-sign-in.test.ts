import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { csrfTokenOf } from '../../../packages/server/src/http/access/session.ts';
import { openHostileProvider } from '../../support/openid/hostile-provider.ts';
import { CLIENT } from '../../support/openid/real-provider.ts';
import { openSignInSite, PAGE } from '../../support/openid/sign-in-site.ts';
import { READER, startSlapd } from '../../support/slapd.ts';
import { FOREIGN, openTestApp, type SendOptions } from '../../support/test-app.ts';

const PASSWORD = 'a password of my own';
const PASSPHRASE = 'correct horse battery';

describe('with the session of somebody without an account here', () => {
  const SETTINGS = { ADMINS: 'staff' };

  /** Signs in at a provider that says that it asked for the password so long ago. */
  async function openAtProvider(t: TestContext) {
    const provider = await openHostileProvider(t, CLIENT.id);
    const { app } = await openSignInSite(t, provider.issuer, SETTINGS);
    const signIn = async (authTime: unknown, anew = false) => {
      const path = '/api/admin/session/provider';
      const begun = await app.post(path, { page: PAGE, anew }, { peer: FOREIGN });
      const url = new URL(String(begun.body.url));
      provider.meet(url.href);
      provider.lie({ claims: { auth_time: authTime }, userInfo: { auth_time: app.clock.readWall() / 1000 } });
      const answer = `code=x&state=${url.searchParams.get('state')}&iss=${provider.issuer}`;
      const headers = { cookie: begun.headers.get('set-cookie')?.split(';')[0] as string };
      const ended = await app.post(path, { page: PAGE, answer }, { peer: FOREIGN, headers });
      const cookie = ended.headers.get('set-cookie')?.split(';')[0] ?? '';
      const csrf = csrfTokenOf(cookie.slice('berth='.length));
      return { url, caller: { peer: FOREIGN, headers: { cookie, 'x-berth-csrf': csrf } } };
    };
    const send = async (caller: SendOptions) => {
      const { status, body } = await app.post('/api/admin/keys/export', { passphrase: PASSPHRASE }, caller);
      return body.code ?? status;
    };
    return { app, signIn, send, nowSeconds: () => Math.floor(app.clock.readWall() / 1000) };
  }

  test('an old session at the provider: does not confirm; a fresh one does, for five minutes', async (t) => {
    const { app, signIn, send, nowSeconds } = await openAtProvider(t);
    const old = await signIn(nowSeconds() - 300);
    assert.equal(old.url.searchParams.get('max_age'), null);
    assert.equal(await send(old.caller), 'confirmation_required');
    const fresh = await signIn(nowSeconds() - 10, true);
    assert.equal(fresh.url.searchParams.get('max_age'), '0');
    assert.equal(await send(fresh.caller), 200);
    assert.equal(await send(old.caller), 'confirmation_required', 'it confirms for its own session only');
    app.clock.advance(289_000);
    assert.equal(await send(fresh.caller), 200);
    app.clock.advance(1000);
    assert.equal(await send(fresh.caller), 'confirmation_required');
  });

  test('a provider that does not say when it asked, or not in the ID token: confirms nothing', async (t) => {
    const { signIn, send, nowSeconds } = await openAtProvider(t);
    for (const authTime of [undefined, nowSeconds() + 3600]) {
      assert.equal(await send((await signIn(authTime, true)).caller), 'confirmation_required', `${authTime}`);
    }
    for (const wrong of [null, String(nowSeconds()), [nowSeconds()]]) {
      assert.equal(await send((await signIn(wrong, true)).caller), 'unauthorized', `${wrong}`);
    }
  });

  test('a password of an account: confirms nothing for them', async (t) => {
    const { app, signIn, nowSeconds } = await openAtProvider(t);
    await app.accounts.add({ name: 'admin', role: 'admin', password: PASSWORD }, 'test');
    const { caller } = await signIn(nowSeconds() - 3600);
    const sent = { passphrase: PASSPHRASE, own_password: PASSWORD };
    assert.equal((await app.post('/api/admin/keys/export', sent, caller)).body.code, 'confirmation_required');
  });

  test('somebody of a directory: has to sign in again after five minutes', async (t) => {
    const slapd = await startSlapd(t);
    if (slapd === null) return t.skip('optional: needs slapd');
    const app = await openTestApp(t, {
      licenses: [],
      env: {
        BERTH_AUTH_LDAP_URL: slapd.secure,
        BERTH_AUTH_LDAP_CA_FILE: slapd.certFile,
        BERTH_AUTH_LDAP_BIND_DN: READER.dn,
        BERTH_AUTH_LDAP_BIND_PASSWORD: READER.password,
        BERTH_AUTH_LDAP_BASE: 'ou=people,dc=example',
        BERTH_AUTH_LDAP_GROUP_BASE: 'ou=groups,dc=example',
        BERTH_AUTH_LDAP_ADMINS: 'cn=berth-admins,ou=groups,dc=example',
      },
    });
    const ann = { name: 'ann', password: 'password of ann', address: '::1' };
    const send = async (token: string | null) => {
      const sent = { passphrase: PASSPHRASE };
      const headers = { authorization: `Bearer ${token}` };
      const { status, body } = await app.post('/api/admin/keys/export', sent, { peer: FOREIGN, headers });
      return body.code ?? status;
    };
    const first = await app.accounts.signIn(ann);
    assert.equal(await send(first), 200);
    app.clock.advance(300_000);
    assert.equal(await send(first), 'confirmation_required');
    assert.equal(await app.accounts.signIn({ ...ann, password: 'a wrong one' }), null);
    assert.equal(await send(first), 'confirmation_required');
    assert.equal(await send(await app.accounts.signIn(ann)), 200);
  });
});
