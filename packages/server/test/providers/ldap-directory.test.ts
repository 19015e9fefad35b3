import assert from 'node:assert/strict';
import type { AddressInfo } from 'node:net';
import { connect, createServer, type Socket } from 'node:net';
import { after, before, describe, type TestContext, test } from 'node:test';
import { pollUntil } from '../../../../test/support/poll.ts';
import { READER, startSlapd } from '../../../../test/support/slapd.ts';
import { FOREIGN, openTestApp, readEvents, START } from '../../../../test/support/test-app.ts';
import { SESSION_LIFETIME_MS } from '../../src/core/access/token.ts';
import { createLdapDirectory } from '../../src/providers/ldap-directory.ts';

type Slapd = NonNullable<Awaited<ReturnType<typeof startSlapd>>>;
type Settings = Readonly<Record<string, string>>;

const STAFF = 'CN=staff, ou=Groups, dc=example';

async function openSite(t: TestContext, { plain, certFile }: Slapd, settings: Settings = {}) {
  const all = {
    URL: plain,
    CA_FILE: certFile,
    BIND_DN: READER.dn,
    BIND_PASSWORD: READER.password,
    BASE: 'ou=people,dc=example',
    ADMINS: 'cn=berth-admins,ou=groups,dc=example;cn=others,ou=groups,dc=example',
    VIEWERS: STAFF,
    GROUP_BASE: 'ou=groups,dc=example',
    ...settings,
  };
  const named = Object.entries(all).map(([name, value]) => [`BERTH_AUTH_LDAP_${name}`, value]);
  const app = await openTestApp(t, { licenses: [], env: Object.fromEntries(named) });
  const signIn = async (name: string, password = `password of ${name}`) => {
    const answer = await app.post('/api/admin/session/start', { name, password }, { peer: FOREIGN });
    const cookie = answer.headers.get('set-cookie')?.split(';')[0] ?? '';
    const who = (await app.get('/api/admin/session', { peer: FOREIGN, headers: { cookie } })).body;
    return { answer, ...answer.body, who } as const;
  };
  const auth = (name: string, password: string) => {
    const authorization = `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`;
    return app.get('/auth', { peer: FOREIGN, headers: { authorization } });
  };
  return { app, signIn, auth };
}

/** One for all tests: nobody changes it. */
let slapd: Slapd | null = null;
/** What `before` registers with `after` may end with `before`. */
const ends: (() => unknown)[] = [];

before(async () => {
  slapd = await startSlapd({ after: (end) => void ends.unshift(end) });
});
after(async () => {
  for (const end of ends) await end();
});

/** A test with the directory; skipped where there is none. */
function testWith(title: string, work: (t: TestContext, slapd: Slapd) => Promise<void>) {
  test(title, async (t) => {
    if (slapd === null) return t.skip('optional: needs slapd');
    await work(t, slapd);
  });
}

