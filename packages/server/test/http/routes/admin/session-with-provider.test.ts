import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { CLIENT, openRealProvider } from '../../../../../../test/support/openid/real-provider.ts';
import { openSignInSite, PAGE } from '../../../../../../test/support/openid/sign-in-site.ts';
import { Visitor } from '../../../../../../test/support/openid/visitor.ts';
import { FOREIGN, openTestApp, readEvents } from '../../../../../../test/support/test-app.ts';
import { SESSION_LIFETIME_MS } from '../../../../src/core/access/token.ts';
import { csrfTokenOf } from '../../../../src/http/access/session.ts';

const PEOPLE = {
  ann: { preferred_username: 'ann@example.com', groups: ['staff', 'it'] },
  bob: { preferred_username: 'bob', groups: ['staff', 'bosses', 'it'] },
  eve: { preferred_username: 'eve', groups: ['guests'] },
  joe: { email: 'joe@example.com', email_verified: true },
  kim: { email: 'kim@example.com', email_verified: false },
};

const GROUPS = { ADMINS: 'bosses', OPERATORS: 'it', VIEWERS: 'staff' };

type Life = Parameters<typeof openTestApp>[0];

async function open(t: Life, settings: Readonly<Record<string, string>> = GROUPS) {
  const provider = await openRealProvider(t, { page: PAGE, people: PEOPLE });
  const site = await openSignInSite(t, provider.issuer, settings);
  const signIn = async (who: string) => {
    const { url, cookie } = await site.begin();
    const query = await new Visitor().signIn(url, who, PAGE);
    return { ...(await site.finish(cookie, query)), query, cookie };
  };
  return { ...site, provider, signIn };
}

const by = (name: string) => ({ by: name, origin: FOREIGN.address });

