import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { askBerth, runBerth } from '../support/berth-command.ts';
import { findForms, type Secret } from '../support/secret-search.ts';
import { startServerHere } from '../support/server-here.ts';
import { temporaryFolder } from '../support/server-process.ts';
import { describeStores } from '../support/stores/test-stores.ts';

const PASSWORD = 'Quiet harbour at 4 in the morning';
const WEBHOOK_SECRET = 'w'.repeat(10) + '0123456789'.repeat(3);
const KEYS = ['an-api-key-of-the-vendor', 'a-shared-key-of-the-vendor'];
const NAMES = [
  'ada.lovelace',
  'Linus T.',
  'grace.hopper',
  'zoë',
  'ada-laptop',
  'workstation-17',
  'ci-of-bob',
  '203.0.113.77',
  'licenses.acme.example',
  'hooks.acme.example',
  'linus@acme.example',
  'mallory',
  'lab-of-mallory',
  'stole the laptop',
];

/** A server with names and secrets in every place, and how to make a bundle of it. */
async function openServer(t: TestContext) {
  const folder = temporaryFolder(t);
  const data = join(folder, 'data');
  const args = [
    '--demo',
    '--log-level',
    'info',
    '--log-requests',
    '--http-allowed-hosts',
    'licenses.acme.example',
  ];
  args.push(
    '--webhooks-url',
    'http://hooks.acme.example/path-with-a-token',
    '--http-trusted-proxies',
    '127.0.0.1',
  );
  const server = await startServerHere({ data, args, env: { BERTH_WEBHOOKS_SECRET: WEBHOOK_SECRET } });
  t.after(() => server.stop());
  const secrets: Secret[] = [...KEYS, PASSWORD, WEBHOOK_SECRET, 'path-with-a-token'];
  await runBerth(data, ['key', 'set'], {}, KEYS.join('\n'));
  await runBerth(data, ['user', 'add', 'grace.hopper', '--role', 'operator'], {}, `${PASSWORD}\n`);
  const { token } = await askBerth<{ token: string }>(data, [
    'token',
    'create',
    'ci-of-bob',
    '--role',
    'user',
  ]);
  secrets.push(token, Buffer.from(readFileSync(join(data, 'master.key'), 'utf8').trim(), 'hex'));
  await runBerth(data, ['bar', 'mallory.*', '--note', 'mallory stole the laptop']);
  await runBerth(data, ['bar', '--host', 'lab-of-mallory-*']);
  await runBerth(data, ['unbar', '--host', 'lab-of-mallory-*']);
  for (const user of ['ada.lovelace', 'zoë', 'linus@acme.example', 'Linus T.']) {
    const headers = { 'x-forwarded-for': '203.0.113.77' };
    const os = { os_hostname: user === 'zoë' ? 'workstation-17' : 'ada-laptop' };
    const body = JSON.stringify({ product: 'demo', user, ...os });
    const answer = await fetch(`${server.url}/api/v4/register`, { method: 'POST', headers, body });
    assert.equal(answer.status, 200, await answer.text());
  }
  let count = 0;
  const bundle = async (...flags: readonly string[]) => {
    const file = join(folder, `bundle-${count++}.tar.gz`);
    const { code, stderr, stdout } = await runBerth(data, ['support-bundle', file, ...flags]);
    assert.deepEqual([code, stderr], [0, '']);
    return { file, stdout, ...unpack(file) };
  };
  return { data, folder, server, secrets, bundle };
}

/** Reads the archive with the tool that its readers have. */
function unpack(file: string) {
  const run = (...args: readonly string[]) => {
    const { status, stdout, stderr } = spawnSync('tar', [...args], { encoding: 'utf8' });
    assert.equal(status, 0, stderr);
    return stdout;
  };
  const names = run('-tzf', file).trim().split('\n');
  const texts = new Map(names.map((name) => [name, run('-xzOf', file, name)]));
  return { names, texts, bytes: gunzipSync(readFileSync(file)) };
}