describe('a person in the directory', () => {
  testWith('signs in to the page with the role of their groups, over StartTLS', async (t, slapd) => {
    const { app, signIn } = await openSite(t, slapd);
    const { answer, who } = await signIn('ann');
    assert.deepEqual([answer.status, answer.body.name], [200, 'ldap:ann']);
    assert.deepEqual([who.name, who.role], ['ldap:ann', 'admin']);
    assert.equal((await signIn('bob')).who.role, 'viewer');
    assert.equal((await signIn('ANN', 'password of ann')).who.name, 'ldap:ann', 'by one name only');
    assert.deepEqual(await app.accounts.list(), []);
    const [event] = await readEvents(app.store);
    assert.deepEqual(event, {
      kind: 'signed_in',
      account: 'ldap:ann',
      role: 'admin',
      subject: 'uid=ann,ou=people,dc=example',
      by: 'ldap:ann',
      origin: FOREIGN.address,
    });
  });

  testWith('signs in over TLS', async (t, slapd) => {
    const { signIn } = await openSite(t, slapd, { URL: slapd.secure });
    assert.equal((await signIn('bob')).who.name, 'ldap:bob');
  });

  testWith('gets a token from /auth that ends with the day', async (t, slapd) => {
    const { app, auth } = await openSite(t, slapd);
    const { token } = (await auth('bob', 'password of bob')).body;
    const headers = { authorization: `Bearer ${token}` };
    const use = async () => (await app.get('/api/admin/status', { peer: FOREIGN, headers })).status;
    assert.equal(await use(), 200);
    app.clock.advance(SESSION_LIFETIME_MS - 1);
    assert.equal(await use(), 200);
    app.clock.advance(1);
    assert.equal(await use(), 401);
  });

  testWith('has a name and groups in whatever case their attributes are written', async (t, slapd) => {
    const settings = { NAME_ATTRIBUTE: 'UID', GROUPS_ATTRIBUTE: 'SN', GROUP_BASE: '', ADMINS: 'ann' };
    const { signIn } = await openSite(t, slapd, settings);
    const { who } = await signIn('ANN', 'password of ann');
    assert.deepEqual([who.name, who.role], ['ldap:ann', 'admin']);
  });

  testWith('is called by their whole name if they have no other, whatever they typed', async (t, slapd) => {
    const { signIn } = await openSite(t, slapd, { NAME_ATTRIBUTE: 'telephoneNumber' });
    assert.equal((await signIn('ANN', 'password of ann')).who.name, 'ldap:uid=ann,ou=people,dc=example');
  });

  testWith('is refused without a group that has a role, and recorded', async (t, slapd) => {
    const { app, signIn } = await openSite(t, slapd);
    const { answer } = await signIn('eve');
    assert.deepEqual([answer.status, answer.body.code], [403, 'sign_in_refused']);
    assert.match(String(answer.body.message), /"eve" has no role .* are: none\. .*"auth\.ldap\.admins"/);
    const [event] = await readEvents(app.store);
    assert.ok(event?.kind === 'sign_in_failed' && event.account === 'ldap:eve');
    assert.equal(event.reason, answer.body.message);
  });

  testWith('cannot take the place of an account with the same name', async (t, slapd) => {
    const { app, signIn } = await openSite(t, slapd);
    const password = 'a password of my own';
    await app.accounts.add({ name: 'ann', role: 'viewer', password }, 'test');
    assert.equal((await signIn('ann')).answer.status, 401);
    const { who } = await signIn('ann', password);
    assert.deepEqual([who.name, who.role], ['ann', 'viewer']);
  });
});

describe('the directory lets nobody in', () => {
  testWith('with a wrong password, without one, or under a name that nobody has', async (t, slapd) => {
    const { app, signIn, auth } = await openSite(t, slapd);
    const wrong = await signIn('ann', 'password of bob');
    const nobody = await signIn('nobody');
    assert.deepEqual([wrong.answer.status, wrong.answer.text], [401, nobody.answer.text]);
    assert.equal((await auth('ann', '')).status, 401, 'which a directory would accept');
    assert.equal((await auth('ann', ' ')).status, 401);
    assert.deepEqual(
      (await readEvents(app.store)).map(({ kind }) => kind),
      Array.from({ length: 4 }, () => 'sign_in_failed'),
    );
  });

  for (const name of [
    '*',
    'a*',
    'ann)(uid=*',
    'ann)(|(uid=*)',
    '*)(uid=ann',
    'ann\\',
    'an\\6e',
    'ann)',
    '(ann',
    'ann\0',
  ]) {
    testWith(`under the name ${JSON.stringify(name)}, which is no filter`, async (t, slapd) => {
      const { auth } = await openSite(t, slapd);
      assert.equal((await auth(name, 'password of ann')).status, 401);
    });
  }

  testWith('but whoever has such a name', async (t, slapd) => {
    const { signIn } = await openSite(t, slapd);
    assert.equal((await signIn('o*(dd)')).who.name, 'ldap:o*(dd)');
  });

  testWith('under a name that two people have', async (t, slapd) => {
    const { signIn } = await openSite(t, slapd, { FILTER: '(mail={name})' });
    assert.equal((await signIn('twice@example.com', 'password of ann')).answer.status, 401);
  });

  test('whom another server knows: referrals are not followed', async (t) => {
    const visits: Socket[] = [];
    const other = createServer((socket) => void visits.push(socket));
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    t.after(() => {
      for (const socket of visits) socket.destroy();
      other.close();
    });
    const elsewhere = `ldap://127.0.0.1:${(other.address() as AddressInfo).port}/ou=people,dc=example`;
    const slapd = await startSlapd(t, elsewhere);
    if (slapd === null) return t.skip('optional: needs slapd');
    const { signIn } = await openSite(t, slapd);
    assert.equal((await signIn('zoe')).answer.status, 401);
    const inside = await openSite(t, slapd, { BASE: 'ou=elsewhere,ou=people,dc=example' });
    assert.equal((await inside.signIn('ann')).answer.body.code, 'sign_in_unavailable');
    assert.deepEqual(visits, []);
  });
});

