import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { makeCertificate } from '../../../../test/support/certificate.ts';
import { type Lies, openHostileProvider } from '../../../../test/support/openid/hostile-provider.ts';
import { CLIENT } from '../../../../test/support/openid/real-provider.ts';
import { openSignInSite, PAGE } from '../../../../test/support/openid/sign-in-site.ts';
import { temporaryFolder } from '../../../../test/support/server-process.ts';
import { readEvents } from '../../../../test/support/test-app.ts';
import { createOpenIdProvider } from '../../src/providers/openid-provider.ts';

type Life = Parameters<typeof openSignInSite>[0];

async function open(t: Life, settings: Readonly<Record<string, string>> = { OPERATORS: 'staff' }) {
  const provider = await openHostileProvider(t, CLIENT.id);
  const site = await openSignInSite(t, provider.issuer, settings);
  /** `answer`: what the provider sends back besides the code. */
  const signIn = async (lies: Lies, change: (query: URLSearchParams) => void = () => {}) => {
    provider.lie(lies);
    const { url, state, cookie } = await site.begin();
    provider.meet(url);
    const query = new URLSearchParams({ code: 'a-code', state, iss: provider.issuer });
    change(query);
    return site.finish(cookie, `${query}`);
  };
  return { ...site, provider, signIn };
}

const WELL_KNOWN = '/.well-known/openid-configuration';
const TOKEN = { access_token: 'x', token_type: 'Bearer' };
const HOUR = 3600;
const now = () => Math.floor(Date.now() / 1000);

describe('a provider that tells the truth', () => {
  test('is believed', async (t) => {
    const { signIn, who } = await open(t);
    const { session } = await signIn({});
    const { name, role } = (await who(session)).body;
    assert.deepEqual([name, role], ['oidc:ann', 'operator']);
  });

  test('may be a minute early or late, and not two', async (t) => {
    const { signIn } = await open(t);
    const late = await signIn({ claims: { iat: now() - HOUR, exp: now() - 50 } });
    assert.equal(late.answer.status, 200);
    const early = await signIn({ claims: { nbf: now() + 50 } });
    assert.equal(early.answer.status, 200);
    const tooLate = await signIn({ claims: { iat: now() - HOUR, exp: now() - 120 } });
    assert.equal(tooLate.code, 'sign_in_refused');
    const tooEarly = await signIn({ claims: { nbf: now() + 120 } });
    assert.equal(tooEarly.code, 'sign_in_refused');
  });

  test('may change its keys at any moment', async (t) => {
    const { signIn, provider } = await open(t);
    assert.equal((await signIn({})).answer.status, 200);
    provider.changeKeys();
    assert.equal((await signIn({})).answer.status, 200);
    assert.equal((await signIn({ signed: 'none' })).code, 'sign_in_refused');
  });

  test('may name thousands of groups', async (t) => {
    const { signIn, who } = await open(t);
    const many = Array.from({ length: 5000 }, (_, index) => `cn=group-${index},ou=groups,dc=example,dc=com`);
    const { session } = await signIn({ claims: { groups: [...many, 'staff'] } });
    assert.equal((await who(session)).body.role, 'operator');
    const { message } = await signIn({ claims: { groups: many } });
    assert.match(message, /"cn=group-4,ou=groups,dc=example,dc=com" and 4995 more\. An administrator/);
    assert.ok(message.length < 1000);
  });

  test('may say the rest when it is asked about the person', async (t) => {
    const { signIn, who, provider } = await open(t);
    const claims = { groups: undefined, preferred_username: undefined };
    const userInfo = { groups: ['staff'], preferred_username: 'ann-of-info' };
    const { session } = await signIn({ claims, userInfo });
    assert.equal((await who(session)).body.name, 'oidc:ann-of-info');
    assert.ok(provider.asked.includes('/user'));
    const other = await signIn({ claims, userInfo: { ...userInfo, sub: 'id-of-bob' } });
    assert.equal(other.code, 'sign_in_refused', 'about another one');
  });
});

/** A lie, and what is said about it. */
const LIES: Readonly<Record<string, readonly [Lies, RegExp]>> = {
  'in a token of another issuer': [{ claims: { iss: 'https://evil.example' } }, /"iss" \(issuer\)/],
  'in a token for another client': [{ claims: { aud: 'another' } }, /"aud" \(audience\)/],
  'in a token for several clients': [{ claims: { aud: [CLIENT.id, 'another'] } }, /"a(?:ud|zp)"/],
  'in a token of another attempt': [{ claims: { nonce: 'another' } }, /"nonce"/],
  'in a token of no attempt': [{ claims: { nonce: undefined } }, /"nonce"/],
  'in a token that has expired': [{ claims: { exp: now() - HOUR } }, /"exp"/],
  'in a token that never expires': [{ claims: { exp: undefined } }, /"exp"/],
  'in a token of the future': [{ claims: { nbf: now() + HOUR } }, /"nbf"/],
  'in a token about nobody': [{ claims: { sub: undefined } }, /"sub"/],
  'without a signature': [{ signed: 'none' }, /alg/],
  'with its public key as the secret of a signature': [{ signed: 'public' }, /alg/],
  'with a signature by another key': [{ signed: 'other' }, /signature/],
  'with the name of another key': [{ header: { kid: 'another' } }, /no applicable keys/],
  'without a token': [{ answers: { '/token': sendJson(TOKEN) } }, /id_token/],
};

