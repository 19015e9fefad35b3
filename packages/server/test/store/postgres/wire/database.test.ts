import assert from 'node:assert/strict';
import { once } from 'node:events';
import { chmodSync, chownSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, type TestContext, test } from 'node:test';
import { makeTestCertificate } from '../../../../../../test/support/certificate.ts';
import {
  hasPostgres,
  type Settings,
  startPostgres,
  type TestPostgres,
} from '../../../../../../test/support/stores/postgres.ts';
import { Fault } from '../../../../src/core/nouns/fault.ts';
import type { Row } from '../../../../src/store/engine/rows.ts';
import { explainUnfit, openConnection } from '../../../../src/store/postgres/wire/database.ts';
import { parseDatabaseUrl } from '../../../../src/store/postgres/wire/database-url.ts';

const canStop = hasPostgres && process.env.BERTH_TEST_DATABASE_URL === undefined;
const skip = canStop ? false : 'optional: needs a PostgreSQL that tests may stop';
const PASSWORD = 'a-secret-word';

const ACCESS = [
  'host all ada 127.0.0.1/32 scram-sha-256',
  'host all bob 127.0.0.1/32 md5',
  'host all eve 127.0.0.1/32 password',
  'hostssl all tls 127.0.0.1/32 trust',
  'host all postgres,loose,narrow 127.0.0.1/32 trust',
];

let postgres: TestPostgres;

async function runOn(url: string, ...texts: string[]): Promise<Row[]> {
  const options = { prepareStatements: true, answerTimeoutMs: 10_000, connectTimeoutMs: 10_000 };
  const connection = await openConnection({ ...options, target: parseDatabaseUrl(url) });
  try {
    let rows: Row[] = [];
    for (const text of texts) rows = [...(await connection.query(text))];
    return rows;
  } finally {
    await connection.close();
  }
}

function urlOf(user: string, database = 'postgres', parameters = '', host = '127.0.0.1'): string {
  return `postgres://${user}@${host}:${postgres.port}/${database}${parameters}`;
}

/** The error and its causes say why, in a sentence without the password. */
async function expectRefusal(url: string, message: RegExp, connectTimeoutMs = 10_000): Promise<void> {
  const options = { prepareStatements: true, answerTimeoutMs: 10_000, connectTimeoutMs };
  await assert.rejects(openConnection({ ...options, target: parseDatabaseUrl(url) }), (error) => {
    assert.ok(error instanceof Fault, String(error));
    assert.equal(error.code, 'store_unavailable');
    assert.match(error.message, message);
    assert.doesNotMatch(`${error.message} ${error.cause}`, new RegExp(PASSWORD));
    return true;
  });
}

async function restart(settings: Settings = {}): Promise<void> {
  await postgres.stop('fast');
  await postgres.start(settings);
}

/** Another program at the address, which treats every caller as the test says. */
async function startStranger(t: TestContext, greet: (socket: Socket) => void) {
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket.on('error', () => {}));
    greet(socket);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const { port } = server.address() as { port: number };
  return { url: `postgres://ada:${PASSWORD}@127.0.0.1:${port}/d`, countCallers: () => sockets.length };
}

describe('a server that is not PostgreSQL', () => {
  test('and closes every connection is tried once', async (t) => {
    const stranger = await startStranger(t, (socket) => socket.end());
    await expectRefusal(stranger.url, /closed|lost/);
    assert.equal(stranger.countCallers(), 1);
  });

  for (const mode of ['disable', 'require']) {
    test(`and says nothing does not block us, with sslmode=${mode}`, async (t) => {
      const stranger = await startStranger(t, () => {});
      await expectRefusal(`${stranger.url}?sslmode=${mode}`, /did not answer in time/, 100);
    });
  }

  test('is recognized by its answer to the request for encryption', async (t) => {
    const stranger = await startStranger(t, (socket) => socket.write('HTTP/1.1 400 Bad Request\r\n'));
    await expectRefusal(`${stranger.url}?sslmode=require`, /is not PostgreSQL/);
  });

  test('and does not exist cannot be reached', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as { port: number };
    server.close();
    await once(server, 'close');
    await expectRefusal(`postgres://ada:${PASSWORD}@127.0.0.1:${port}/d`, /cannot be reached/);
    await expectRefusal('postgres://ada@%2Fno%2Fsuch%2Ffolder/d', /cannot be reached/);
  });
});

describe('the settings of a database', () => {
  test('that an engine does not know are accepted', () => {
    assert.equal(explainUnfit({ fsync: null, server_version_num: null }), null);
  });

  test('show that it cannot be written', () => {
    const standby = { in_hot_standby: 'on', transaction_read_only: 'on' };
    assert.match(explainUnfit(standby) ?? '', /is a standby.*Promote it/);
    assert.match(explainUnfit({ ...standby, in_hot_standby: 'off' }) ?? '', /is read-only/);
  });

  test('show that it is too old', () => {
    const settings = { fsync: 'on', server_version_num: '130011', server_encoding: 'UTF8' };
    assert.match(explainUnfit(settings) ?? '', /is PostgreSQL 13: Berth needs 14 or newer/);
    assert.equal(explainUnfit({ ...settings, server_version_num: '140000' }), null);
  });
});

