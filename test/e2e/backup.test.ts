import assert from 'node:assert/strict';
import {
  copyFileSync,
  cpSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, type TestContext, test } from 'node:test';
import { codeAt, stepAt } from '../../packages/server/src/services/access/one-time-code.ts';
import { exampleLicense } from '../../packages/server/test/core/examples.ts';
import { restore, saveBackup } from '../support/backups.ts';
import { askBerth, runBerth } from '../support/berth-command.ts';
import { startServerHere } from '../support/server-here.ts';
import { seedLicenses, temporaryFolder } from '../support/server-process.ts';
import { hasPostgres, sharedPostgres } from '../support/stores/postgres.ts';
import { askDatabase, describeStores } from '../support/stores/test-stores.ts';

const LICENSE = exampleLicense({ type: 'consumption', slots: 5, timeoutMinutes: 600 });
const PASSPHRASE = 'a passphrase, long';

const getPostgres = sharedPostgres();
const createDatabase = async () => (await getPostgres()).createDatabase();

type Facts = Readonly<Record<string, unknown>>;

async function ask(url: string, path: string, body?: object, headers = {}): Promise<Facts> {
  const init = body === undefined ? {} : { method: 'POST', headers, body: JSON.stringify(body) };
  const answer = await fetch(`${url}/api/${path}`, init);
  const facts = (await answer.json()) as Facts;
  assert.equal(answer.status, 200, JSON.stringify(facts));
  return facts;
}

/** Somebody with a second factor. */
const SUE = { name: 'sue', role: 'viewer', password: 'a password of my own' };
const SECRET = 'A2'.repeat(16);

async function signIn(url: string, headers = {}): Promise<Facts> {
  const authorization = `Basic ${btoa(`${SUE.name}:${SUE.password}`)}`;
  return (await (await fetch(`${url}/auth`, { headers: { authorization, ...headers } })).json()) as Facts;
}

async function addSecondFactor(url: string): Promise<void> {
  await ask(url, 'admin/users/add', SUE);
  const { token } = await signIn(url);
  const body = { password: SUE.password, secret: SECRET, code: codeAt(SECRET, stepAt(Date.now())) };
  await ask(url, 'admin/second-factor/confirm', body, { authorization: `Bearer ${token}` });
}

/** A server that has lent a slot to Ada, a backup of that, and what happened afterwards. */
async function setUp(t: Parameters<typeof temporaryFolder>[0], passphrase?: string) {
  const folder = temporaryFolder(t);
  const [data, file] = [join(folder, 'data'), join(folder, 'one.backup')];
  await seedLicenses(data, [LICENSE]);
  const server = await startServerHere({ data });
  const storeId = await readStoreId(server.url);
  try {
    await ask(server.url, 'v4/borrow', { user: 'ada' });
    await ask(server.url, 'v4/add_consumption', { consumptions: 2 });
    await addSecondFactor(server.url);
    await saveBackup(server.url, file, passphrase);
    await ask(server.url, 'v4/borrow', { user: 'bob' });
    await ask(server.url, 'v4/add_consumption', { consumptions: 3 });
  } finally {
    await server.stop();
  }
  return { folder, data, file, storeId };
}

/** By it, clients know the data again. */
async function readStoreId(url: string): Promise<unknown> {
  return (await ask(url, '../.well-known/jwks.json')).store_id;
}

async function listUsers(t: TestContext, data: string, env = {}, storeId?: unknown) {
  const server = await startServerHere({ data, env });
  t.after(server.stop);
  if (storeId !== undefined) assert.equal(await readStoreId(server.url), storeId);
  assert.equal((await signIn(server.url)).code, 'second_factor_required');
  assert.ok(
    (await signIn(server.url, { 'x-berth-code': codeAt(SECRET, stepAt(Date.now()) + 1) })).token,
    'its secret was restored',
  );
  const verdict = await ask(server.url, 'admin/audit/verify');
  assert.equal(verdict.ok, true, JSON.stringify(verdict));
  const { events } = (await ask(server.url, 'admin/audit?chain=system')) as { events: Facts[] };
  assert.equal(events.filter(({ kind }) => kind === 'backup_restored').length, 1);
  const { registrations } = (await ask(server.url, 'admin/registrations')) as { registrations: Facts[] };
  const { licenses } = (await ask(server.url, 'admin/licenses')) as { licenses: Facts[] };
  return [...registrations.map(({ user }) => user), licenses[0]?.total_consumptions];
}