function sendJson(value: unknown) {
  return (response: ServerResponse) =>
    void response.setHeader('content-type', 'application/json').end(JSON.stringify(value));
}

describe('nobody is signed in by a provider that lies', () => {
  for (const [how, [lies, expected]] of Object.entries(LIES)) {
    test(how, async (t) => {
      const { app, signIn } = await open(t);
      const { answer, code, message } = await signIn(lies);
      assert.deepEqual([answer.status, code], [403, 'sign_in_refused']);
      assert.match(message, /^What the provider sent is not valid: /);
      assert.match(message, expected);
      assert.equal(answer.headers.get('set-cookie'), null);
      const [event, ...others] = await readEvents(app.store);
      assert.ok(event?.kind === 'sign_in_failed' && others.length === 0);
      assert.deepEqual([event.account, event.reason], ['oidc:?', message]);
      const now = await signIn({});
      assert.equal(now.answer.status, 200, 'the truth works as before');
    });
  }

  test('about what it is called', async (t) => {
    const { app, begin, provider } = await open(t);
    provider.lie({ metadata: { issuer: 'http://127.0.0.1:1' } });
    const { body } = (await begin()).answer;
    assert.equal(body.code, 'sign_in_unavailable');
    assert.deepEqual(await readEvents(app.store), []);
  });

  test('in the name of another provider', async (t) => {
    const { signIn, provider } = await open(t);
    for (const iss of ['https://other.example', `${provider.issuer}/`, null]) {
      const { code, message } = await signIn({}, (query) =>
        iss === null ? query.delete('iss') : query.set('iss', iss),
      );
      assert.equal(code, 'sign_in_refused');
      assert.match(message, /"iss" \(issuer\)/);
    }
    assert.ok(!provider.asked.includes('/token'), 'the code was sent to nobody');
  });

  test('with the answer to another attempt', async (t) => {
    const { signIn, provider } = await open(t);
    for (const state of ['another', '']) {
      const { code, message } = await signIn({}, (query) => query.set('state', state));
      assert.equal(code, 'sign_in_refused');
      assert.match(message, /"state"/);
    }
    assert.equal((await signIn({}, (query) => query.append('state', 'b'))).code, 'sign_in_refused');
    assert.equal((await signIn({}, (query) => query.append('code', 'b'))).code, 'sign_in_refused');
    assert.ok(!provider.asked.includes('/token'));
  });
});

/** Whatever it sends, it is told of in a sentence. */
const NONSENSE: Readonly<Record<string, Lies>> = {
  'a number as an address': { metadata: { token_endpoint: 5 } },
  'an address that is none': { metadata: { token_endpoint: 'nowhere' } },
  'an address of another kind': { metadata: { authorization_endpoint: 'javascript:alert(1)' } },
  'no address for codes': { metadata: { token_endpoint: undefined } },
  'no address for keys': { metadata: { jwks_uri: undefined } },
  'no keys': { answers: { '/keys': sendJson({}) } },
  'keys that are none': {
    answers: { '/keys': sendJson({ keys: [1, null, {}, { kty: 'RSA', kid: 'first' }] }) },
  },
  'a description that is a list': { answers: { [WELL_KNOWN]: sendJson([]) } },
  'a description that is nothing': { answers: { [WELL_KNOWN]: sendJson(null) } },
  'a description without a name': { metadata: { issuer: undefined } },
  'a description with another status': {
    answers: { [WELL_KNOWN]: (response) => void response.writeHead(204).end() },
  },
  'a text instead of a token': { answers: { '/token': (response) => void response.end('hello') } },
  'an error of the server': { answers: { '/token': (response) => void response.writeHead(500).end() } },
  'a token that is none': { answers: { '/token': sendJson({ ...TOKEN, id_token: 'a.b.c' }) } },
  'a token that is a number': { answers: { '/token': sendJson({ ...TOKEN, id_token: 5 }) } },
  'a token in five parts': { answers: { '/token': sendJson({ ...TOKEN, id_token: 'a.b.c.d.e' }) } },
  'a person who is a list': { claims: { groups: undefined }, answers: { '/user': sendJson([]) } },
  'a person who is nobody': { claims: { groups: undefined }, answers: { '/user': sendJson({}) } },
  'a status that does not exist': { answers: { '/token': (response) => void response.writeHead(999).end() } },
};

