import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, describe, type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { runBerth } from '../support/berth-command.ts';
import { findForms, type Secret } from '../support/secret-search.ts';
import { askDatabase, describeStores, dumpDatabase, findDatabase } from '../support/stores/test-stores.ts';
import {
  addAccount,
  createToken,
  type FreshServer,
  OWN_PASSWORD,
  startFreshProcess,
  startFreshServer,
} from './doors/set-up-server.ts';

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly text: string;
}

type Headers = Readonly<Record<string, string>>;

interface SendOptions {
  readonly method?: string;
  readonly headers?: Headers;
  readonly body?: string;
  /** The address to come from. */
  readonly from?: string | undefined;
}

/** A request over a connection of its own: fetch can neither choose its address nor leave headers out. */
function send(url: string, { method = 'GET', headers = {}, body, from = '127.0.0.1' }: SendOptions = {}) {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const agent = new Agent({ keepAlive: false });
  const outgoing = request(url, { method, headers, agent, localAddress: from }, async (incoming) => {
    const text = (await incoming.setEncoding('utf8').toArray()).join('');
    resolve({ status: incoming.statusCode as number, headers: incoming.headers, text });
  });
  outgoing.on('error', reject).end(body);
  return promise;
}

function basic(name: string, password: string): Headers {
  return { authorization: `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}` };
}

/** The two ways in which a token is shown: by programs and by browsers. */
const inHeader = (token: string): Headers => ({ authorization: `Bearer ${token}` });
const inCookie = (token: string): Headers => ({ cookie: `berth=${token}` });

/** Who the server takes us for. */
function ask(url: string, headers: Headers): Promise<Answer> {
  return send(`${url}/api/admin/session`, { headers });
}

/** The two ways in with a name and a password: that of programs and that of browsers. */
const WAYS_IN = {
  '/auth': (url: string, name: string, password: string, from?: string) =>
    send(`${url}/auth`, { headers: basic(name, password), from }),
  '/api/admin/session/start': (url: string, name: string, password: string, from?: string) =>
    send(`${url}/api/admin/session/start`, {
      method: 'POST',
      body: JSON.stringify({ name, password }),
      from,
    }),
} as const;

/** For tests that change nothing that others look at; each guesses from an address of its own. */
const shared = await startFreshServer({ after });
await addAccount(shared.data, 'ada', 'operator');

describe('a name and a password', () => {
  for (const [path, signIn] of Object.entries(WAYS_IN)) {
    test(`of which one is wrong: ${path} does not say which`, async () => {
      const { url } = shared;
      const answers = [
        await signIn(url, 'admin', 'a wrong password'),
        await signIn(url, 'nobody', 'a wrong password'),
      ].map(({ status, headers, text }) => ({ status, text, headers: { ...headers, date: null } }));
      assert.equal(answers[0]?.status, 401);
      assert.deepEqual(answers[0], answers[1]);
    });
  }

  test('that are usual elsewhere are wrong here', async (t) => {
    const { url } = await startFreshServer(t, { args: ['--no-auth-throttle-sign-ins'] });
    const passwords = ['', 'admin', 'berth', 'password', 'changeme', '123456', 'demo', 'root', 'admin123'];
    const pairs = passwords.map((password) => ['admin', password] as const);
    const others = ['root', 'berth', 'demo', 'user', 'Admin', 'control', 'local', 'server'];
    for (const [name, password] of [...pairs, ...others.map((name) => [name, name] as const)]) {
      const { status, text } = await WAYS_IN['/auth'](url, name, password);
      assert.equal(status, 401, `${name}:${password} ${text}`);
    }
  });

  test('are made up by every server for itself', async (t) => {
    const [one, other] = [shared, await startFreshServer(t)];
    assert.notEqual(one.oneTimePassword, other.oneTimePassword);
    assert.equal((await WAYS_IN['/auth'](one.url, 'admin', other.oneTimePassword)).status, 401);
    assert.equal((await WAYS_IN['/auth'](one.url, 'admin', one.oneTimePassword)).status, 200);
  });
});

/** All at once, as somebody who guesses would: those that are not looked at are told to wait. */
async function guessWrong(url: string, name: string, from: string): Promise<void> {
  const signIn = WAYS_IN['/auth'];
  const guesses = Array.from({ length: 50 }, (_, n) => signIn(url, name, `wrong guess ${n}`, from));
  const statuses = (await Promise.all(guesses)).map(({ status }) => status);
  assert.deepEqual([...new Set(statuses)].sort(), [401, 429]);
}

const LEAST_WAIT_SECONDS = 6;

/** One more guess. On a busy machine the wait may be nearly over: then it is made longer by more guesses. */
async function guessOnceMore(guess: () => Promise<Answer>): Promise<Answer> {
  let answer = await guess();
  for (let n = 0; n < 5; n++) {
    const seconds = Number(answer.headers['retry-after'] ?? 0);
    if (seconds >= LEAST_WAIT_SECONDS) break;
    await delay(seconds * 1000);
    answer = await guess();
  }
  return answer;
}

function expectSlowed({ status, headers, text }: Answer): void {
  assert.equal(status, 429, text);
  assert.equal(JSON.parse(text).code, 'too_many_requests');
  assert.match(String(headers['retry-after']), /^[1-9]\d*$/);
}

