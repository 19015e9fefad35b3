import assert from 'node:assert/strict';
import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { Answer, Facts } from '../support/berth-api.ts';
import { pollUntil } from '../support/poll.ts';
import { ServerUnderTest } from '../support/server-under-test.ts';
import { testLicense } from '../support/test-license.ts';

const CALLERS = 16;
const REST_MS = 10;

const DENIAL_WINDOW_MS = 60_000;

/** As an administrator should: the file is there in one moment, whole. */
function replaceRules(data: string, text: string): void {
  const file = join(data, 'rules.yaml');
  writeFileSync(`${file}.new`, text);
  renameSync(`${file}.new`, file);
}

/** One who asks again and again over a connection of its own, and remembers what it heard last. */
interface Caller {
  readonly user: string;
  asked: number;
  last: string;
}

const isBarred = ({ user }: Caller) => user.startsWith('ext-');

/** Everybody asks until the test is over; an answer that is none, or a 5xx, is a failure. */
class Crowd {
  readonly callers: readonly Caller[] = Array.from({ length: CALLERS }, (_, index) => ({
    user: `${index % 2 === 0 ? 'ext' : 'int'}-${index}`,
    asked: 0,
    last: '',
  }));
  readonly failures: string[] = [];
  readonly #server: ServerUnderTest;
  #isOver = false;
  readonly #work: Promise<unknown>;

  constructor(t: TestContext, server: ServerUnderTest) {
    this.#server = server;
    this.#work = Promise.all(this.callers.map((caller) => this.#askAgainAndAgain(caller)));
    t.after(() => this.end());
  }

  async end(): Promise<void> {
    this.#isOver = true;
    await this.#work;
  }

  /** Waits until everybody has been answered once more, and by then hears what they should. */
  async expect(what: string, codeOf: (caller: Caller) => string): Promise<void> {
    const isSo = () => (this.callers.every((one) => one.last === codeOf(one)) ? true : undefined);
    await pollUntil(what, isSo).catch((error: Error) => {
      throw new Error(`${error.message} ${JSON.stringify(this.callers)}`);
    });
    const asked = this.callers.map((caller) => caller.asked);
    await pollUntil('another round', () =>
      this.callers.every((caller, index) => caller.asked > (asked[index] ?? 0) + 1) ? true : undefined,
    );
    for (const caller of this.callers) assert.equal(caller.last, codeOf(caller), `${caller.user}: ${what}`);
  }

  async #askAgainAndAgain(caller: Caller): Promise<void> {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    while (!this.#isOver) {
      const answer = await send(this.#server, { user: caller.user }, { agent }).catch(String);
      const isExpected = typeof answer !== 'string' && (answer.status === 200 || answer.status === 400);
      if (!isExpected) this.failures.push(JSON.stringify(answer));
      caller.last = typeof answer === 'string' ? answer : String(answer.body.code ?? 'granted');
      caller.asked += 1;
      await delay(REST_MS);
    }
    agent.destroy();
  }
}

function send(
  server: ServerUnderTest,
  fields: Facts,
  options: { readonly agent?: Agent; readonly localAddress?: string } = {},
): Promise<Answer> {
  const headers = { 'content-type': 'application/json' };
  return new Promise((resolve, reject) => {
    const url = `${server.url}/api/v4/register`;
    const outgoing = request(url, { method: 'POST', headers, ...options }, async (incoming) => {
      try {
        const text = (await incoming.toArray()).join('');
        resolve({ status: incoming.statusCode ?? 0, text, body: JSON.parse(text) as Facts });
      } catch (error) {
        reject(error);
      }
    });
    outgoing.on('error', reject);
    outgoing.end(JSON.stringify({ product: 'cad', ...fields }));
  });
}

/** Everybody who was barred has a denial in the log, and another one only when a minute is over. */
function expectFolded(events: readonly Facts[]): void {
  const denied = Map.groupBy(
    events.filter(({ kind }) => kind === 'slot_denied'),
    ({ user }) => user,
  );
  assert.equal(denied.size, CALLERS / 2);
  for (const [user, denials] of denied) {
    const instants = denials.map(({ at }) => Date.parse(at as string)).sort((a, b) => a - b);
    for (const [index, at] of instants.slice(1).entries()) {
      assert.ok(at - (instants[index] ?? 0) >= DENIAL_WINDOW_MS, `repeats of ${user} are folded`);
    }
  }
}

describe('the rules file', () => {
  test('takes effect soon, and affects nobody else', async (t) => {
    const licenses = [testLicense(7, { slots: CALLERS })];
    const server = await ServerUnderTest.start(t, { licenses, isHere: true });
    const crowd = new Crowd(t, server);
    await crowd.expect('everybody has a slot', () => 'granted');

    replaceRules(server.data, 'deny: {users: ["EXT-*"]}');
    await crowd.expect('those outside are barred', (one) => (isBarred(one) ? 'blacklisted' : 'granted'));

    replaceRules(server.data, 'deny: {users: [');
    await pollUntil('the broken file is told', async () => {
      const { body } = await server.api.get('/api/admin/rules');
      return body.file_error === null ? undefined : body;
    });
    await crowd.expect('a broken file changes nothing', (one) => (isBarred(one) ? 'blacklisted' : 'granted'));

    rmSync(join(server.data, 'rules.yaml'));
    await crowd.expect('nor does a lost file', (one) => (isBarred(one) ? 'blacklisted' : 'granted'));
    replaceRules(server.data, 'deny: {}');
    await crowd.expect('everybody has a slot again', () => 'granted');

    await crowd.end();
    assert.deepEqual(crowd.failures, []);
    const events = await server.api.eventsAfter(0);
    assert.equal(events.filter(({ kind }) => kind === 'rules_changed').length, 2);
    expectFolded(events);
    assert.equal((await server.api.verifyAudit()).ok, true);
  });

  test('bars by the address of the connection', async (t) => {
    const server = await ServerUnderTest.start(t, { licenses: [testLicense(7)], isHere: true });
    const askFrom = (localAddress: string) => send(server, { user: 'ada' }, { localAddress });
    assert.equal((await askFrom('127.0.0.2')).status, 200);
    replaceRules(server.data, 'deny: {addresses: [127.0.0.2/31]}');
    const { status, body } = await pollUntil('the address is barred', async () => {
      const answer = await askFrom('127.0.0.2');
      return answer.status === 200 ? undefined : answer;
    });
    assert.deepEqual([status, body.code, body.barred], [400, 'blacklisted', 'address']);
    assert.equal((await askFrom('127.0.0.3')).body.code, 'blacklisted');
    assert.equal((await askFrom('127.0.0.1')).status, 200);
    const denied = (await server.api.eventsAfter(0)).find(({ kind }) => kind === 'slot_denied');
    assert.equal(denied?.origin, '127.0.0.2');
  });

  test('is in force from the first request on', async (t) => {
    const server = ServerUnderTest.make(t);
    replaceRules(server.data, 'deny: {users: [mallory]}');
    await server.start({ args: ['--demo'], isHere: true });
    const { body } = await send(server, { product: 'demo', user: 'mallory' });
    assert.equal(body.code, 'blacklisted');
  });
});