describe('a provider that sends nonsense is told of', () => {
  for (const [what, lies] of Object.entries(NONSENSE)) {
    test(what, async (t) => {
      const { begin, finish, provider } = await open(t);
      provider.lie(lies);
      const { answer, url, state, cookie } = await begin();
      provider.meet(url || 'http://x/');
      const { body } =
        answer.status === 200
          ? (await finish(cookie, `code=x&state=${state}&iss=${provider.issuer}`)).answer
          : answer;
      assert.match(String(body.code), /^sign_in_(?:refused|unavailable)$/, JSON.stringify(body));
      assert.match(String(body.message), /^(?:The|What the) provider .*\.$/);
    });
  }
});

describe('groups', () => {
  for (const [what, groups, expected] of [
    ['a text', 'staff', 'operator'],
    ['texts among other things', [null, 1, { staff: true }, ['staff'], 'staff'], 'operator'],
    ['a number', 1, /sends no claim "groups"/],
    ['an object', { staff: true }, /sends no claim "groups"/],
    ['null', null, /sends no claim "groups"/],
    ['nothing', [], /Their groups are: none/],
    ['lists of lists', [['staff']], /Their groups are: none/],
    ['texts that only contain it', ['staff,it', 'Staff', ' staff', 'staff '], /has no role here/],
  ] as const) {
    test(`that are ${what} give ${typeof expected === 'string' ? 'a role' : 'none'}`, async (t) => {
      const { signIn, who } = await open(t);
      const { session, message } = await signIn({ claims: { groups }, userInfo: { groups: undefined } });
      if (typeof expected === 'string') assert.equal((await who(session)).body.role, expected);
      else assert.match(message, expected);
    });
  }
});

describe('names', () => {
  for (const [what, preferred_username, expected] of [
    ['is missing', undefined, 'oidc:id-of-ann'],
    ['is no text', 42, 'oidc:id-of-ann'],
    ['is empty', '', 'oidc:id-of-ann'],
    ['is too long', 'x'.repeat(256), 'oidc:id-of-ann'],
    ['hides something', 'ann\u202Enimda', 'oidc:id-of-ann'],
    ['has several lines', 'ann\nadmin', 'oidc:id-of-ann'],
    ['imitates an account', 'admin', 'oidc:admin'],
    ['imitates markup', '<b>ann</b>', 'oidc:<b>ann</b>'],
  ] as const) {
    test(`if the name ${what}, the person is ${expected}`, async (t) => {
      const { signIn, who } = await open(t);
      const { session } = await signIn({ claims: { preferred_username } });
      assert.equal((await who(session)).body.name, expected);
    });
  }

  test('an id is recorded so that it can be read', async (t) => {
    const { app, signIn } = await open(t);
    await signIn({ claims: { sub: `a\u202Eb${'x'.repeat(100_000)}` } });
    const [event] = await readEvents(app.store);
    assert.ok(event?.kind === 'signed_in' && event.account === 'oidc:ann');
    assert.match(event.subject ?? '', /^a\\u\{202e\}bx{245}$/);
  });

  test('nobody is signed in whose id cannot be read either', async (t) => {
    const { signIn } = await open(t);
    const { message } = await signIn({ claims: { preferred_username: '', sub: 'a\u202Eb' } });
    assert.match(message, /a name that cannot be read/);
  });
});

