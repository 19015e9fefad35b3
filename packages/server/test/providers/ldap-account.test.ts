import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { describe, type TestContext, test } from 'node:test';
import { Client } from 'ldapts';
import { READER, ROOT, startSlapd } from '../../../../test/support/slapd.ts';
import { FOREIGN, openTestApp, readEvents, START } from '../../../../test/support/test-app.ts';
import { HOUR_MS } from '../../src/core/nouns/instant.ts';
import { findAbsence } from '../../src/providers/ldap-account.ts';

/** In hundreds of nanoseconds since 1601, as Active Directory writes it. */
const fileTime = (ms: number) => String((BigInt(ms) + 11_644_473_600_000n) * 10_000n);

const NEVER = '9223372036854775807';
const GROUP = 'cn=team,ou=groups,dc=example';
const ACCOUNTS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  amy: { userAccountControl: '512', accountExpires: '0' },
  dan: { userAccountControl: '514', accountExpires: NEVER },
  eli: { userAccountControl: '512', accountExpires: fileTime(START) },
  liz: { userAccountControl: '66048', accountExpires: fileTime(START + HOUR_MS) },
};

async function open(t: TestContext) {
  const slapd = await startSlapd(t);
  if (slapd === null) return null;
  const root = new Client({ url: slapd.secure, tlsOptions: { ca: readFileSync(slapd.certFile) } });
  await root.bind(ROOT.dn, ROOT.password);
  const dnOf = (uid: string) => `uid=${uid},ou=people,dc=example`;
  for (const [uid, account] of Object.entries(ACCOUNTS)) {
    const person = { uid, cn: uid, sn: uid, userPassword: `password of ${uid}`, ...account };
    await root.add(dnOf(uid), { objectClass: ['inetOrgPerson', 'adAccount'], ...person });
  }
  const member = Object.keys(ACCOUNTS).map(dnOf);
  await root.add(GROUP, { objectClass: 'groupOfNames', cn: 'team', member });
  const gone = { objectClass: 'groupOfNames', cn: 'gone', member: [dnOf('dan'), dnOf('eli')] };
  await root.add('cn=gone,ou=groups,dc=example', gone);
  await root.unbind();
  const watched = await watch(t, slapd.plain);
  const settings = {
    URL: watched.url,
    START_TLS: 'false',
    BIND_DN: READER.dn,
    BIND_PASSWORD: READER.password,
    BASE: 'ou=people,dc=example',
    GROUP_BASE: 'ou=groups,dc=example',
    VIEWERS: GROUP,
  };
  const named = Object.entries(settings).map(([name, value]) => [`BERTH_AUTH_LDAP_${name}`, value]);
  const app = await openTestApp(t, { licenses: [], env: Object.fromEntries(named) });
  const signIn = (name: string, password = `password of ${name}`) =>
    app.post('/api/admin/session/start', { name, password }, { peer: FOREIGN });
  return { app, signIn, watched };
}

/** A way to the directory on which all that the server says is seen. */
async function watch(t: TestContext, to: string) {
  const said: Buffer[] = [];
  const server = createServer((socket) => {
    const there = connect({ host: '127.0.0.1', port: Number(new URL(to).port) });
    socket.on('data', (bytes: Buffer) => void said.push(bytes));
    socket.pipe(there).pipe(socket);
    for (const end of [socket, there]) end.on('error', () => {});
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const address = server.address() as { readonly port: number };
  return {
    url: `ldap://127.0.0.1:${address.port}`,
    read: () => Buffer.concat(said.splice(0)).toString('latin1'),
  };
}

describe('an account that the directory has disabled, or that has expired', () => {
  test('signs nobody in, and only the logs say why', async (t) => {
    const site = await open(t);
    if (site === null) return t.skip('optional: needs slapd');
    const { app, signIn, watched } = site;
    for (const name of ['amy', 'liz']) assert.equal((await signIn(name)).status, 200, name);
    watched.read();
    const wrong = await signIn('amy', 'a wrong password');
    assert.doesNotMatch(watched.read(), /ou=groups/, 'the password is checked before groups are searched');
    for (const name of ['dan', 'eli']) {
      const { status, text } = await signIn(name);
      assert.deepEqual([status, text], [401, wrong.text], name);
      assert.doesNotMatch(watched.read(), /ou=groups/);
    }
    app.clock.advance(HOUR_MS);
    assert.equal((await signIn('liz')).status, 401);
    const failed = (await readEvents(app.store)).flatMap((event) =>
      event.kind === 'sign_in_failed' ? [[event.account, event.reason]] : [],
    );
    assert.deepEqual(failed, [
      ['amy', undefined],
      ['dan', 'The account is disabled in the directory.'],
      ['eli', 'The account has expired in the directory.'],
      ['liz', 'The account has expired in the directory.'],
    ]);
    const refused = app.log.map(({ msg }) => String(msg)).filter((line) => /sign-in was refused/.test(line));
    assert.deepEqual(
      refused.map((line) => line.replace(/.*account /, '')),
      ['is disabled', 'has expired', 'has expired'].map((why) => `${why} in the directory`),
    );
  });

  test('gets no slot as a member of a group', async (t) => {
    const site = await open(t);
    if (site === null) return t.skip('optional: needs slapd');
    const { app } = site;
    const apply = async (dn: string) => {
      const text = `groups: { cad: { directory: "${dn}" } }\nproducts: { cad: { allow: [cad] } }`;
      assert.equal((await app.post('/api/admin/rules/apply', { text })).status, 200);
    };
    const read = async () => (await app.get('/api/admin/rules/members?group=cad')).body.members;
    await apply('cn=gone,ou=groups,dc=example');
    assert.deepEqual(await read(), [], 'the directory shows them, so it is known that nobody is left');
    await apply(GROUP);
    assert.deepEqual(await read(), ['amy', 'liz']);
    app.clock.advance(HOUR_MS);
    await app.ruleBook.refreshGroups();
    assert.deepEqual(await read(), ['amy']);
    const changed = (await readEvents(app.store)).at(-1);
    assert.deepEqual(changed?.kind === 'group_changed' && changed.left, ['liz']);
  });
});

for (const [what, values, expected] of [
  ['nothing', {}, null],
  ['an account in use', { useraccountcontrol: ['512'], accountexpires: ['0'] }, null],
  ['one that never expires', { accountexpires: [NEVER] }, null],
  ['a disabled one', { useraccountcontrol: ['66050'] }, 'is disabled'],
  ['a disabled one with the highest bit', { useraccountcontrol: ['-2147483646'] }, 'is disabled'],
  ['one that ends now', { accountexpires: [fileTime(START)] }, 'has expired'],
  ['one that ends in a moment', { accountexpires: [fileTime(START + 1)] }, null],
  ['empty lists', { useraccountcontrol: [], accountexpires: [] }, null],
  ['what is no number', { useraccountcontrol: ['x'], accountexpires: ['20300115120000Z'] }, null],
] as const) {
  test(`an entry with ${what}: ${expected ?? 'counts'}`, () => {
    assert.equal(findAbsence(values, START), expected);
  });
}