function findIn(bytes: Buffer, texts: readonly Secret[]): readonly string[] {
  return texts.flatMap((text) => findForms(bytes, text).map((form) => `${text}, ${form}`));
}

const ALL = [
  'README.txt',
  'versions.json',
  'doctor.json',
  'settings.json',
  'status.json',
  'metrics.txt',
  'log.jsonl',
  'audit.jsonl',
];

describeStores('a support bundle', () => {
  test('has everything that helps, no secret, and names only if they are wanted', async (t) => {
    const { secrets, bundle } = await openServer(t);
    const hidden = await bundle();
    assert.deepEqual(hidden.names, ALL);
    assert.equal(statSync(hidden.file).mode & 0o777, 0o600);
    assert.deepEqual(findIn(hidden.bytes, secrets), []);
    assert.deepEqual(findIn(hidden.bytes, NAMES), []);
    // It may be short, so that its letters are in other words.
    const words = hidden.bytes.toString('utf8').split(/[^\w.-]+/);
    if (hostname() !== 'localhost') assert.equal(words.includes(hostname()), false);

    const events = readLines(hidden.texts.get('audit.jsonl'));
    const lent = events.filter(({ kind }) => kind === 'slot_lent');
    assert.equal(lent.length, 4);
    const users = new Set(lent.map(({ user }) => user));
    assert.equal(users.size, 4);
    for (const user of users) assert.match(String(user), /^user_\d+$/);
    assert.equal(lent[0]?.hostname, lent[2]?.hostname);
    assert.match(String(lent[0]?.origin), /^address_\d+$/);
    const requests = readLines(hidden.texts.get('log.jsonl')).filter(({ route }) => route === 'register');
    assert.deepEqual(
      requests.map(({ address }) => address),
      lent.map(({ origin }) => origin),
      'the same name in all files',
    );
    assert.equal(JSON.parse(hidden.texts.get('settings.json') ?? '').settings.port, 0);
    assert.ok(JSON.parse(hidden.texts.get('doctor.json') ?? '').findings.length > 8);
    assert.match(hidden.texts.get('metrics.txt') ?? '', /^berth_license_slots_in_use\{.*\} \d/m);

    const plain = await bundle('--with-names');
    assert.deepEqual(findIn(plain.bytes, secrets), []);
    for (const name of NAMES) assert.notDeepEqual(findIn(plain.bytes, [name]), [], name);
  });
});

function readLines(text = ''): readonly Record<string, unknown>[] {
  return text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
}

test('a bundle is made of a stopped server, and where none can be opened', async (t) => {
  const { data, folder, server, bundle } = await openServer(t);
  await server.stop();
  const stopped = await bundle();
  assert.deepEqual(stopped.names, ALL);
  assert.equal(stopped.texts.get('log.jsonl'), '');
  assert.notEqual(stopped.texts.get('audit.jsonl'), '');
  const file = join(folder, 'none.tar.gz');
  const { code } = await runBerth(join(data, 'nowhere'), ['support-bundle', file]);
  const { names, texts } = unpack(file);
  assert.deepEqual([code, names.slice(-2)], [0, ['settings.json', 'not-asked.json']]);
  assert.match(texts.get('not-asked.json') ?? '', /There is no data/);
});

test('a bundle replaces no file, and a folder that is missing is explained', async (t) => {
  const folder = temporaryFolder(t);
  const there = join(folder, 'there.tar.gz');
  await runBerth(folder, ['support-bundle', there]);
  const again = await runBerth(folder, ['support-bundle', there]);
  assert.equal(again.code, 1);
  assert.match(again.stderr, /there\.tar\.gz already exists/);
  const far = join(folder, 'no', 'where.tar.gz');
  const missing = await runBerth(folder, ['support-bundle', far]);
  assert.match(missing.stderr, /its folder does not exist/);
  assert.equal(existsSync(far), false);
});
