import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import connect from 'postgres';
import { openStoppedServer } from '../../packages/server/src/compose/compose.ts';
import { loadConfig } from '../../packages/server/src/config.ts';
import { exampleLicense } from '../../packages/server/test/core/examples.ts';
import { askBerth, runBerth } from '../support/berth-command.ts';
import { startServerHere } from '../support/server-here.ts';
import { seedLicenses, startServerProcess, temporaryFolder } from '../support/server-process.ts';
import { startBefore } from '../support/start-before.ts';
import { hasPostgres, sharedPostgres } from '../support/stores/postgres.ts';

const skip = hasPostgres ? false : 'optional: needs PostgreSQL for this platform';
const shared = sharedPostgres();

type Env = Readonly<Record<string, string>>;

/** With a license, an account, and slots that last longer than a test. */
let filled: string;
let storeId: unknown;
startBefore(async (life) => {
  if (!hasPostgres) return;
  filled = join(temporaryFolder(life), 'data');
  await seedLicenses(filled, [exampleLicense({ timeoutMinutes: 600 })]);
  const server = await startServerHere({ data: filled });
  await lend(server.url);
  storeId = await readStoreId(server.url);
  await server.stop();
});

/** A copy of the folder, or an empty one whose master key is in the environment, and an empty database. */
async function setUp(t: TestContext, env: Env = {}) {
  const data = join(temporaryFolder(t), 'data');
  if (Object.keys(env).length === 0) cpSync(filled, data, { recursive: true });
  else await (await startServerHere({ data, env })).stop();
  const url = await (await shared()).createDatabase();
  return { data, url, postgres: { ...env, BERTH_DATABASE_URL: url } };
}

/** By it, clients know the data again. */
async function readStoreId(url: string): Promise<unknown> {
  return ((await (await fetch(`${url}/.well-known/jwks.json`)).json()) as { store_id?: unknown }).store_id;
}

