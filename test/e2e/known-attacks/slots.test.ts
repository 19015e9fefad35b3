import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { askBerth, runBerth } from '../../support/berth-command.ts';
import { pollUntil } from '../../support/poll.ts';
import { startServerHere } from '../../support/server-here.ts';
import { seedLicenses, startServerProcess, temporaryFolder } from '../../support/server-process.ts';
import { testLicense } from '../../support/test-license.ts';
import { createToken } from '../doors/set-up-server.ts';

/** What a penetration test found about slots and the records of them, attacked on a real server. */

const ATTACKER = '127.0.0.66';
const COLLEAGUE = '127.0.0.77';

const skip = process.platform === 'darwin' ? 'optional: this platform has one loopback address' : false;

interface Site {
  readonly data: string;
  readonly server: { readonly url: string };
}

/** What an address may have of the product. */
const LIMITS = 'products: { cad: { limit: [{ slots: 3, each: address }], borrow: { perAddress: 1 } } }';

function writeRules(data: string): void {
  writeFileSync(join(data, 'rules.yaml'), LIMITS);
}

async function startSite(
  t: TestContext,
  slots: number,
  args: readonly string[] = [],
  isLimited = false,
): Promise<Site> {
  const data = join(temporaryFolder(t), 'data');
  await seedLicenses(data, [testLicense(1, { slots })]);
  if (isLimited) writeRules(data);
  const server = await startServerHere({ data, args });
  t.after(server.stop);
  return { data, server };
}

/** What a server that listens to others logs when it starts. */
async function readFirstLog(t: TestContext, args: readonly string[], isLimited = false): Promise<string> {
  const data = temporaryFolder(t);
  if (isLimited) writeRules(data);
  const server = await startServerProcess({ data, args: ['--host', COLLEAGUE, ...args] });
  await server.stop();
  return server.readLog();
}

/** Sends a request from one of the machine's own addresses. Answers its status and code. */
function post(
  { server }: Site,
  path: string,
  body: object,
  { from = '127.0.0.1', token = '' }: { readonly from?: string; readonly token?: string } = {},
): Promise<string> {
  const { hostname, port } = new URL(server.url);
  const headers = {
    'content-type': 'application/json',
    ...(token === '' ? {} : { authorization: `Bearer ${token}` }),
  };
  return new Promise((resolve, reject) => {
    const options = { method: 'POST', hostname, port, path, headers, localAddress: from, agent: false };
    const sent = request(options, (answer) => {
      let text = '';
      answer.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
      });
      answer.on('end', () => resolve(answer.statusCode === 200 ? 'ok' : JSON.parse(text).code));
    });
    sent.on('error', reject).end(JSON.stringify(body));
  });
}

function count(codes: readonly string[]): Readonly<Record<string, number>> {
  const groups = Map.groupBy(codes, (code) => code);
  return Object.fromEntries([...groups].map(([code, same]) => [code, same.length]));
}

function borrowMany(site: Site, amount: number, from: string): Promise<readonly string[]> {
  const names = Array.from({ length: amount }, (_, index) => `invented-${index}`);
  return Promise.all(names.map((user) => post(site, '/api/v4/borrow', { user }, { from })));
}

async function listAddresses({ data }: Site): Promise<Readonly<Record<string, number>>> {
  const { registrations } = await askBerth<{ registrations: { address: string }[] }>(data, [
    'registration',
    'list',
  ]);
  return count(registrations.map(({ address }) => address));
}