describe('a provider that is away', () => {
  const big = (response: ServerResponse) =>
    void response.setHeader('content-type', 'application/json').end(`{"x":"${'x'.repeat(1024 * 1024)}"}`);
  const away = (response: ServerResponse) => void response.writeHead(302, { location: '/elsewhere' }).end();

  for (const [how, answer, expected] of [
    ['is not there', (response: ServerResponse) => response.destroy(), /cannot be reached \(ECONNRESET\)/],
    ['sends too much', big, /sends too much/],
    ['sends us elsewhere', away, /does not answer as an OpenID provider does \(status 302\)/],
    ['is no provider', sendJson([]), /not|Nobody/],
  ] as const) {
    test(`because it ${how} is told of, and nobody else waits`, async (t) => {
      const { app, begin, provider } = await open(t);
      provider.lie({ answers: { [WELL_KNOWN]: answer as (response: ServerResponse) => void } });
      const [{ answer: told }, health] = await Promise.all([begin(), app.get('/api/v4/health')]);
      assert.deepEqual([told.status, told.body.code, health.status], [503, 'sign_in_unavailable', 200]);
      assert.match(String(told.body.message), expected);
      assert.match(String(told.body.message), /or sign in with an account of this server\.$/);
    });
  }

  for (const path of ['/token', '/keys', '/user']) {
    test(`when it is asked for ${path} leaves the attempt as it is`, async (t) => {
      const { app, signIn } = await open(t);
      const claims = { groups: undefined };
      const { code } = await signIn({ claims, answers: { [path]: (response) => void response.destroy() } });
      assert.equal(code, 'sign_in_unavailable');
      assert.deepEqual(await readEvents(app.store), []);
    });
  }

  for (const path of [WELL_KNOWN, '/token', '/keys', '/user']) {
    test(`because it never answers at ${path} does not keep anybody waiting for long`, async (t) => {
      const hostile = await openHostileProvider(t, CLIENT.id);
      const { issuer } = hostile;
      const claims = { nameClaim: 'preferred_username', groupsClaim: 'groups' };
      const client = { clientId: CLIENT.id, clientSecret: CLIENT.secret, scopes: ['openid'], ca: null };
      const bounds = { timeoutSeconds: 0.3, readMonotonicMs: () => 0, readWall: () => 0 };
      const provider = createOpenIdProvider({ issuer, ...client, ...claims, ...bounds });
      const secrets = { state: 'state', nonce: 'nonce', verifier: 'v'.repeat(43) };
      hostile.meet('http://x/?nonce=nonce');
      hostile.lie({ claims: { groups: undefined }, answers: { [path]: () => {} } });
      const query = `code=x&state=state&iss=${issuer}`;
      await assert.rejects(provider.finish(secrets, PAGE, query), {
        kind: 'unavailable',
        message: 'The provider does not answer in time.',
      });
    });
  }

  test('is asked once by all who want to sign in at the same time', async (t) => {
    const { begin, provider } = await open(t);
    await Promise.all([begin(), begin(), begin()]);
    await begin();
    assert.deepEqual(provider.asked, [WELL_KNOWN]);
  });
});

test('words of the provider are quoted, and bounded', async (t) => {
  const { signIn } = await open(t);
  const { code, message } = await signIn({}, (query) => {
    query.delete('code');
    query.set('error', 'access_denied');
    query.set('error_description', `<img src=x>" or\u202E${'x'.repeat(5000)}`);
  });
  assert.equal(code, 'sign_in_refused');
  assert.match(message, /it says "access_denied: <img src=x>' or\\u\{202e\}x+…"\.$/);
  assert.ok(message.length < 250);
});

describe('a provider with a certificate of the company', () => {
  const valid = {
    notBefore: new Date(Date.now() - HOUR * 1000),
    notAfter: new Date(Date.now() + HOUR * 1000),
  };

  test('is asked if the file of its authority is known', async (t) => {
    const certificate = makeCertificate({ names: ['127.0.0.1'], ...valid });
    const provider = await openHostileProvider(t, CLIENT.id, certificate);
    const file = join(temporaryFolder(t), 'ca.pem');
    writeFileSync(file, certificate.cert);
    const { begin, finish } = await openSignInSite(t, provider.issuer, { CA_FILE: file, VIEWERS: 'staff' });
    const { url, state, cookie } = await begin();
    provider.meet(url);
    const { answer } = await finish(cookie, `code=x&state=${state}&iss=${provider.issuer}`);
    assert.equal(answer.status, 200);
    const unknown = await openSignInSite(t, provider.issuer);
    const { body } = (await unknown.begin()).answer;
    assert.match(String(body.message), /cannot be reached \((?:DEPTH_ZERO_)?SELF_SIGNED_CERT\)/);
  });

  test('is not asked if the certificate is for another one', async (t) => {
    const certificate = makeCertificate({ names: ['login.example'], ...valid });
    const provider = await openHostileProvider(t, CLIENT.id, certificate);
    const file = join(temporaryFolder(t), 'ca.pem');
    writeFileSync(file, certificate.cert);
    const { begin } = await openSignInSite(t, provider.issuer, { CA_FILE: file });
    const { body } = (await begin()).answer;
    assert.match(String(body.message), /cannot be reached \(ERR_TLS_CERT_ALTNAME_INVALID\)/);
    assert.deepEqual(provider.asked, []);
  });
});

for (const [what, settings, expected] of [
  ['without an id', { CLIENT_ID: '' }, /"auth\.oidc\.issuer" needs "auth\.oidc\.clientId"/],
  ['without the scope openid', { SCOPES: 'profile' }, /"auth\.oidc\.scopes" must contain "openid"/],
  ['with a file that is not there', { CA_FILE: '/no/such/file' }, /"auth\.oidc\.caFile" cannot be read/],
  [
    'with a file that is no certificate',
    { CA_FILE: import.meta.filename },
    /"auth\.oidc\.caFile" has no certificate/,
  ],
] as const) {
  test(`a provider ${what} is refused at the start`, async (t) => {
    await assert.rejects(openSignInSite(t, 'https://login.example', settings), expected);
  });
}
