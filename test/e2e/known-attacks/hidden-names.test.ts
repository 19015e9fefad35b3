import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { parseRules } from '../../../packages/server/src/services/rules/parse-rules.ts';
import { openDataFolder } from '../../../packages/server/src/store/sqlite/data-folder.ts';
import { runBerth } from '../../support/berth-command.ts';
import { startServerHere } from '../../support/server-here.ts';
import { seedLicenses, temporaryFolder } from '../../support/server-process.ts';
import { FOREIGN, openTestApp } from '../../support/test-app.ts';
import { testLicense } from '../../support/test-license.ts';

/** Names that look like others, wherever they are given; `names.test.ts` has those of users. */

const HIDDEN = /[\p{Default_Ignorable_Code_Point}\p{Bidi_Control}]/u;
const JOINED = 'caf\u00e9 \u{1f469}\u200d\u{1f527}';

/** A place in the text of the rules, and what it contains. */
const RULES: Readonly<Record<string, string>> = {
  'a user in a group': 'groups: { cad: { users: ["ad\u200ba"] } }',
  'a host in a group': 'groups: { cad: { hosts: ["la\u202eb"] } }',
  'a pattern in deny': 'deny: { users: ["ext\u2060-*"] }',
  'a product': 'products: { "c\u200bad": { allow: [] } }',
  'a feature': 'products: { cad: { features: { "ren\u202eder": { allow: [] } } } }',
  'a time': 'times: { "ni\u00adght": { from: "18:00", zone: UTC } }',
  'a group of the directory': 'groups: { cad: { directory: "cn=c\u202ead,dc=example" } }',
  'an expectation': 'expect: [{ user: "ad\u200ba", product: cad, answer: served }]',
};

describe('invisible characters in names', () => {
  for (const [where, text] of Object.entries(RULES)) {
    test(`look-alike rules: ${where} is refused, and the message hides nothing`, async (t) => {
      const app = await openTestApp(t);
      for (const path of ['/api/admin/rules/check', '/api/admin/rules/apply', '/api/admin/rules/try']) {
        const { body, text: answer } = await app.post(path, { text });
        assert.match(answer, /must not contain the invisible character U\+[0-9A-F]{4}/, path);
        assert.doesNotMatch(answer, HIDDEN, JSON.stringify(body));
      }
    });
  }

  test('look-alike names: a program, a bar and the page are refused', async (t) => {
    const app = await openTestApp(t, { licenses: [testLicense(1)] });
    const hidden = 'Kes\u202etrel';
    const refused = /must not contain the invisible character U\+202E/;
    for (const path of ['register', 'borrow']) {
      const { body } = await app.post(`/api/v4/${path}`, { user: 'ada', instance: hidden });
      assert.deepEqual([body.code, body.field], ['validation_error', 'instance']);
      assert.match(String(body.message), refused);
    }
    const bar = await app.post('/api/admin/bars', { kind: 'user', pattern: hidden });
    assert.match(String(bar.body.message), refused);
    const page = await app.post('/api/admin/settings', { changes: { 'page.name': hidden } });
    assert.deepEqual([page.status, page.body.code], [400, 'validation_error']);
    assert.match(String(page.body.message), refused);
  });

  test('ordinary joiners: names may contain them, as names of users may', async (t) => {
    const app = await openTestApp(t, { licenses: [testLicense(1)] });
    assert.equal((await app.post('/api/v4/register', { user: 'ada', instance: JOINED })).status, 200);
    const text = `groups: { cad: { users: ["${JOINED}"] } }`;
    assert.equal((await app.post('/api/admin/rules/apply', { text })).status, 200);
    assert.equal((await app.post('/api/admin/settings', { changes: { 'page.name': JOINED } })).status, 200);
    assert.equal((await app.get('/api/admin/welcome', { peer: FOREIGN })).body.name, JOINED);
  });

  test('an earlier version accepted them: the server starts with them, and shows them', async (t) => {
    const data = temporaryFolder(t);
    await seedLicenses(data, [testLicense(1)]);
    const text =
      'groups: { cad: { users: [ad\u200ba, bob] } }\nproducts: { "c\u202ead": { allow: [cad] } }\n';
    await seedHidden(data, text);
    mkdirSync(data, { recursive: true });
    writeFileSync(join(data, 'rules.yaml'), text);
    const env = {
      BERTH_AUTH_OIDC_ISSUER: 'https://login.example.com',
      BERTH_AUTH_OIDC_CLIENT_ID: 'berth',
      BERTH_AUTH_OIDC_NAME: 'Log\u202ein',
    };
    const server = await startServerHere({ data, env });
    try {
      const welcome = await (await fetch(`${server.url}/api/admin/welcome`)).json();
      assert.partialDeepStrictEqual(welcome, { name: 'Kes\\u{202e}trel', provider: 'Log\\u{202e}in' });
      const body = JSON.stringify({ user: 'ada', instance: 'Kes\u202etrel' });
      const left = await fetch(`${server.url}/api/v4/unregister`, { method: 'POST', body });
      assert.match(await left.text(), /device_not_found/, 'a program can leave under any name');
      for (const words of [
        ['rules', 'show'],
        ['rules', 'history'],
        ['bar', 'list'],
        ['config'],
        ['doctor'],
      ]) {
        const { stdout, stderr } = await runBerth(data, words);
        assert.ok((stdout + stderr).length > 0, words.join(' '));
        assert.doesNotMatch(stdout + stderr, HIDDEN, words.join(' '));
      }
      const { stdout } = await runBerth(data, ['rules', 'show']);
      assert.match(stdout, /c\\u\{202e\}ad/);
    } finally {
      await server.stop();
    }
  });
});

/** What 0.1.0 may have stored. */
async function seedHidden(data: string, text: string): Promise<void> {
  const masterKey = { value: null, file: null };
  const store = await openDataFolder({ folder: data, masterKey, onNotice: () => {}, useThreads: false });
  assert.ok(store !== null);
  const plain = parseRules(text.replaceAll(/[\u200b\u202e]/g, '_'));
  assert.ok('rules' in plain);
  const rules = JSON.parse(
    JSON.stringify(plain.rules).replace('ad_a', 'ad\u200ba').replace('c_ad', 'c\u202ead'),
  );
  await store.execute({ kind: 'set_rules', text, rules, by: 'test' });
  const value = 'Kes\u202etrel';
  await store.execute({
    kind: 'change_settings',
    changes: [{ name: 'page.name', value, shown: value }],
    by: 'test',
  });
  const bar = { kind: 'user', pattern: 'mal\u202elory', note: null } as const;
  await store.execute({ kind: 'add_bar', bar, by: 'test' });
  await store.close();
}