describe('with a real provider, a person', () => {
  test('gets a session with the role of their groups, and no account', async (t) => {
    const { app, signIn, who, provider } = await open(t);
    const { answer, session } = await signIn('ann');
    assert.deepEqual([answer.status, answer.body], [200, { url: null }]);
    assert.match(answer.headers.get('set-cookie') ?? '', /^berth=[\w-]{43}; .*HttpOnly; SameSite=Strict$/);
    const { name, role, operations } = (await who(session)).body;
    assert.deepEqual([name, role], ['oidc:ann@example.com', 'operator']);
    assert.ok(!(operations as string[]).includes('POST /api/v4/setPassword'), 'they have none here');
    assert.deepEqual(await app.accounts.list(), []);
    assert.deepEqual(await readEvents(app.store), [
      {
        kind: 'signed_in',
        account: 'oidc:ann@example.com',
        role: 'operator',
        subject: 'ann',
        ...by('oidc:ann@example.com'),
      },
    ]);
    await provider.stop();
    app.clock.advance(SESSION_LIFETIME_MS - 1);
    assert.equal((await who(session)).status, 200, 'without the provider, too');
    app.clock.advance(1);
    assert.equal((await who(session)).status, 401);
  });

  test('whose groups are for products is limited to these', async (t) => {
    const { app, signIn, who } = await open(t, { PRODUCT_OPERATORS: 'cad=staff,cam=it,pdm=bosses' });
    const { body } = await who((await signIn('ann')).session);
    assert.deepEqual([body.role, body.products], ['operator', ['cad', 'cam']]);
    const [event] = await readEvents(app.store);
    assert.deepEqual(event?.kind === 'signed_in' && event.products, ['cad', 'cam']);
  });

  test('gets the highest role of several, and ends the setup if that is administrator', async (t) => {
    const { app, signIn, who } = await open(t);
    const early = await signIn('ann');
    assert.equal(await app.accounts.isBeingSetUp(), true);
    assert.equal((await who(early.session)).status, 200);
    const { session } = await signIn('bob');
    assert.equal((await who(session)).body.role, 'admin');
    assert.equal(await app.accounts.isBeingSetUp(), false);
    assert.equal((await who(early.session)).status, 401, 'as after any setup');
  });

  test('without a group that has a role is refused, told why, and recorded', async (t) => {
    const { app, signIn } = await open(t);
    const { answer, code, message } = await signIn('eve');
    assert.deepEqual([answer.status, code], [403, 'sign_in_refused']);
    assert.match(message, /^"eve" has no role here\. Their groups are: "guests"\. .*"auth\.oidc\.admins"/);
    assert.equal(answer.headers.get('set-cookie'), null);
    assert.deepEqual(await readEvents(app.store), [
      { kind: 'sign_in_failed', account: 'oidc:eve', reason: message, ...by('oidc:eve') },
    ]);
  });

  test('without a claim about groups is refused, and told which setting names it', async (t) => {
    const { signIn } = await open(t);
    assert.match((await signIn('joe')).message, /it sends no claim "groups"\. .*"auth\.oidc\.groupsClaim"/);
  });

  test('can get a role by their e-mail address, if the provider has verified it', async (t) => {
    const settings = {
      GROUPS_CLAIM: 'email',
      NAME_CLAIM: 'email',
      VIEWERS: 'joe@example.com,kim@example.com',
    };
    const { signIn, who } = await open(t, settings);
    const joe = await signIn('joe');
    const { name, role } = (await who(joe.session)).body;
    assert.deepEqual([name, role], ['oidc:joe@example.com', 'viewer']);
    const kim = await signIn('kim');
    assert.equal(kim.code, 'sign_in_refused');
    assert.match(kim.message, /has not verified the e-mail address "kim@example\.com"/);
  });

  test('signs in once with an attempt, whatever is sent again', async (t) => {
    const { app, signIn, finish, begin } = await open(t);
    const first = await signIn('ann');
    const again = await finish(first.cookie, first.query);
    assert.equal(again.code, 'sign_in_refused');
    assert.match(again.message, /was used before/);
    const other = await begin();
    const mixed = await finish(other.cookie, first.query.replace(/state=[^&]+/, `state=${other.state}`));
    assert.equal(mixed.code, 'sign_in_refused', 'a code of before');
    assert.match(mixed.message, /The provider did not sign you in: it says "invalid_grant/);
    const kinds = (await readEvents(app.store)).map(({ kind }) => kind);
    assert.deepEqual(kinds, ['signed_in', 'sign_in_failed', 'sign_in_failed']);
  });

  test('replaces the session of the browser', async (t) => {
    const { signIn, begin, finish, who } = await open(t);
    const { session } = await signIn('ann');
    const { url, cookie } = await begin();
    const query = await new Visitor().signIn(url, 'bob', PAGE);
    const second = await finish(`${session}; ${cookie}`, query);
    assert.deepEqual([(await who(session)).status, (await who(second.session)).body.name], [401, 'oidc:bob']);
  });

  test('signs out here and at the provider', async (t) => {
    const { app, signIn, who, provider } = await open(t);
    const { session: cookie } = await signIn('ann');
    const headers = { cookie, 'x-berth-csrf': csrfTokenOf(cookie.slice('berth='.length)) };
    const end = await app.post('/api/admin/session/end', {}, { peer: FOREIGN, headers });
    assert.equal((await who(cookie)).status, 401);
    const url = new URL(String(end.body.url));
    assert.equal(url.origin, provider.issuer);
    assert.deepEqual(Object.fromEntries(url.searchParams), { client_id: CLIENT.id });
    assert.equal((await fetch(url)).status, 200);
    const events = await readEvents(app.store);
    assert.deepEqual(
      events.map((event) => [event.kind, 'by' in event && event.by]),
      ['signed_in', 'token_revoked'].map((kind) => [kind, 'oidc:ann@example.com']),
    );
  });

  test('signs out here while the provider is away', async (t) => {
    const { app, signIn, provider } = await open(t);
    const { session: cookie } = await signIn('ann');
    await provider.stop();
    app.clock.advance(60 * 60 * 1000);
    const headers = { cookie, 'x-berth-csrf': csrfTokenOf(cookie.slice('berth='.length)) };
    const end = await app.post('/api/admin/session/end', {}, { peer: FOREIGN, headers });
    assert.deepEqual(end.body, { ended: true, url: null });
  });

  test('is refused if the server has the wrong secret', async (t) => {
    const { signIn } = await open(t, { ...GROUPS, CLIENT_SECRET: 'wrong' });
    const { code, message } = await signIn('ann');
    assert.equal(code, 'sign_in_refused');
    assert.match(message, /does not know this server: it says "invalid_client.*"auth\.oidc\.clientSecret"/);
  });
});

describe('an attempt', () => {
  test('belongs to the browser that began it, for a quarter of an hour', async (t) => {
    const { app, begin, finish } = await open(t);
    const { url, set, cookie } = await begin();
    assert.match(set, /^berth-sign-in=\d+\.[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Max-Age=900$/);
    const query = await new Visitor().signIn(url, 'ann', PAGE);
    const later = `berth-sign-in=${Number(/\d+/.exec(cookie)) + 60_000}${cookie.slice(cookie.indexOf('.'))}`;
    for (const other of ['', 'berth-sign-in=', 'berth-sign-in=x', (await begin()).cookie, later]) {
      const { code } = await finish(other, query);
      assert.equal(code, 'sign_in_refused', other);
    }
    app.clock.advance(15 * 60 * 1000);
    assert.match((await finish(cookie, query)).message, /took more than 15 minutes/);
    app.clock.advance(-1);
    assert.equal((await finish(cookie, query)).answer.status, 200);
  });

  test('over TLS has a cookie that is bound to the host', async (t) => {
    const { app } = await open(t);
    const peer = { ...FOREIGN, isSecure: true };
    const { headers } = await app.post(
      '/api/admin/session/provider',
      { page: PAGE.replace('http', 'https') },
      { peer },
    );
    assert.match(headers.get('set-cookie') ?? '', /^__Host-berth-sign-in=.*; Secure; Max-Age=900$/);
  });

  for (const page of [
    'http://evil.example/',
    'http://localhost:8080@evil.example/',
    'http://localhost:8081/',
    'https://localhost:8080/',
    '//evil.example/',
    '/',
    'javascript:alert(1)',
    'http://localhost:8080/?next=http://evil.example/',
    'http://localhost:8080/#/slots',
    'http://localhost:8080/a/../',
  ]) {
    test(`does not lead back to ${page}`, async (t) => {
      const { app, begin } = await open(t);
      const { cookie, state } = await begin();
      const sent = { peer: FOREIGN, headers: { cookie } };
      for (const body of [{ page }, { page, answer: `code=x&state=${state}` }]) {
        const answer = await app.post('/api/admin/session/provider', body, sent);
        assert.deepEqual([answer.status, answer.body.field], [400, 'page']);
      }
    });
  }

  test('leads back to a page below a path of a proxy', async (t) => {
    const { app } = await open(t);
    const { body } = await app.post(
      '/api/admin/session/provider',
      { page: `${PAGE}berth/` },
      { peer: FOREIGN },
    );
    assert.equal(new URL(String(body.url)).searchParams.get('redirect_uri'), `${PAGE}berth/`);
  });

  test('is not begun or finished by another site, nor over plain HTTP if TLS is required', async (t) => {
    const { app } = await open(t);
    const strict = await openTestApp(t, { auth: { requireTls: true } });
    for (const body of [{ page: PAGE }, { page: PAGE, answer: 'x' }]) {
      const sent = { peer: FOREIGN, headers: { origin: 'http://evil.example' } };
      const answer = await app.post('/api/admin/session/provider', body, sent);
      assert.equal(answer.body.code, 'csrf_rejected');
      const plain = await strict.post('/api/admin/session/provider', body, { peer: FOREIGN });
      assert.equal(plain.body.code, 'tls_required');
    }
  });
});

test('the page learns the name of the provider, and that there is none', async (t) => {
  const find = async (settings: Readonly<Record<string, string>>) => {
    const { app } = await openSignInSite(t, 'https://login.example.com/realms/x', settings);
    return (await app.get('/api/admin/welcome', { peer: FOREIGN })).body.provider;
  };
  assert.equal(await find({}), 'login.example.com');
  assert.equal(await find({ NAME: 'Keycloak' }), 'Keycloak');
  const app = await openTestApp(t);
  assert.equal((await app.get('/api/admin/welcome')).body.provider, null);
  const { code, message } = (await app.post('/api/admin/session/provider', { page: PAGE })).body;
  assert.equal(code, 'sign_in_refused');
  assert.match(String(message), /"auth\.oidc\.issuer"/);
});
