import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { exampleLicense } from '../../packages/server/test/core/examples.ts';
import { BerthApi } from '../support/berth-api.ts';
import { startServerHere } from '../support/server-here.ts';
import { seedLicenses, temporaryFolder } from '../support/server-process.ts';
import { startBefore } from '../support/start-before.ts';
import { checkServer } from './conformance.ts';
import type { Received } from './exchange.ts';

async function check(...args: readonly string[]) {
  let said = '';
  const print = (text: string) => {
    said += text;
  };
  const code = await checkServer(args, print, print);
  const linesOf = (result: string) => said.split('\n').filter((line) => line.startsWith(result));
  return { code, said, failed: linesOf('FAIL'), passed: linesOf('pass'), skipped: linesOf('skip') };
}

let data: string;
let url: string;
startBefore(async (life) => {
  data = temporaryFolder(life);
  const server = await startServerHere({ data: join(data, 'demo'), args: ['--demo'] });
  life.after(server.stop);
  ({ url } = server);
});

describe('the conformance kit', () => {
  test('finds nothing wrong with Berth', async () => {
    const { code, said, passed, skipped } = await check(url, '--alone');
    assert.equal(code, 0, said);
    assert.ok(passed.length > 60);
    assert.equal(skipped.length, 2, 'what a license with consumption cannot show');
  });

  test('skips what the license does not have, and what would disturb others', async (t) => {
    const plain = join(data, 'plain');
    const facts = { source: 'offline', type: 'perpetual', canBorrow: false, features: [] } as const;
    await seedLicenses(plain, [exampleLicense({ ...facts, slots: 1 })]);
    const other = await startServerHere({ data: plain });
    t.after(other.stop);
    const { code, said, skipped } = await check(other.url, '--product', 'cad');
    assert.equal(code, 0, said);
    for (const reason of ['borrowing', 'no consumption', 'no feature', '--alone']) {
      assert.ok(
        skipped.some((line) => line.includes(reason)),
        reason,
      );
    }
  });

  test('authenticates, and skips what is for administrators', async (t) => {
    const guarded = join(data, 'guarded');
    await seedLicenses(guarded, [exampleLicense()]);
    const other = await startServerHere({ data: guarded, args: ['--auth-clients', 'required'] });
    t.after(other.stop);
    const api = new BerthApi(other.url);
    const { body } = await api.post('/api/admin/tokens/create', { name: 'kit', role: 'user' });
    await api.post('/api/admin/users/add', { name: 'kit', role: 'user', password: 'a long password' });
    const account = ['--user', 'kit', '--password', 'a long password'];
    const right = await check(other.url, '--alone', '--token', `${body.token}`, ...account);
    assert.equal(right.code, 0, right.said);
    assert.ok(right.passed.some((line) => line.includes('gives a token')));
    assert.ok(right.skipped.some((line) => line.includes('the token of an administrator')));
    assert.equal((await check(other.url)).code, 2, 'without a token, there is no license to see');
  });

  test('says when there is nothing to check', async () => {
    assert.match((await check()).said, /^npm run conformance -- URL/);
    assert.match((await check(url, '--unknown')).said, /unknown/);
    const { code, said } = await check(url, '--product', 'no-such-product');
    assert.deepEqual([code, /answers no license:\n.*unknown_product/.test(said)], [2, true], said);
  });
});

type Answer = Pick<Received, 'status' | 'type' | 'text'>;
type Distort = (path: string, answer: Answer) => Partial<Answer>;