describe('opening a connection', { skip }, () => {
  before(async () => {
    postgres = await startPostgres({ access: ACCESS });
    await runOn(
      urlOf('postgres'),
      `CREATE ROLE ada LOGIN PASSWORD '${PASSWORD}'; CREATE ROLE tls LOGIN; CREATE ROLE loose LOGIN;
       SET password_encryption = md5; CREATE ROLE bob LOGIN PASSWORD '${PASSWORD}';
       CREATE ROLE eve LOGIN PASSWORD '${PASSWORD}'; CREATE ROLE narrow LOGIN CONNECTION LIMIT 0;
       ALTER ROLE loose SET synchronous_commit = off`,
      "CREATE DATABASE latin TEMPLATE template0 ENCODING 'LATIN1'",
    );
  });
  after(() => postgres.end());

  for (const [user, method] of Object.entries({ ada: 'scram-sha-256', bob: 'md5', eve: 'password' })) {
    test(`accepts the password, and refuses another, with ${method}`, async () => {
      assert.deepEqual(await runOn(urlOf(`${user}:${PASSWORD}`), 'SELECT user'), [{ user }]);
      await expectRefusal(urlOf(`${user}:not-${PASSWORD}`), /refused the user or the password/);
      await expectRefusal(urlOf(user), /refused the user or the password/);
    });
  }

  test('refuses an unknown user', async () => {
    await expectRefusal(urlOf('nobody-we-know'), /refused the user or the password/);
  });

  test('says what is missing', async () => {
    await expectRefusal(urlOf('postgres', 'elsewhere'), /There is no database of that name/);
    await expectRefusal(urlOf('narrow'), /has no connection left/);
    await expectRefusal(urlOf('postgres', 'latin'), /stores text as LATIN1/);
  });

  test('refuses a user whose commits are not synced', async () => {
    await expectRefusal(urlOf('loose'), /synchronous_commit is off/);
  });

  for (const setting of ['fsync', 'full_page_writes', 'synchronous_commit']) {
    test(`refuses a server with ${setting} = off, until it is on again`, async () => {
      await restart({ [setting]: 'off' });
      await expectRefusal(urlOf('postgres'), new RegExp(`${setting} is off`));
      await restart();
      assert.deepEqual(await runOn(urlOf('postgres'), 'SELECT 1 AS n'), [{ n: 1 }]);
    });
  }

  test('refuses a standby', async () => {
    const signal = join(postgres.dataFolder, 'standby.signal');
    await postgres.stop('fast');
    writeFileSync(signal, '');
    chmodSync(signal, 0o644);
    await postgres.start();
    await expectRefusal(urlOf('postgres'), /is a standby/);
    await postgres.stop('fast');
    rmSync(signal);
    await postgres.start();
  });

  test('refuses a server that does not encrypt, unless the URL allows it', async () => {
    await expectRefusal(urlOf('postgres', 'postgres', '?sslmode=require'), /does not encrypt/);
    await runOn(urlOf('postgres', 'postgres', '?sslmode=prefer'), 'SELECT 1');
  });

  /** Gives the server a certificate for the names, and returns the file of its CA. */
  async function restartWithTls(names: readonly string[]): Promise<string> {
    const { key, cert } = makeTestCertificate({ names });
    const [keyFile, certFile] = [join(postgres.folder, 'key.pem'), join(postgres.folder, 'cert.pem')];
    rmSync(keyFile, { force: true });
    writeFileSync(keyFile, key, { mode: 0o600 });
    const { uid, gid } = statSync(postgres.dataFolder);
    chownSync(keyFile, uid, gid);
    writeFileSync(certFile, cert);
    // Stores in this process have restricted the permissions of files written from then on.
    chmodSync(certFile, 0o644);
    await restart({ ssl: 'on', ssl_cert_file: certFile, ssl_key_file: keyFile });
    return certFile;
  }

  test('encrypts, and requires the proof that the URL demands', async () => {
    const right = await restartWithTls(['localhost', '127.0.0.1']);
    const wrong = join(postgres.folder, 'wrong.pem');
    writeFileSync(wrong, makeTestCertificate().cert);
    const isEncrypted = 'SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()';
    for (const [host, parameters] of [
      ['127.0.0.1', '?sslmode=prefer'],
      ['127.0.0.1', '?sslmode=require'],
      ['127.0.0.1', `?sslmode=verify-ca&sslrootcert=${right}`],
      ['127.0.0.1', `?sslmode=verify-full&sslrootcert=${right}`],
      ['localhost', `?sslrootcert=${right}`],
    ] as const) {
      const rows = await runOn(urlOf('tls', 'postgres', parameters, host), isEncrypted);
      assert.deepEqual(rows, [{ ssl: true }], parameters);
    }
    const login = urlOf(`ada:${PASSWORD}`, 'postgres', '?sslmode=require');
    assert.deepEqual(await runOn(login, isEncrypted), [{ ssl: true }], 'with a password');
    for (const mode of ['require', 'verify-ca', 'verify-full']) {
      const parameters = `?sslmode=${mode}&sslrootcert=${wrong}`;
      await expectRefusal(urlOf('tls', 'postgres', parameters), /could not prove who it is/);
    }
    await expectRefusal(urlOf('tls', 'postgres', '?sslmode=verify-full'), /could not prove who it is/);
    await expectRefusal(urlOf('tls', 'postgres', '?sslrootcert=/no/such.pem'), /cannot be read/);
  });

  test('requires the name in the certificate only with verify-full', async () => {
    const file = await restartWithTls(['db.example']);
    await runOn(urlOf('tls', 'postgres', `?sslmode=verify-ca&sslrootcert=${file}`), 'SELECT 1');
    const full = `?sslmode=verify-full&sslrootcert=${file}`;
    await expectRefusal(urlOf('tls', 'postgres', full), /could not prove who it is/);
    await expectRefusal(urlOf('tls', 'postgres', full, 'localhost'), /could not prove who it is/);
  });
});