describe('slot exhaustion', { skip }, () => {
  test('by one anonymous client who borrows everything can be undone at once, each time', async (t) => {
    const site = await startSite(t, 5);
    assert.equal(await post(site, '/api/v4/register', { user: 'ann' }, { from: COLLEAGUE }), 'ok');
    for (let round = 0; round < 2; round++) {
      assert.deepEqual(count(await borrowMany(site, 8, ATTACKER)), { ok: 4, floating_not_available: 4 });
      assert.deepEqual(await listAddresses(site), { [COLLEAGUE]: 1, [ATTACKER]: 4 });
      const { code, stdout } = await runBerth(site.data, ['registration', 'release', '--address', ATTACKER]);
      assert.deepEqual([code, stdout], [0, 'Released 4 slots.\n']);
      assert.deepEqual(await listAddresses(site), { [COLLEAGUE]: 1 });
    }
  });

  test('ends at the limits of an address, however many requests come at once', async (t) => {
    const site = await startSite(t, 50, [], true);
    assert.deepEqual(count(await borrowMany(site, 30, ATTACKER)), { ok: 1, address_limit_reached: 29 });
    const users = Array.from({ length: 30 }, (_, index) => `plain-${index}`);
    const plain = users.map((user) => post(site, '/api/v4/register', { user }, { from: ATTACKER }));
    assert.deepEqual(count(await Promise.all(plain)), { ok: 2, floating_not_available: 28 });
    assert.equal(await post(site, '/api/v4/borrow', { user: 'ann' }, { from: COLLEAGUE }), 'ok');
    assert.equal(
      await post(site, '/api/v4/register', { user: 'ann' }, { from: ATTACKER }),
      'ok',
      'a renewal',
    );
  });

  test('by invented names that repeat the call keeps free slots from nobody', async (t) => {
    const site = await startSite(t, 6, ['--lending-hold-for-retries', '30'], true);
    const names = Array.from({ length: 9 }, (_, index) => `invented-${index}`);
    const codes: string[] = [];
    for (const user of names) codes.push(await post(site, '/api/v4/register', { user }, { from: ATTACKER }));
    assert.deepEqual(count(codes), { ok: 3, floating_not_available: 6 });
    for (const user of ['ann', 'bob', 'cem'])
      assert.equal(await post(site, '/api/v4/register', { user }, { from: COLLEAGUE }), 'ok');
  });

  test('causes a warning if a server listens to others without those limits', async (t) => {
    const first = await readFirstLog(t, []);
    assert.match(first, /limit the slots of each address in the rules/);
    assert.match(first, /set http.clientRequestsPerMinute/);
    const rate = ['--http-client-requests-per-minute', '600'];
    assert.doesNotMatch(await readFirstLog(t, rate, true), /limit the slots|clientRequestsPerMinute/);
  });

  test('by returning what others hold is refused if clients authenticate', async (t) => {
    const site = await startSite(t, 5, ['--auth-clients', 'required']);
    const [token, operator] = await Promise.all(
      ['user', 'operator'].map((role) => createToken(site.data, role)),
    );
    const { stdout } = await runBerth(site.data, ['token', 'create', 'attacker', '--role', 'user']);
    const attacker = /^[\w-]{43}$/m.exec(stdout)?.[0] as string;
    for (const user of ['ann', 'bob']) {
      assert.equal(await post(site, '/api/v4/borrow', { user }, { token: token as string }), 'ok');
    }
    const giveBack = (user: string, shown: string | undefined) =>
      post(site, '/api/v4/unregister', { user }, { token: shown as string });
    assert.equal(await giveBack('ann', attacker), 'slot_of_another_client');
    assert.equal(await giveBack('ann', token), 'ok');
    assert.equal(await giveBack('bob', operator), 'ok');
  });
});

interface DeniedEvent {
  readonly kind: string;
  readonly repeated: number;
}

describe('audit growth', { skip }, () => {
  test('by taking and returning slots under new names is bounded for an address', async (t) => {
    const site = await startSite(t, 5, ['--limits-new-slots-per-hour', '20']);
    assert.equal(await post(site, '/api/v4/register', { user: 'eve' }, { from: ATTACKER }), 'ok');
    const codes: string[] = [];
    for (let n = 0; n < 100; n++) {
      const body = { user: `invented-${n}` };
      codes.push(await post(site, '/api/v4/register', body, { from: ATTACKER }));
      if (codes.at(-1) === 'ok') await post(site, '/api/v4/unregister', body, { from: ATTACKER });
    }
    assert.deepEqual(count(codes), { ok: 19, address_limit_reached: 81 });
    assert.equal(
      await post(site, '/api/v4/register', { user: 'eve' }, { from: ATTACKER }),
      'ok',
      'a renewal',
    );
    assert.equal(await post(site, '/api/v4/register', { user: 'ann' }, { from: COLLEAGUE }), 'ok');
    assert.equal(await post(site, '/api/v4/unregister', { user: 'eve' }, { from: ATTACKER }), 'ok');
    const words = ['audit', 'list', '--license-id', '1', '--limit', '5000'];
    const { events } = await askBerth<{ events: { kind: string }[] }>(site.data, words);
    const { slot_lent, slot_returned } = count(events.map(({ kind }) => kind));
    assert.deepEqual(
      { slot_lent, slot_returned },
      { slot_lent: 21, slot_returned: 20 },
      'each has its events',
    );
  });

  test('by denials of invented users is bounded, and their number is exact', async (t) => {
    const site = await startSite(t, 0, ['--sweeper-interval-seconds', '1']);
    const names = Array.from({ length: 700 }, (_, index) => `${index}`.padStart(256, 'x'));
    for (let start = 0; start < names.length; start += 100) {
      const some = names.slice(start, start + 100);
      const codes = await Promise.all(
        some.map((user) => post(site, '/api/v4/register', { user }, { from: ATTACKER })),
      );
      assert.deepEqual(count(codes), { floating_not_available: 100 });
    }
    const refused = await post(site, '/api/v4/register', { user: 'ann' }, { from: COLLEAGUE });
    assert.equal(refused, 'floating_not_available');
    const words = ['audit', 'list', '--license-id', '1', '--limit', '5000'];
    const told = await pollUntil('all of them are in the log', async () => {
      const { events } = await askBerth<{ events: DeniedEvent[] }>(site.data, words);
      const firsts = events.filter(({ kind }) => kind === 'slot_denied').length;
      const repeats = events.filter(({ kind }) => kind === 'denials_repeated');
      const all = repeats.reduce((sum, { repeated }) => sum + repeated, firsts);
      return all < 701 ? undefined : { firsts, all };
    });
    assert.deepEqual(told, { firsts: 501, all: 701 });
    assert.equal((await runBerth(site.data, ['audit', 'verify'])).code, 0);
  });
});