/** Passes requests on, and distorts the answers. */
async function startWrong(t: TestContext, distortions: readonly Distort[]): Promise<string> {
  const proxy = createServer(async (request, response) => {
    const { method = 'GET', url: path = '/', headers } = request;
    const content = Buffer.concat(await request.toArray());
    const kept = ['authorization', 'content-type'].filter((name) => headers[name] !== undefined);
    const answer = await fetch(new URL(path, url), {
      method,
      headers: kept.map((name): [string, string] => [name, String(headers[name])]),
      body: method === 'GET' ? null : content,
    });
    let told: Answer = {
      status: answer.status,
      type: answer.headers.get('content-type') ?? '',
      text: await answer.text(),
    };
    for (const distort of distortions) told = { ...told, ...distort(path, told) };
    response.writeHead(told.status, { 'content-type': told.type }).end(told.text);
  }).listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  t.after(() => proxy.close());
  return `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
}

/** Changes the object in answers that are no errors. */
function change(on: RegExp, facts: (body: Record<string, unknown>) => object): Distort {
  return (path, { text, status }) => {
    if (!on.test(path) || status !== 200 || !text.startsWith('{')) return {};
    const body = JSON.parse(text);
    return { text: JSON.stringify({ ...body, ...facts(body) }) };
  };
}

let calls = 0;

/** One thing that is wrong, and at which lines the kit finds it, with which words. */
const WRONG: Readonly<
  Record<
    string,
    { readonly distort: Distort; readonly fails: readonly (readonly [string | RegExp, RegExp])[] }
  >
> = {
  'a field that is null': {
    distort: change(/v4\/register$/, () => ({ grace_period: null })),
    fails: [
      ['POST /register: lends a slot and answers the license', /"grace_period" is null/],
      ['POST /register: ids, counts and license_json agree', /another "grace_period"/],
    ],
  },
  'a hardware id': {
    distort: change(/v4\/register$/, () => ({ hardware_id: 'h' })),
    fails: [['POST /register: never has the hardware id', /"hardware_id" must not be there/]],
  },
  'a heartbeat that takes another slot': {
    distort: change(/v4\/register$/, () => {
      calls += 1;
      return { floating_in_use: calls, floating_slots_in_use: calls };
    }),
    fails: [['POST /register: a heartbeat keeps the slot', /"floating_in_use" is \d+, not \d+/]],
  },
  'a date of the year 1': {
    distort: change(/v4\/borrow$/, () => ({ borrowed_until: '0001-01-01T00:00:00Z' })),
    fails: [
      ['POST /borrow: registers and borrows', /"borrowed_until" is "0001/],
      ...Array(4).fill(['POST /borrow: reads a date', /"borrowed_until" is "0001/]),
      ['POST /borrow: takes borrow_until', /"borrowed_until" is "0001/],
      ...Array(3).fill(['POST /borrow: with ', /"borrowed_until" is "0001/]),
    ],
  },
  'a pong': {
    distort: (path) => (path === '/api/v5/ping' ? { status: 200, text: '{"message":"pong"}' } : {}),
    fails: [['GET /api/v5/ping: 404', /the status is 200, not 404/]],
  },
  'a status that means "network down"': {
    distort: (_, { text }) => (text.includes('floating_not_available') ? { status: 503 } : {}),
    fails: [['POST /register: when all slots are in use', /the status is 503, not 400/]],
  },
  'a page for an error': {
    distort: (path, { status }) =>
      status === 404 && path.startsWith('/api/v4') ? { type: 'text/html', text: '<h1>404</h1>' } : {},
    fails: [['any other path: is an error in JSON', /the body is no JSON object/]],
  },
  'a missing header': {
    distort: (path) => (/\/(check_license_feature|license\?.*)$/.test(path) ? { type: '' } : {}),
    fails: [
      ['POST /check_license_feature: lends', /the content type is "", not application\/json/],
      ['GET /license: answers the license', /the content type is "", not application\/json/],
    ],
  },
  'an object for a bare text': {
    distort: (path, { status }) =>
      path === '/api/v4/featureRelease' && status === 200 ? { text: '{"status":"ok"}' } : {},
    fails: [['POST /featureRelease: frees it', /the text is not feature_released/]],
  },
  'an error without its status': {
    distort: (_, { text }) =>
      text.includes('device_not_found') ? { text: '{"code":"device_not_found","message":"No slot."}' } : {},
    fails: [
      ['POST /unregister: refuses who has no slot', /"status" is undefined, not 400/],
      ['POST /unregister: gives a borrow back early', /"status" is undefined, not 400/],
      ...Array(4).fill([/unregister\/all: frees every slot/, /"status" is undefined, not 400/]),
    ],
  },
  'a list that is wrapped': {
    distort: (path, { text }) => (path.includes('/licenses?') ? { text: `{"licenses":${text}}` } : {}),
    fails: [['GET /licenses: lists', /the body is no JSON list/]],
  },
  'an object for an empty body': {
    distort: (path) => (path.endsWith('v4/unregister/all') ? { text: '{"status":"ok"}' } : {}),
    fails: Array(2).fill([/ \/unregister\/all: answers/, /the body is not empty/]),
  },
  'a call that says that it failed': {
    distort: (path) => (path.endsWith('feature_release/all') ? { status: 500 } : {}),
    fails: Array(2).fill([/ \/feature_release\/all: answers/, /the status is 500, not 200/]),
  },
  'a code for another machine': {
    distort: change(/airgap\/generate$/, () => ({ hardware_id: 'another' })),
    fails: [['POST /airgap/generate: signs', /not made for this hardware id/]],
  },
  'a refusal that is none': {
    distort: (path) => (path.endsWith('/setPassword') ? { status: 200 } : {}),
    fails: [['GET /setPassword: refuses', /the status is 200, not 400/]],
  },
  'a total that is a text': {
    distort: change(/add_consumption$/, ({ total_consumptions: total }) => ({
      total_consumptions: `${total}`,
    })),
    fails: [
      ['POST /add_consumption: counts', /"total_consumptions" is "\d+"/],
      ['POST /add_consumption: numbers and flags', /"total_consumptions" is "\d+", not \d+/],
    ],
  },
};

const DETAIL = /^(\S.*)\n {2}wrong: +(.*)\n {2}sent: +\S.*\n {2}received: \S/gm;

const isMeant = (line: string, meant: string | RegExp) =>
  typeof meant === 'string' ? line.startsWith(meant) : meant.test(line);

test('a server with many faults fails at the right lines, and at no other', async (t) => {
  const faults = Object.values(WRONG);
  const wrong = await startWrong(
    t,
    faults.map(({ distort }) => distort),
  );
  const { code, said, failed } = await check(wrong, '--alone');
  assert.equal(code, 1);
  const found = Array.from(said.matchAll(DETAIL), ([, line = '', why = '']) => ({ line, why }));
  assert.equal(found.length, failed.length, 'each says what was sent and received');
  for (const [title, { fails }] of Object.entries(WRONG)) {
    for (const [start, reason] of fails) {
      const index = found.findIndex(({ line, why }) => isMeant(line, start) && reason.test(why));
      assert.notEqual(index, -1, `${title}: ${start}`);
      found.splice(index, 1);
    }
  }
  assert.deepEqual(found, []);
});
