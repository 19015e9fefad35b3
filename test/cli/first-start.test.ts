import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { startServer } from '../../packages/server/src/compose/start-server.ts';
import { type Config, loadConfig } from '../../packages/server/src/config.ts';
import { openConnection } from '../../packages/server/src/store/postgres/wire/database.ts';
import { parseDatabaseUrl } from '../../packages/server/src/store/postgres/wire/database-url.ts';
import { temporaryFolder } from '../support/server-process.ts';
import { hasPostgres, sharedPostgres } from '../support/stores/postgres.ts';

const getPostgres = sharedPostgres();

type Flags = Readonly<Record<string, string>>;

/** Starts a server in this process, and stops it again. Answers what was announced. */
async function start(
  flags: Flags,
  completeConfig: (config: Config) => Promise<Config> = async (config) => config,
): Promise<string> {
  const given = { port: '0', 'log-level': 'error', ...flags };
  const announced: string[] = [];
  const server = await startServer({
    ...loadConfig({ flags: given, env: {}, file: null }),
    demo: false,
    completeConfig,
    env: {},
    announce: (text) => announced.push(text),
    onLost: () => {},
  });
  await server.stop();
  return announced.join();
}

/** A port that somebody has, until it is given back. */
async function takePort(t: TestContext) {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const free = async () => {
    if (server.listening) await new Promise((resolve) => server.close(resolve));
  };
  t.after(free);
  return { port: String((server.address() as AddressInfo).port), free };
}

const PASSWORD = /one-time password {2}\S+\n/;

describe('a first start that fails', () => {
  test('on a busy port creates nothing, and the next one shows the password', async (t) => {
    const parent = join(temporaryFolder(t), 'deep');
    const data = join(parent, 'data');
    const { port, free } = await takePort(t);
    await assert.rejects(start({ data, port }), /^Error: Cannot listen on 127\.0\.0\.1 port \d+: another/);
    assert.equal(existsSync(parent), false);
    await free();
    assert.match(await start({ data, port }), PASSWORD);
    assert.doesNotMatch(await start({ data, port }), /password/, 'shown once');
  });

  test('on a busy port starts nothing else', async (t) => {
    const data = join(temporaryFolder(t), 'data');
    const { port } = await takePort(t);
    const complete = () => assert.fail('nothing is started before the port is bound');
    await assert.rejects(start({ data, port }, complete), /Cannot listen/);
  });

  test('on an address that this machine does not have creates nothing', async (t) => {
    const data = join(temporaryFolder(t), 'data');
    await assert.rejects(start({ data, host: '203.0.113.1' }), /this machine does not have this address/);
    assert.equal(existsSync(data), false);
  });

  test('because of a certificate creates nothing', async (t) => {
    const folder = temporaryFolder(t);
    const file = join(folder, 'bad.pem');
    writeFileSync(file, 'no certificate');
    const data = join(folder, 'data');
    await assert.rejects(start({ data, 'tls-cert': file, 'tls-key': file }));
    assert.equal(existsSync(data), false);
  });

  test('because of its control socket keeps the password for the next one', async (t) => {
    const data = join(temporaryFolder(t), 'data');
    const socket = join(data, 'berth.sock');
    mkdirSync(socket, { recursive: true, mode: 0o700 });
    const announced: string[] = [];
    await assert.rejects(
      start({ data }).then((text) => announced.push(text)),
      /^Error: Cannot open the control socket \S+berth\.sock: /,
    );
    assert.deepEqual(announced, []);
    rmdirSync(socket);
    assert.match(await start({ data }), PASSWORD);
  });

  test('leaves an empty database empty', async (t) => {
    if (!hasPostgres) return t.skip('optional: needs PostgreSQL');
    const url = await (await getPostgres()).createDatabase();
    const connection = await openConnection({
      target: parseDatabaseUrl(url),
      prepareStatements: true,
      connectTimeoutMs: 10_000,
      answerTimeoutMs: 30_000,
    });
    t.after(() => connection.close());
    const listTables = () => connection.query("SELECT tablename FROM pg_tables WHERE schemaname = 'public'");
    const data = join(temporaryFolder(t), 'data');
    const { port, free } = await takePort(t);
    const flags = { data, port, 'database-url': url };
    await assert.rejects(start(flags), /Cannot listen/);
    assert.deepEqual([(await listTables()).length, existsSync(data)], [0, false]);
    await free();
    assert.match(await start(flags), PASSWORD);
    assert.ok((await listTables()).length > 0);
  });
});

test('a request before the server is ready is told to try again', async (t) => {
  const data = join(temporaryFolder(t), 'data');
  const { port, free } = await takePort(t);
  await free();
  const early: unknown[] = [];
  await start({ data, port }, async (config) => {
    const response = await fetch(`http://127.0.0.1:${port}/api/v4/health`);
    early.push(response.status, response.headers.get('retry-after'), await response.json());
    return config;
  });
  assert.deepEqual(early, [
    503,
    '1',
    {
      status: 503,
      code: 'store_unavailable',
      message: 'The server is starting. Try again in a moment.',
    },
  ]);
  assert.ok(readdirSync(data).includes('berth.db'));
});