describe('a directory that cannot be asked', () => {
  for (const [how, settings, expected] of [
    ['because its certificate is unknown', { CA_FILE: '' }, /SELF_SIGNED_CERT/],
    ['because its certificate is for another name', { URL: 'HOST' }, /ERR_TLS_CERT_ALTNAME_INVALID/],
    [
      'because the reader has another password',
      { BIND_PASSWORD: 'x' },
      /does not accept "auth\.ldap\.bindDn"/,
    ],
    ['because there is no such place', { BASE: 'dc=nowhere' }, /it says LDAP error 32/],
    ['because its filter is none', { FILTER: '(uid {name})' }, /"auth\.ldap\.filter" is not an LDAP filter/],
    [
      'because its filter of groups is none',
      { GROUP_FILTER: '(member {dn})' },
      /"auth\.ldap\.groupFilter" is/,
    ],
    ['because nobody is there', { URL: 'ldap://127.0.0.1:1' }, /cannot be asked \(ECONNREFUSED\)/],
  ] as const) {
    testWith(`${how} is told of`, async (t, slapd) => {
      const byOtherName = slapd.plain.replace('127.0.0.1', '127.0.0.2');
      const given = 'URL' in settings && settings.URL === 'HOST' ? { URL: byOtherName } : settings;
      if (given.URL === byOtherName) await forward(t, byOtherName, slapd.plain);
      const { app, signIn } = await openSite(t, slapd, given as Settings);
      const { answer } = await signIn('ann');
      assert.deepEqual([answer.status, answer.body.code], [503, 'sign_in_unavailable']);
      assert.match(String(answer.body.message), expected);
      await app.accounts.add({ name: 'ada', role: 'admin', password: 'a password of my own' }, 'test');
      assert.equal((await signIn('ada', 'a password of my own')).answer.status, 200, 'accounts sign in');
    });
  }

  test('because it never answers does not keep anybody waiting for long', async (t) => {
    const sockets: Socket[] = [];
    const silent = createServer((socket) => void sockets.push(socket.resume()));
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    t.after(() => {
      for (const socket of sockets) socket.destroy();
      silent.close();
    });
    const host = `127.0.0.1:${(silent.address() as AddressInfo).port}`;
    const people = {
      base: 'dc=a',
      filter: '(uid={name})',
      nameAttribute: 'uid',
      groupsAttribute: 'memberOf',
    };
    const groups = { groupBase: '', groupFilter: '(member={dn})' };
    const how = {
      startTls: true,
      ca: null,
      bindDn: '',
      bindPassword: '',
      timeoutMs: 200,
      readWall: () => START,
      note: () => {},
    };
    for (const url of [`ldap://${host}`, `ldaps://${host}`]) {
      const directory = createLdapDirectory({ url, ...people, ...groups, ...how });
      const expected = { kind: 'unavailable', message: `The directory ${host} does not answer in time.` };
      await assert.rejects(directory.find('ann', 'x'), expected);
      await assert.rejects(directory.probe(), expected);
    }
    const patient = createLdapDirectory({
      url: `ldap://${host}`,
      ...people,
      ...groups,
      ...how,
      timeoutMs: 1e6,
    });
    const nobodyWaits = { message: `The directory ${host} cannot be asked (no reason).` };
    await assert.rejects(patient.find('ann', 'x', AbortSignal.abort()), nobodyWaits);
    await assert.rejects(patient.find('ann', 'x', AbortSignal.timeout(50)), nobodyWaits);
    await pollUntil('the end of all connections', () => sockets.every((one) => one.closed) || undefined);
  });

  testWith('because it is cut off is told no password without TLS', async (t, slapd) => {
    const seen: Buffer[] = [];
    for (const answers of [1, 2, 3, 4, 5, 6, 7]) {
      const { url, count } = await cutAfter(t, slapd.plain, answers, seen);
      const { signIn } = await openSite(t, slapd, { URL: url });
      await signIn('ann');
      assert.equal(count(), 1, `a connection that was cut after ${answers} answers`);
    }
    assert.doesNotMatch(Buffer.concat(seen).toString('latin1'), /password of/);
  });
});

