import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { describe, test } from 'node:test';
import type { GetAnswer } from '@berth/protocol/admin/admin-api';
import { Attribute, Change, Client } from 'ldapts';
import { READER, ROOT, startSlapd } from '../../../../test/support/slapd.ts';
import { openTestApp, readEvents, START } from '../../../../test/support/test-app.ts';
import { MINUTE_MS } from '../../src/core/nouns/instant.ts';
import { createLdapDirectory } from '../../src/providers/ldap-directory.ts';

type Slapd = NonNullable<Awaited<ReturnType<typeof startSlapd>>>;
type Listed = GetAnswer<'/api/admin/rules'>['directory_groups'][number];
type Finding = GetAnswer<'/api/admin/doctor'>['findings'][number];

/** Changes the directory. */
async function change({ secure, certFile }: Slapd, work: (client: Client) => Promise<void>) {
  const client = new Client({ url: secure, tlsOptions: { ca: readFileSync(certFile) } });
  await client.bind(ROOT.dn, ROOT.password);
  await work(client);
  await client.unbind();
}

describe('groups of the directory in rules', () => {
  const textFor = (dn: string) =>
    `groups: { cad: { directory: "${dn}" } }\nproducts: { cad: { allow: [cad] } }`;
  const GROUP = 'cn=all,ou=groups,dc=example';
  const person = (rdn: string) => `${rdn},ou=people,dc=example`;

  test('are applied, refreshed, and kept while it is away', async (t) => {
    const slapd = await startSlapd(t);
    if (slapd === null) return t.skip('optional: needs slapd');
    const settings = {
      URL: slapd.plain,
      CA_FILE: slapd.certFile,
      BIND_DN: READER.dn,
      BIND_PASSWORD: READER.password,
      BASE: 'ou=people,dc=example',
    };
    const named = Object.entries(settings).map(([name, value]) => [`BERTH_AUTH_LDAP_${name}`, value]);
    const app = await openTestApp(t, { licenses: [], env: Object.fromEntries(named) });
    const hidden = { objectClass: 'inetOrgPerson', cn: 'x', sn: 'x', uid: 'an\u200bn' };
    const jane = { objectClass: 'inetOrgPerson', cn: 'Doe, Jane', sn: 'Doe', uid: ['jane', 'ANN'] };
    await change(slapd, async (root) => {
      await root.add(person('uid=an\u200bn'), hidden);
      await root.add(person('cn=Doe\\, Jane'), jane);
      const people = ['uid=an\u200bn', 'cn=Doe\\, Jane', 'uid=o*(dd)', 'uid=gone'].map(person);
      const member = [...people, 'cn=Staff,ou=groups,dc=example', GROUP];
      await root.add(GROUP, { objectClass: 'groupOfNames', cn: 'all', member });
    });
    const apply = async (dn: string) =>
      (await app.post('/api/admin/rules/apply', { text: textFor(dn) })).body;
    const referred = { objectClass: 'groupOfNames', cn: 'far', member: 'ou=elsewhere,ou=people,dc=example' };
    await change(slapd, (root) => root.add('cn=far,ou=groups,dc=example', referred));
    const far = await apply('cn=far,ou=groups,dc=example');
    assert.match(String(far.message), /refuses to show "ou=elsewhere.*" \(LDAP error 10\)/);
    const gone = await apply('cn=nowhere,dc=example');
    assert.deepEqual([gone.code, gone.status], ['directory_unavailable', 503]);
    assert.match(String(gone.message), /The directory has no group with this name/);
    assert.equal((await apply(GROUP)).revision, 1);
    const read = async () => {
      const [group] = (await app.get('/api/admin/rules')).body.directory_groups as [Listed];
      const { members } = (await app.get('/api/admin/rules/members?group=cad')).body;
      assert.equal(group.members, (members as string[]).length);
      return { ...group, members };
    };
    const told = await read();
    assert.deepEqual([told.members, told.problem], [['ann', 'bob', 'jane', 'o*(dd)'], null]);

    const staff = { type: 'member', values: ['uid=bob,ou=people,dc=example'] };
    await change(slapd, (root) =>
      root.modify(
        'cn=Staff,ou=groups,dc=example',
        new Change({ operation: 'delete', modification: new Attribute(staff) }),
      ),
    );
    const pass = () => {
      app.clock.advance(10 * MINUTE_MS);
      return app.ruleBook.refreshGroups();
    };
    assert.equal((await pass()).revision, 2);
    assert.deepEqual((await read()).members, ['ann', 'jane', 'o*(dd)']);
    const event = (await readEvents(app.store)).at(-1);
    assert.deepEqual(event?.kind === 'group_changed' && [event.left, event.by], [['bob'], 'directory']);

    await change(slapd, (root) => root.del(GROUP));
    assert.match((await pass()).problems.join(), /has no group with this name/);
    await slapd.stop();
    assert.match((await pass()).problems.join(), /cannot be asked \(ECONNREFUSED\)/);
    const { members, problem } = await read();
    assert.deepEqual(members, ['ann', 'jane', 'o*(dd)']);
    assert.match(String(problem), /ECONNREFUSED/);
    const { findings } = (await app.get('/api/admin/doctor')).body;
    const [finding] = (findings as Finding[]).filter(({ check }) => check === 'rules');
    assert.match(finding?.text ?? '', /The members of "cad" are 20 minutes old/);
  });

  test('that are too large are not kept in memory', async (t) => {
    const flood = createServer((socket) => {
      // A message of two gigabytes.
      socket.write(Buffer.from([0x30, 0x84, 0x7f, 0xff, 0xff, 0xff]));
      const more = () => void (socket.write(Buffer.alloc(1 << 20)) && setImmediate(more));
      socket.on('drain', more).on('error', () => {});
      more();
    });
    await new Promise<void>((resolve) => flood.listen(0, '127.0.0.1', resolve));
    t.after(() => flood.close());
    const directory = createLdapDirectory({
      url: `ldap://127.0.0.1:${(flood.address() as AddressInfo).port}`,
      ...{ startTls: false, ca: null, bindDn: '', bindPassword: '', timeoutMs: 1e6, readWall: () => START },
      note: () => {},
      ...{ base: 'dc=a', filter: '(uid={name})', nameAttribute: 'uid', groupsAttribute: 'memberOf' },
      ...{ groupBase: '', groupFilter: '(member={dn})' },
    });
    await assert.rejects(directory.listMembers(['cn=a']), { message: 'The directory sends too much.' });
  });
});