/** Wrong passwords are counted in memory, whatever the data is in. */
describe('fifty wrong passwords for one account from one address', () => {
  for (const [index, [path, signInFrom]] of Object.entries(WAYS_IN).entries()) {
    const [here, elsewhere] = [`127.0.1.${index + 1}`, `127.0.2.${index + 1}`];

    test(`slow down ${path} for that account and address, and for nobody else`, async (t) => {
      if (process.platform !== 'linux') return t.skip('optional: needs Linux');
      const { url, oneTimePassword } = shared;
      const signIn = async (name: string, password: string, from = here) =>
        signInFrom(url, name, password, from);
      await guessWrong(url, 'admin', here);
      expectSlowed(await guessOnceMore(() => signIn('admin', 'one more')));
      expectSlowed(await signIn('admin', oneTimePassword));
      const { status } = await signIn('admin', oneTimePassword, elsewhere);
      assert.equal(status, 200, 'the same account from another address');
      assert.equal((await signIn('admin', oneTimePassword)).status, 429, 'and still from the first');
      assert.equal((await signIn('admin', 'a slip', elsewhere)).status, 401);
      assert.equal((await signIn('ada', OWN_PASSWORD)).status, 200, 'another account');
      assert.equal((await signIn('ada', 'a slip')).status, 401, 'another account, wrongly');
      assert.equal((await signIn('nobody', 'a slip')).status, 401, 'an account that does not exist');
    });
  }

  test('slow down an account that does not exist in the same way', async (t) => {
    if (process.platform !== 'linux') return t.skip('optional: needs Linux');
    const { url } = shared;
    await guessWrong(url, 'nobody', '127.0.3.1');
    // Otherwise the wait would tell which accounts there are.
    expectSlowed(await guessOnceMore(() => WAYS_IN['/auth'](url, 'nobody', 'one more', '127.0.3.1')));
  });
});

/** All that the server keeps and writes, as somebody finds it who may read everything but its memory. */
async function readEverything(folder: string, log: string): Promise<ReadonlyMap<string, Buffer>> {
  const files = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isFile());
  const found = files.map(({ name }) => [name, readFileSync(join(folder, name))] as const);
  const database = Buffer.from(await dumpDatabase(folder));
  return new Map([...found, ['the log', Buffer.from(log)], ['the database', database]]);
}

/** A token as it is sent, and the random bytes that it is made of. */
function tokenSecrets(token: string): readonly Secret[] {
  return [token, Buffer.from(token, 'base64url')];
}

async function issueTokens({ url, data, oneTimePassword }: FreshServer): Promise<Record<string, string>> {
  const auth = await WAYS_IN['/auth'](url, 'admin', oneTimePassword);
  const browser = await WAYS_IN['/api/admin/session/start'](url, 'admin', oneTimePassword);
  const session = /^berth=([\w-]+);/.exec(String(browser.headers['set-cookie']))?.[1] as string;
  return { auth: JSON.parse(auth.text).token, session, api: await createToken(data, 'admin') };
}

async function readTokenRows(folder: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
  if (findDatabase(folder) !== null) return askDatabase(folder, 'SELECT * FROM token');
  const db = new DatabaseSync(join(folder, 'berth.db'), { readOnly: true });
  try {
    return db.prepare('SELECT * FROM token').all();
  } finally {
    db.close();
  }
}

/** Every token is used, so that whatever its use writes is written. */
async function useTokens(url: string, tokens: Readonly<Record<string, string>>): Promise<void> {
  for (const [kind, token] of Object.entries(tokens)) {
    const { status, text } = await ask(url, kind === 'session' ? inCookie(token) : inHeader(token));
    assert.equal(status, 200, `${kind} ${text}`);
  }
}

async function startTalkative(t: TestContext) {
  const args = [
    '--log-requests',
    '--log-level',
    'debug',
    '--log-format',
    'json',
    '--log-slow-request-ms',
    '1',
  ];
  return startFreshProcess(t, { args });
}

describeStores('what the server keeps of a token', (store) => {
  test('is neither the token nor anything that it can be made from', async (t) => {
    const server = await startTalkative(t);
    const tokens = await issueTokens(server);
    await useTokens(server.url, tokens);
    const audit = await runBerth(server.data, ['audit', 'list', '--json']);
    const running = await readEverything(server.data, server.process.readLog() + audit.stdout);
    if (store === 'SQLite') assert.ok(running.has('berth.db-wal'), [...running.keys()].join(' '));
    await server.process.stop();
    const stopped = await readEverything(server.data, server.process.readLog());
    const database = stopped.get(store === 'SQLite' ? 'berth.db' : 'the database');

    for (const [kind, token] of Object.entries(tokens)) {
      for (const places of [running, stopped]) {
        for (const [where, bytes] of places) {
          const finds = tokenSecrets(token).flatMap((secret) => findForms(bytes, secret));
          assert.deepEqual(finds, [], `the ${kind} token in ${where}`);
        }
      }
      const hash = createHash('sha256').update(token).digest('hex');
      assert.ok(database?.includes(hash), 'this is where it would be');
    }
  });

  test('opens no door', async (t) => {
    const server = await startFreshServer(t);
    await issueTokens(server);
    const kept = (await readTokenRows(server.data)).flatMap((row) => Object.values(row));
    const texts = kept.filter((value) => typeof value === 'string');
    assert.equal(texts.filter((text) => /^[0-9a-f]{64}$/.test(text)).length, 3);
    const guesses = texts.flatMap((text) => [text, Buffer.from(text, 'hex').toString('base64url')]);
    for (const guess of guesses.filter((text) => text !== '')) {
      for (const headers of [inHeader(guess), inCookie(guess)]) {
        const { status } = await ask(server.url, headers);
        assert.equal(status, 401, JSON.stringify(headers));
      }
    }
  });
});