async function lend(url: string): Promise<void> {
  const send = async (path: string, body: object) => {
    const response = await fetch(`${url}/api/v4/${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    assert.equal(response.status, 200, await response.text());
  };
  await send('register', { product: 'cad', user: 'ann' });
  await send('borrow', { product: 'cad', user: 'bob' });
}

const LISTS = [
  'licenses',
  'registrations',
  'audit?limit=1000',
  'audit/verify',
  'users',
  'tokens',
  'keys',
  'reports',
  'rules',
  'bars',
];

/** What the admin API says of the data of a stopped server. */
async function listAll(data: string, env: Env): Promise<Record<string, unknown>> {
  const { config } = loadConfig({ flags: { data }, env, file: null });
  const server = await openStoppedServer(config, env);
  assert.ok(server, `${data} is in use`);
  try {
    const answers: Record<string, unknown> = {};
    for (const path of LISTS) {
      const { status, body } = await server.answer('GET', `/api/admin/${path}`, null);
      assert.equal(status, 200, path);
      answers[path] = JSON.parse(String(body).replaceAll(data, 'DATA'));
    }
    return answers;
  } finally {
    await server.close();
  }
}

const move = (data: string, direction: 'to-postgres' | 'to-sqlite', env: Env) =>
  runBerth(data, ['migrate-store', direction], env);

async function expectRefusal(
  sentence: RegExp,
  data: string,
  direction: 'to-postgres' | 'to-sqlite',
  env: Env,
) {
  const { code, stdout, stderr } = await move(data, direction, env);
  assert.match(stderr, sentence);
  assert.deepEqual([code, stdout], [1, '']);
  assert.equal(stderr.trim().split('\n').length, 1, stderr);
}

async function expectNoStart(sentence: RegExp, data: string, env: Env = {}) {
  const { code, stderr } = await runBerth(data, ['serve', '--port', '0'], env);
  assert.match(stderr, sentence);
  assert.equal(code, 1);
}

async function queryDatabase(url: string, text: string) {
  const sql = connect(url, { max: 1, fetch_types: false, onnotice: () => {} });
  try {
    return await sql.unsafe(text);
  } finally {
    await sql.end();
  }
}

const countTables = async (url: string) => {
  const text = "SELECT count(*)::int AS count FROM pg_tables WHERE schemaname = 'public'";
  return (await queryDatabase(url, text))[0]?.count;
};

describe('berth migrate-store', { skip }, () => {
  test('moves everything there and back; the API answers the same, and the old places refuse', async (t) => {
    const { data, postgres } = await setUp(t);
    const before = await listAll(data, {});
    const hardware = await readHardware(data, {});
    const there = await move(data, 'to-postgres', postgres);
    assert.equal(there.code, 0, there.stderr);
    assert.match(there.stdout, /^Everything was moved and verified\.\n/);
    assert.match(there.stdout, /\nregistration +2\n/);
    assert.match(there.stdout, /other servers on the database need the same key/);
    assert.deepEqual(await listAll(data, postgres), before);
    assert.equal(await readHardware(data, postgres), hardware, 'licenses are bound to it');
    await expectNoStart(/was moved to postgres:.*moved-to-postgres to continue here/, data);
    const server = await startServerHere({ data, env: postgres });
    assert.equal(await readStoreId(server.url), storeId);
    await lend(server.url);
    await expectRefusal(
      /^\S+ is in use by another Berth process \(process id \d+\)\. Stop the server first\.\n$/,
      data,
      'to-sqlite',
      postgres,
    );
    await server.stop();
    const used = await listAll(data, postgres);
    renameSync(join(data, 'berth.db'), join(data, 'old.db'));
    const back = await move(data, 'to-sqlite', postgres);
    assert.equal(back.code, 0, back.stderr);
    assert.deepEqual(
      readdirSync(data)
        .filter((name) => /db|moved/.test(name))
        .sort(),
      ['berth.db', 'berth.db-sums', 'old.db'],
    );
    assert.equal(countUndue(join(data, 'berth.db')), 0, 'slots are found when they end');
    assert.deepEqual(await listAll(data, {}), used);
    assert.equal(await readHardware(data, {}), hardware, 'it is back on its machine');
    await expectNoStart(/DROP TABLE moved_away/, data, postgres);
    await (await startServerHere({ data })).stop();
  });

  test('warns of a changed hardware id for a server that started in a database', async (t) => {
    const { data, postgres } = await setUp(t);
    const server = await startServerHere({ data: join(data, 'other'), env: postgres });
    await server.stop();
    const env = { ...postgres, BERTH_HARDWARE_ID: 'chosen' };
    await (await startServerHere({ data: join(data, 'other'), env })).stop();
    const { code, stdout } = await move(join(data, 'other'), 'to-sqlite', postgres);
    assert.equal(code, 0);
    assert.match(
      stdout,
      /different hardware id\. .* start the server with BERTH_HARDWARE_ID=chosen to keep it\.\n/,
    );
  });

  test('needs both places', async (t) => {
    const { data, postgres } = await setUp(t);
    await expectRefusal(/^Set the database with BERTH_DATABASE_URL/, data, 'to-postgres', {});
    const none = join(data, 'none');
    await expectRefusal(/^There is no data in .*none\./, none, 'to-postgres', postgres);
    await expectRefusal(
      /^There is no data of Berth in the database at postgres:/,
      data,
      'to-sqlite',
      postgres,
    );
    assert.equal(await countTables(postgres.BERTH_DATABASE_URL), 0);
  });

  test('never shows the password of the database', async (t) => {
    const { data, url } = await setUp(t);
    const secret = url.replace('postgres@', 'postgres:hush@');
    const { code, stdout, stderr } = await move(data, 'to-postgres', { BERTH_DATABASE_URL: secret });
    assert.equal(code, 0, stderr);
    assert.doesNotMatch(stdout + stderr, /hush/);
  });
});

async function readHardware(data: string, env: Env): Promise<unknown> {
  return (await askBerth<{ hardware_id: unknown }>(data, ['status'], env)).hardware_id;
}

describe('berth migrate-store refuses, and changes nothing', { skip }, () => {
  test('a folder whose server runs', async (t) => {
    const { data, postgres } = await setUp(t);
    const server = await startServerHere({ data });
    t.after(server.stop);
    await expectRefusal(
      /^\S+ is in use by another Berth process \(process id \d+\)\. Stop the server first\.\n$/,
      data,
      'to-postgres',
      postgres,
    );
    assert.equal(await countTables(postgres.BERTH_DATABASE_URL), 0);
  });

  test('a database on which a server runs, or did a moment ago', async (t) => {
    const { data, postgres } = await setUp(t);
    const env = { ...postgres, BERTH_MASTER_KEY: 'ab'.repeat(32) };
    const server = await startServerProcess({ data: join(data, 'far'), env });
    const target = join(data, 'near');
    await expectRefusal(
      /^A server uses the database, or did so less than 30 seconds/,
      target,
      'to-sqlite',
      env,
    );
    await server.stop('SIGKILL');
    await expectRefusal(
      /^A server uses the database, or did so less than 30 seconds/,
      target,
      'to-sqlite',
      env,
    );
    assert.equal(existsSync(join(target, 'berth.db')), false);
    await queryDatabase(env.BERTH_DATABASE_URL, 'UPDATE server_instance SET seen_at = seen_at - 31000');
    assert.equal((await move(target, 'to-sqlite', env)).code, 0);
  });

  test('a target that holds something', async (t) => {
    const { data, postgres } = await setUp(t);
    const env = { ...postgres, BERTH_MASTER_KEY_FILE: join(data, 'other.key') };
    await (await startServerHere({ data: join(data, 'other'), env })).stop();
    await expectRefusal(/^postgres:\S+ contains data of another server\./, data, 'to-postgres', postgres);
    await expectRefusal(/contains data of another server/, data, 'to-sqlite', env);
    const url = await (await shared()).createDatabase();
    await queryDatabase(url, 'CREATE TABLE theirs (id int)');
    const foreign = { BERTH_DATABASE_URL: url };
    await expectRefusal(/has tables that were not created by Berth/, data, 'to-postgres', foreign);
  });

  test('a log that was tampered with, on either side', async (t) => {
    const { data, url, postgres } = await setUp(t);
    const tamper = 'UPDATE audit_link SET at = at + 1 WHERE seq = 2';
    const undo = 'UPDATE audit_link SET at = at - 1 WHERE seq = 2';
    const file = join(data, 'berth.db');
    runFile(file, tamper);
    const sentence =
      /^The audit log in .* is broken, .* Chain \d+, link \d+: The link was changed.*Nothing was/;
    await expectRefusal(sentence, data, 'to-postgres', postgres);
    assert.equal(await countTables(url), 0);
    runFile(file, undo);
    assert.equal((await move(data, 'to-postgres', postgres)).code, 0);
    rmSync(file);
    await queryDatabase(url, tamper);
    await expectRefusal(sentence, data, 'to-sqlite', postgres);
    assert.equal(existsSync(file), false);
    assert.equal(existsSync(`${file}.new`), false);
  });

  test('another master key', async (t) => {
    const { data, url, postgres } = await setUp(t);
    const other = { ...postgres, BERTH_MASTER_KEY: 'cd'.repeat(32) };
    await expectRefusal(/^The master key is not the one that sealed this store/, data, 'to-postgres', other);
    assert.equal(await countTables(url), 0);
    assert.equal((await move(data, 'to-postgres', postgres)).code, 0);
    rmSync(join(data, 'berth.db'));
    await expectRefusal(/is sealed with the master key/, data, 'to-sqlite', other);
    assert.equal((await move(data, 'to-sqlite', postgres)).code, 0);
  });

  test('data of a newer Berth', async (t) => {
    const { data, url, postgres } = await setUp(t);
    const file = join(data, 'berth.db');
    const version = readVersion(file);
    runFile(file, 'PRAGMA user_version = 999');
    await expectRefusal(/^The data was written by a newer Berth/, data, 'to-postgres', postgres);
    runFile(file, `PRAGMA user_version = ${version}`);
    assert.equal((await move(data, 'to-postgres', postgres)).code, 0);
    rmSync(file);
    await queryDatabase(url, 'INSERT INTO berth_schema (version) VALUES (999)');
    await expectRefusal(/^The data was written by a newer Berth/, data, 'to-sqlite', postgres);
  });
});

function runFile(file: string, text: string): void {
  using db = new DatabaseSync(file);
  db.exec(text);
  rmSync(`${file}-sums`, { force: true });
}

/** Slots that the index finds at another time than their end. */
function countUndue(file: string): number {
  using db = new DatabaseSync(file, { readOnly: true });
  return db.prepare('SELECT count(*) AS count FROM registration WHERE due_at <> ends_at').get()
    ?.count as number;
}

function readVersion(file: string): number {
  using db = new DatabaseSync(file, { readOnly: true });
  return db.prepare('PRAGMA user_version').get()?.user_version as number;
}

const KILLED_MOVE = fileURLToPath(new URL('../support/stores/killed-move.ts', import.meta.url));

async function killDuring(moment: string, direction: string, data: string, env: Env): Promise<void> {
  const args = [KILLED_MOVE, direction, data, env.BERTH_DATABASE_URL as string, moment];
  const child = spawn(process.execPath, args, { env: { ...process.env, ...env }, stdio: 'inherit' });
  const [, signal] = await once(child, 'exit');
  assert.equal(signal, 'SIGKILL', `it was killed: ${moment}`);
}

describe('berth migrate-store, killed', { skip }, () => {
  const env = { BERTH_MASTER_KEY: 'ab'.repeat(32) };

  test('on its way to PostgreSQL leaves the database empty, and the folder usable', async (t) => {
    const { data, url, postgres } = await setUp(t, env);
    const before = await listAll(data, env);
    for (const moment of ['audit_link', 'verify']) {
      await killDuring(moment, 'to-postgres', data, postgres);
      assert.equal(await countTables(url), 0, moment);
      assert.deepEqual(await listAll(data, env), before, moment);
    }
    await killDuring('commit', 'to-postgres', data, postgres);
    assert.equal((await move(data, 'to-postgres', postgres)).code, 0, 'it is brought to its end');
    assert.deepEqual(await listAll(data, postgres), before);
    await expectNoStart(/was moved to postgres:/, data, env);
  });

  test('on its way to SQLite leaves no data in the folder, and the database usable', async (t) => {
    const { data, postgres } = await setUp(t, env);
    assert.equal((await move(data, 'to-postgres', postgres)).code, 0);
    const before = await listAll(data, postgres);
    const target = join(data, 'target');
    mkdirSync(target);
    for (const moment of ['audit_link', 'verify']) {
      await killDuring(moment, 'to-sqlite', target, postgres);
      assert.equal(existsSync(join(target, 'berth.db')), false, moment);
      assert.deepEqual(await listAll(data, postgres), before, moment);
    }
    await killDuring('commit', 'to-sqlite', target, postgres);
    assert.equal((await move(target, 'to-sqlite', postgres)).code, 0, 'it is brought to its end');
    assert.deepEqual(await listAll(target, env), before);
    await expectNoStart(/was moved to .*target/, data, postgres);
  });
});