/** Lets `before` create what lives as long as the tests of its group. */
function collectEnds() {
  const works: (() => void)[] = [];
  after(() => {
    for (const work of works) work();
  });
  return { after: (work: () => void) => void works.push(work) };
}

describeStores('a backup of a running server', (store) => {
  let made: Awaited<ReturnType<typeof setUp>>;
  const ends = collectEnds();
  before(async () => {
    made = await setUp(ends, PASSPHRASE);
  });

  test('is refused while the server runs, and then nothing has changed', async (t) => {
    const { data, file } = made;
    const server = await startServerHere({ data });
    t.after(server.stop);
    await assert.rejects(restore(data, file), /is in use by another Berth process/);
    const { registrations } = (await ask(server.url, 'admin/registrations')) as { registrations: Facts[] };
    assert.equal(registrations.length, 2);
    assert.deepEqual(
      readdirSync(data).filter((name) => name.includes('restor')),
      [],
    );
  });

  test('replaces what happened after it, keeps that, and says what it lacks', async (t) => {
    const { data, file } = made;
    const { lost, kept, replaced_at, made_at, audit } = await restore(data, file);
    assert.deepEqual(
      lost?.borrows.map(({ user, feature }) => [user, feature]),
      [['bob', null]],
    );
    assert.deepEqual(
      lost?.counts.map(({ count, feature }) => [count, feature]),
      [[3, null]],
    );
    assert.deepEqual(lost?.licenses, []);
    assert.ok(replaced_at !== null && replaced_at > made_at && audit.events > 3);
    assert.equal(kept.length, 1);
    if (store === 'SQLite') assert.ok(existsSync(kept[0] as string));
    else {
      const schema = (kept[0] as string).replace('the schema ', '');
      const [row] = await askDatabase(data, `SELECT count(*) AS count FROM ${schema}.registration`);
      assert.equal(row?.count, 2);
    }
    const again = await restore(data, file);
    assert.notDeepEqual(again.kept, kept, 'each of two in a row keeps what it replaces');
    assert.deepEqual([again.kept.length, again.lost?.borrows], [1, []]);
    assert.deepEqual(await listUsers(t, data), ['ada', 2]);
  });

  test('is restored into the other kind of store', async (t) => {
    if (!hasPostgres) return t.skip('optional: needs PostgreSQL for this platform');
    const { folder, file, storeId } = made;
    const other = join(folder, 'other-kind');
    const env = { BERTH_DATABASE_URL: store === 'SQLite' ? await createDatabase() : '' };
    await restore(other, file, { passphrase: PASSPHRASE, env });
    assert.equal(existsSync(join(other, 'berth.db')), store === 'PostgreSQL');
    assert.deepEqual(await listUsers(t, other, env, storeId), ['ada', 2]);
  });

  test('is restored elsewhere with its passphrase, and replaces what is there', async (t) => {
    const { folder, data, file } = made;
    const other = join(folder, 'other');
    await seedLicenses(other, []);
    const before = readFileSync(join(other, 'master.key'), 'utf8');
    await assert.rejects(
      restore(other, file),
      /needs the master key [0-9a-f]{16}, but this one is [0-9a-f]{16}/,
    );
    const wrong = restore(other, file, { passphrase: 'another passphrase' });
    const message = 'The key cannot be opened: the passphrase is wrong. Nothing was changed.';
    await assert.rejects(wrong, { message });
    const { kept } = await restore(other, file, { passphrase: PASSPHRASE });
    const keptKey = kept.find((one) => one.includes('master.key'));
    assert.equal(readFileSync(keptKey as string, 'utf8'), before);
    assert.deepEqual(await listUsers(t, other), ['ada', 2]);
    assert.equal(
      readFileSync(join(other, 'master.key'), 'utf8'),
      readFileSync(join(data, 'master.key'), 'utf8'),
    );
  });
});

