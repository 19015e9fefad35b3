import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { CONTROL, FOREIGN, LOCAL, openTestApp, readEvents } from '../../../../../../test/support/test-app.ts';
import { DAY_MS } from '../../../../src/core/nouns/instant.ts';

describe('GET /api/admin/rules', () => {
  test('shows the text, since when it applies, and what is wrong with the file', async (t) => {
    const { get, folder, ruleBook } = await openTestApp(t);
    const path = join(folder, 'rules.yaml');
    const { status, body } = await get('/api/admin/rules');
    assert.equal(status, 200);
    const none = { revision: 0, text: '', by: null, at: null, file: null, file_error: null };
    const nothing = { warnings: [], rules: [], directory_groups: [] };
    assert.deepEqual(body, { ...none, written_in: 0, ...nothing });
    const text = 'deny: {users: [mallory], hosts: [lab-*], addresses: [10.0.0.0/8]}';
    writeFileSync(path, text);
    await ruleBook.begin();
    writeFileSync(path, 'deny: {user: []}');
    const { file_error: error, ...after } = (await get('/api/admin/rules')).body;
    const applied = { revision: 1, text, by: 'server', at: '2030-01-15T12:00:00.000Z' };
    assert.deepEqual(after, { ...applied, written_in: 1, file: path, ...nothing });
    assert.match(String(error), /rules\.yaml is not valid: line 1, column 8: "deny\.user" is unknown/);
    assert.equal((await get('/api/admin/rules', { peer: FOREIGN })).status, 401);
  });
});

test('rules may be as long as in a file, and the audit log repeats only their beginning', async (t) => {
  const { post, store } = await openTestApp(t);
  const users = Array.from({ length: 10_000 }, (_, index) => `user-${index}@example.com`).join(', ');
  const text = `deny: {users: [${users}]}`;
  for (const path of ['check', 'apply', 'try', 'import']) {
    const sent = path === 'import' ? `GROUP all ${users.replaceAll(',', '')}` : text;
    const { status, body } = await post(`/api/admin/rules/${path}`, { text: sent });
    assert.equal(status, 200, `${path}: ${body.message}`);
  }
  const event = (await readEvents(store)).find(({ kind }) => kind === 'rules_changed');
  assert.ok(event?.kind === 'rules_changed');
  assert.deepEqual(event.diff, [`+${text.slice(0, 499)}…`]);
});

test('a reservation that nobody has filled for 30 days is warned of', async (t) => {
  const { get, post, clock, ruleBook } = await openTestApp(t);
  const text = `groups: { team: { users: [ada] }, cad: { users: [bob] } }
products: { cad: { reserve: [{ slots: 1, for: team }, { slots: 1, for: cad }] } }`;
  await post('/api/admin/rules/apply', { text });
  await post('/api/v4/register', { product: 'cad', user: 'bob' });
  await ruleBook.sampleReservations();
  const listWarnings = async () =>
    ((await get('/api/admin/rules')).body.warnings as { message: string }[]).map(({ message }) => message);
  clock.advance(29 * DAY_MS);
  await ruleBook.sampleReservations();
  assert.deepEqual(await listWarnings(), [], 'it is not in force for so long');
  clock.advance(DAY_MS);
  await post('/api/v4/register', { product: 'cad', user: 'bob' });
  await ruleBook.sampleReservations();
  const message = 'Nobody has used "reserve 1 for team" for 30 days: its slots stayed free all that time.';
  assert.deepEqual(await listWarnings(), [message]);
  const { warnings } = (await post('/api/admin/rules/check', { text })).body;
  assert.equal((warnings as { message: string }[])[0]?.message, message);
  await post('/api/v4/register', { product: 'cad', user: 'ada' });
  await ruleBook.sampleReservations();
  assert.deepEqual(await listWarnings(), []);
  await post('/api/admin/rules/apply', { text: 'deny: {}' });
  clock.advance(40 * DAY_MS);
  await post('/api/admin/rules/apply', { text });
  await ruleBook.sampleReservations();
  assert.deepEqual(await listWarnings(), [], 'it is in force again since today');
});

test('POST /api/admin/rules/import says whose options file it was', async (t) => {
  const { post } = await openTestApp(t);
  const { status, body } = await post('/api/admin/rules/import', {
    text: 'GROUP team ada\nRESERVE 3 cad GROUP team',
  });
  const { text, report, notes, ...others } = body;
  assert.deepEqual([status, others], [200, { format: 'flexnet' }]);
  assert.match(String(text), /reserve/);
  assert.match(String(notes), /calls a license/);
  assert.equal((report as unknown[]).length, 2);
  const refused = await post('/api/admin/rules/import', { text: 'deny: {}' });
  assert.deepEqual([refused.status, refused.body.code], [400, 'rules_not_valid']);
});

describe('a barred user', () => {
  test('is refused by every operation that would give them something', async (t) => {
    const { post, folder, ruleBook } = await openTestApp(t);
    writeFileSync(join(folder, 'rules.yaml'), 'deny: {users: [mallory]}');
    await ruleBook.begin();
    for (const path of ['register', 'borrow', 'add_consumption']) {
      const { status, body } = await post(`/api/v4/${path}`, { product: 'cad', user: 'Mallory' });
      assert.deepEqual([status, body.code, body.barred], [400, 'blacklisted', 'user'], path);
    }
    const { body } = await post('/api/v4/unregister', { product: 'cad', user: 'mallory' });
    assert.equal(body.code, 'device_not_found', 'giving back is not barred');
    assert.equal((await post('/api/v4/register', { product: 'cad', user: 'ada' })).status, 200);
  });

  test('is also barred by the host name, if that is all that is known', async (t) => {
    const { post, folder, ruleBook } = await openTestApp(t);
    writeFileSync(join(folder, 'rules.yaml'), 'deny: {hosts: [lab-*]}');
    await ruleBook.begin();
    const where = { product: 'cad', os_hostname: 'LAB-3' };
    for (const [path, extra] of [
      ['register', {}],
      ['register', { user: 'ada' }],
      ['borrow', {}],
      ['featureRegister', { feature: 'render' }],
      ['featureRegister', { feature: 'render', user: 'ada' }],
    ] as const) {
      const { body } = await post(`/api/v4/${path}`, { ...where, ...extra });
      assert.deepEqual([body.code, body.barred], ['blacklisted', 'host'], path);
    }
  });

  test('is barred by the address of the connection, and by the one they send', async (t) => {
    const { post, folder, ruleBook } = await openTestApp(t);
    writeFileSync(join(folder, 'rules.yaml'), 'deny: {addresses: [203.0.113.0/24]}');
    await ruleBook.begin();
    const body = { product: 'cad', user: 'ada', consumptions: 1 };
    const codeOf = async (path: string, extra: object, peer = LOCAL) =>
      (await post(`/api/v4/${path}`, { ...body, ...extra }, { peer })).body.code;
    assert.equal(await codeOf('register', {}, FOREIGN), 'blacklisted');
    assert.equal(await codeOf('add_consumption', {}, FOREIGN), 'blacklisted');
    assert.equal(await codeOf('register', { ip_local: '203.0.113.77' }), 'blacklisted');
    assert.equal(await codeOf('register', { ip_local: '203.0.114.1' }), undefined);
    assert.equal(await codeOf('register', {}, CONTROL), undefined);
  });
});