describe('somebody between the server and the directory', () => {
  testWith('who adds to the answer about TLS is not believed', async (t, slapd) => {
    const url = await pass(t, slapd.plain, (answer, n) =>
      n === 1 ? Buffer.concat([answer, FORGED]) : answer,
    );
    const { signIn } = await openSite(t, slapd, { URL: url });
    const { answer } = await signIn('ann');
    assert.deepEqual([answer.status, answer.body.code], [503, 'sign_in_unavailable']);
    assert.match(String(answer.body.message), /Something was sent without TLS/);
  });
});

for (const [status, codes] of [
  [401, [19, 32, 48, 49, 50, 53]],
  [503, [1, 8, 51, 52, 80]],
] as const) {
  testWith(`LDAP errors ${codes} for a right password are answered with ${status}`, async (t, slapd) => {
    for (const code of codes) {
      let binds = 0;
      const url = await pass(t, slapd.plain, (answer) => {
        const at = answer.indexOf(BOUND);
        if (at !== -1) binds += 1;
        if (at !== -1 && binds === 2) answer[at + BOUND.length - 1] = code;
        return answer;
      });
      const { signIn } = await openSite(t, slapd, { URL: url, START_TLS: 'false' });
      const { answer } = await signIn('ann');
      assert.deepEqual([answer.status, binds], [status, 2], `${code}: ${answer.text}`);
      if (status === 503) assert.match(String(answer.body.message), new RegExp(`LDAP error ${code}\\b`));
    }
  });
}

/** In an answer: "your bind has succeeded". */
const BOUND = Buffer.from('61070a0100', 'hex');

/** "Your bind has succeeded", with the 14 bytes of the real answer to it as its last text. */
const FORGED = Buffer.from('301a02010261150a01000400040e', 'hex');

/** Somebody in between, who changes answers: each is numbered, from 1. */
async function pass(t: TestContext, to: string, change: (answer: Buffer, n: number) => Buffer) {
  const server = createServer((socket) => {
    const there = connect({ host: '127.0.0.1', port: Number(new URL(to).port) });
    let n = 0;
    socket.pipe(there);
    there.on('data', (bytes: Buffer) => {
      n += 1;
      socket.write(change(bytes, n));
    });
    socket.on('close', () => there.destroy());
    for (const end of [socket, there]) end.on('error', () => {});
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  return `ldap://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Another address for the directory. */
async function forward(t: TestContext, from: string, to: string): Promise<void> {
  const server = createServer((socket) => {
    const there = connect({ host: new URL(to).hostname, port: Number(new URL(to).port) });
    socket.pipe(there).pipe(socket);
    for (const end of [socket, there]) end.on('error', () => {});
  });
  const { hostname, port } = new URL(from);
  await new Promise<void>((resolve) => server.listen(Number(port), hostname, resolve));
  t.after(() => server.close());
}

/** Somebody in between, who cuts connections after some answers of the directory. */
async function cutAfter(t: TestContext, to: string, answers: number, seen: Buffer[]) {
  let count = 0;
  const server = createServer((socket) => {
    count += 1;
    const there = connect({ host: '127.0.0.1', port: Number(new URL(to).port) });
    let passed = 0;
    socket.on('data', (bytes: Buffer) => {
      seen.push(bytes);
      there.write(bytes);
    });
    there.on('data', (bytes) => {
      passed += 1;
      if (passed < answers) socket.write(bytes);
      else socket.end(bytes);
    });
    socket.on('close', () => there.destroy());
    for (const end of [socket, there]) end.on('error', () => {});
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  return { url: `ldap://127.0.0.1:${(server.address() as AddressInfo).port}`, count: () => count };
}

test('a directory without a place for people is refused at the start', async (t) => {
  const env = { BERTH_AUTH_LDAP_URL: 'ldaps://dc.example' };
  await assert.rejects(openTestApp(t, { env }), /"auth\.ldap\.url" needs "auth\.ldap\.base"/);
});