test('a backup that the command saves has the length that it says', async (t) => {
  const folder = temporaryFolder(t);
  const [data, file] = [join(folder, 'data'), join(folder, 'one.backup')];
  await seedLicenses(data, [LICENSE]);
  const { bytes } = await askBerth<{ readonly bytes: number }>(data, ['backup', file]);
  assert.equal(bytes, statSync(file).size);
  const { events } = await askBerth<{ readonly events: readonly Facts[] }>(data, ['audit', 'list']);
  assert.equal(events.find(({ kind }) => kind === 'backup_made')?.bytes, bytes);
});

test('a restored copy makes no backups and calls no webhook until it is told to', async (t) => {
  const folder = temporaryFolder(t);
  const [data, other, file] = [join(folder, 'data'), join(folder, 'other'), join(folder, 'one.backup')];
  await seedLicenses(data, []);
  await runBerth(data, ['config', 'set', 'backup.schedule', '6h']);
  await runBerth(data, ['config', 'set', 'backup.keep', '3']);
  await runBerth(data, ['config', 'set', 'webhooks.url', 'https://hooks.example/secret']);
  await runBerth(data, ['backup', file]);
  const key = ['--master-key-file', join(data, 'master.key')];
  const { stdout } = await runBerth(other, ['restore', file, ...key]);
  assert.match(stdout, /^The schedule of backups was not taken over: it was 6h\. .*config set backup\.sch/m);
  assert.match(stdout, /^The webhook was not taken over: it was https:\/\/hooks\.example\/…\./m);
  const stored = async (folder: string) => {
    const { settings } = await askBerth<{ readonly settings: readonly Facts[] }>(folder, ['config']);
    return settings.filter(({ source }) => source === 'stored').map(({ name }) => name);
  };
  assert.deepEqual(await stored(other), ['backup.keep']);
  assert.equal((await stored(data)).length, 3);
});

describe('a backup of SQLite', () => {
  let made: Awaited<ReturnType<typeof setUp>>;
  const ends = collectEnds();
  before(async () => {
    made = await setUp(ends);
  });

  test('is restored into an empty folder with the key, or not at all', async (t) => {
    const { folder, data, file } = made;
    const other = join(folder, 'empty');
    await assert.rejects(restore(other, file), /needs the master key [0-9a-f]{16}\. Give it with/);
    const asked = restore(other, file, { passphrase: PASSPHRASE });
    await assert.rejects(asked, /made without a passphrase and does not contain a key/);
    const { lost, kept } = await restore(other, file, { keyFile: join(data, 'master.key') });
    assert.deepEqual([lost, kept], [null, []], 'there was nothing to compare with, and nothing to keep');
    assert.deepEqual(await listUsers(t, other), ['ada', 2]);
  });

  test('replaces a damaged database, which is kept with its log', async (t) => {
    const { folder, data, file } = made;
    const other = join(folder, 'damaged');
    cpSync(data, other, { recursive: true });
    writeFileSync(join(other, 'berth.db'), 'damaged'.repeat(1000));
    writeFileSync(join(other, 'berth.db-wal'), 'its log');
    const { kept, lost, replaced_at } = await restore(other, file);
    assert.deepEqual([lost, replaced_at], [null, null]);
    assert.deepEqual(
      kept.map((one) => readFileSync(one, 'utf8').slice(0, 7)),
      ['damaged', 'its log'],
    );
    assert.deepEqual(await listUsers(t, other), ['ada', 2]);
  });

  test('that was cut off after its last check goes on with the next start', async (t) => {
    const { folder, data, file } = made;
    const [other, empty] = [join(folder, 'cut'), join(folder, 'cut-empty')];
    const keyFile = join(data, 'master.key');
    for (const cut of [other, empty]) await restore(cut, file, { keyFile });
    renameSync(join(other, 'berth.db'), join(other, 'berth.db.restored-20300102T030405Z'));
    copyFileSync(join(data, 'berth.db'), join(other, 'berth.db'));
    writeFileSync(join(other, 'berth.db-wal'), 'a log that would destroy the new database');
    renameSync(join(empty, 'berth.db'), join(empty, 'berth.db.restored-20300102T030405Z'));
    assert.deepEqual(await listUsers(t, other), ['ada', 2]);
    assert.deepEqual(await listUsers(t, empty), ['ada', 2]);
    const kept = readdirSync(other).filter((name) => name.includes('.replaced-'));
    assert.deepEqual(kept, ['berth.db.replaced-20300102T030405Z', 'berth.db.replaced-20300102T030405Z-wal']);
  });
});
