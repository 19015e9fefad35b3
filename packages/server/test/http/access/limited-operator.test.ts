import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import {
  CONTROL,
  FOREIGN,
  openTestApp,
  type SendOptions,
  type TestApp,
} from '../../../../../test/support/test-app.ts';
import { testLicense } from '../../../../../test/support/test-license.ts';
import { DEMO_LICENSE } from '../../../src/core/nouns/demo-license.ts';
import { DAY_MS, MINUTE_MS } from '../../../src/core/nouns/instant.ts';
import { licenseId } from '../../../src/core/nouns/license.ts';
import { defineRoute, type Route } from '../../../src/http/route.ts';
import { exampleFeature, exampleLimits } from '../../core/examples.ts';

/** Everything of the product that the operator must not see; no other text contains it. */
const MARK = 'xsecret';
const SECRET_ID = 987_654;
const GONE_ID = 987_655;
const SECRET_ADDRESS = '198.51.100.77';
const LEAKS = new RegExp(`${MARK}|${SECRET_ID}|${GONE_ID}|${SECRET_ADDRESS}`, 'i');

interface World {
  readonly product: string;
  readonly id: number;
  /** What names of users, hosts, features and programs begin with. */
  readonly mark: string;
  readonly address: string;
}

const OWN: World = { product: 'cad', id: 1, mark: 'own', address: '192.0.2.7' };
const SECRET: World = { product: `${MARK}-product`, id: SECRET_ID, mark: MARK, address: SECRET_ADDRESS };
const GONE: World = { ...SECRET, product: `${MARK}-gone`, id: GONE_ID };

async function install({ store }: TestApp, { product, id, mark }: World): Promise<void> {
  const features = [{ ...exampleFeature('render'), code: `${mark}-render` }];
  const terms = { slots: 2, consumption: exampleLimits(), maxBorrowHours: 24 };
  const facts = { product, source: 'cloud', features, ...terms } as const;
  const particulars = { ...DEMO_LICENSE.particulars, customer: { company_name: `${mark} customer` } };
  const license = testLicense(id, { ...facts, key: `${mark}-key`, particulars });
  await store.execute({ kind: 'install_license', license, by: 'test' });
}

/** Slots, a borrow, features, a denial, somebody who waits, consumption, returns. */
async function work(app: TestApp, { product, mark, address }: World): Promise<void> {
  const peer = { address, isControl: false };
  const post = async (path: string, user: string, more: object = {}) => {
    const host = { os_hostname: `${mark}-host`, user_info: `${mark} info`, instance: `${mark}-program` };
    const body = { product, user: `${mark}-${user}`, ...host, ...more };
    return app.post(`/api/v4/${path}`, body, { peer, headers: { authorization: `Bearer ${CLIENT.token}` } });
  };
  assert.equal((await post('register', 'ada')).status, 200);
  assert.equal((await post('borrow', 'bob')).status, 200);
  assert.equal((await post('featureRegister', 'ada', { feature: `${mark}-render` })).status, 200);
  assert.equal((await post('add_consumption', 'ada', { consumptions: 3 })).status, 200);
  assert.equal((await post('register', 'cy')).status, 400);
  app.clock.advance(2 * MINUTE_MS);
  assert.equal((await post('unregister', 'ada', { instance: undefined })).status, 200);
  assert.equal((await post('register', 'ada')).status, 200);
  const waits = { wait: { mode: 'stay', forMs: DAY_MS }, by: { name: 'client', address } } as const;
  const host = { hostname: `${mark}-host`, address: null, info: null };
  const who = { product, licenseId: null, user: `${mark}-dan`, host };
  assert.equal((await app.store.execute({ kind: 'register', ...who, ...waits })).kind, 'waiting');
}

/** The token of the applications; the same in both servers. */
const CLIENT = { token: '' };

async function openWorlds(ends: (() => unknown)[], others: readonly World[]): Promise<TestApp> {
  const options = { licenses: [], auth: { clients: 'required' } } as const;
  const app = await openTestApp({ after: (end) => ends.push(end) }, options);
  CLIENT.token = (await app.accounts.tokens.create({ name: 'apps', role: 'user', days: null }, 'test')).token;
  for (const world of [...others, OWN]) await install(app, world);
  for (const world of others) await workAtTheSameTime(app, world);
  await work(app, OWN);
  if (others.includes(GONE)) {
    await app.store.execute({ kind: 'remove_license', licenseId: licenseId(GONE_ID), by: `${MARK}-admin` });
  }
  return app;
}

/** In the time that the same work of our product takes later, so that both servers agree about the clock. */
async function workAtTheSameTime(app: TestApp, world: World): Promise<void> {
  const clock = { ...app.clock, advance: () => {} };
  await work({ ...app, clock }, world);
}

type Call = (path: string, options?: SendOptions & { readonly method?: string }) => Promise<string>;

/** Calls as an operator; the answers as text, without what differs between two servers. */
async function callAs(app: TestApp, products: readonly string[] | undefined): Promise<Call> {
  const name = `operator of ${products ?? 'all'}`;
  const { tokens } = app.accounts;
  const create = async () =>
    (await tokens.create({ name, role: 'operator', products, days: null }, 'test')).token;
  let token = await create();
  return async (path, { method = 'GET', ...options } = {}) => {
    const headers = { authorization: `Bearer ${token}`, ...options.headers };
    const { status, text } = await app.send(method, path, { peer: FOREIGN, ...options, headers });
    if (path.endsWith('/session/end')) token = await create();
    return `${status} ${text}`;
  };
}

const isOurs = ({ isForProducts, answer }: Route) => isForProducts === true && answer.kind !== 'events';

describe('an operator who is limited to a product', () => {
  const ends: (() => unknown)[] = [];
  let app: TestApp;
  let call: Call;
  before(async () => {
    app = await openWorlds(ends, [SECRET, GONE]);
    call = await callAs(app, ['cad', 'a product without a license']);
    const bar = { kind: 'user', pattern: `${MARK}-eve`, note: null } as const;
    await app.store.execute({ kind: 'add_bar', bar, by: 'test' });
    await app.accounts.add({ name: `${MARK}-admin`, role: 'admin', password: null }, 'test');
  });
  after(async () => {
    for (const end of ends) await end();
  });

  test('gets the same answers as on a server that has only this product', async () => {
    const alone = await openWorlds(ends, []);
    const callAlone = await callAs(alone, undefined);
    const queries = [
      '',
      '?license=1',
      '?license_id=1',
      '?by=day',
      '?sort=since&limit=1',
      '?limit=1&offset=1',
    ];
    let compared = 0;
    for (const route of app.routes.filter((one) => isOurs(one) && one.name !== 'admin_session')) {
      if (!route.methods.includes('GET')) continue;
      for (const query of queries) {
        // The other one also sees events of the server.
        if (route.name === 'admin_audit' && !query.startsWith('?license')) continue;
        for (const accept of ['application/json', 'text/csv']) {
          const path = route.paths[0] + query;
          const answer = await call(path, { headers: { accept } });
          const expected = await callAlone(path, { headers: { accept } });
          assert.equal(withoutNumbers(answer), withoutNumbers(expected), path);
          if (answer.startsWith('200')) compared += 1;
        }
      }
    }
    assert.ok(compared > 50, `${compared} answers`);
  });

  test('hears of the product only, while others are busy', async () => {
    const { token } = await app.accounts.tokens.create(
      { name: 'listener', role: 'operator', products: ['cad'], days: null },
      'test',
    );
    const headers = { authorization: `Bearer ${token}`, host: 'localhost:8080' };
    const { body } = await app.request('/api/admin/events?after=0', { headers }, FOREIGN);
    const reader = (body as ReadableStream<Uint8Array>).getReader();
    const control = { peer: CONTROL };
    await app.post('/api/v4/register', { product: SECRET.product, user: `${MARK}-zed` }, control);
    await app.post('/api/v4/register', { product: 'cad', user: 'the-last' }, control);
    await app.feed.poll();
    let text = '';
    while (!text.includes('the-last')) text += Buffer.from((await reader.read()).value ?? []).toString();
    assert.match(text, /own-ada/);
    assert.doesNotMatch(text, LEAKS);
    const { id } = (await app.accounts.tokens.list(100)).find(({ token: one }) => one.name === 'listener')
      ?.token ?? { id: '' };
    await app.accounts.tokens.revoke(id, 'test');
    await app.feed.beat();
    assert.equal((await reader.read()).done, true);
  });

  test('sees no text of another product, on any route', async () => {
    for (const route of app.routes.filter(({ answer }) => answer.kind !== 'events')) {
      for (const method of route.methods) {
        for (const accept of ['application/json', 'text/csv', 'text/plain']) {
          const body = method === 'POST' ? { body: {} } : {};
          const path = route.paths[0];
          const answer = await call(path, { method, ...body, headers: { accept } });
          assert.doesNotMatch(answer, LEAKS, `${method} ${path}`);
          // A token signs in to no account.
          if (route.isForProducts && !['own', 'password'].includes(route.access))
            assert.match(answer, /^(200|204|400) /, `${method} ${path}`);
          else if (route.access !== 'public') assert.match(answer, /^403 /, `${method} ${path}`);
        }
      }
    }
  });

  test('cannot tell another product from one that does not exist', async () => {
    const pairs: Readonly<Record<string, readonly (readonly [unknown, unknown])[]>> = {
      product: [[SECRET.product, 'no-product']],
      license: [
        [SECRET_ID, 55_555],
        [GONE_ID, 55_555],
        [SECRET.product, 'no-product'],
      ],
      license_id: [
        [SECRET_ID, 55_555],
        [GONE_ID, 55_555],
      ],
      user: [[`${MARK}-ada`, 'nobody']],
      search: [[MARK, 'nothing']],
      feature: [[`${MARK}-render`, 'no-feature']],
      address: [[SECRET_ADDRESS, '203.0.113.250']],
      after_license_id: [[SECRET_ID, 987_653]],
    };
    const base: Readonly<Record<string, unknown>> = {
      user: 'own-ada',
      feature: 'own-render',
      consumptions: 1,
    };
    let compared = 0;
    for (const route of app.routes.filter(isOurs)) {
      const shape = { ...route.query?.shape, ...route.body?.shape };
      const isPost = route.methods.includes('POST');
      const asked = Object.fromEntries(Object.entries(base).filter(([name]) => isPost && name in shape));
      for (const name of Object.keys(shape).filter((one) => one in pairs)) {
        // Everybody can take a slot of our product, whatever they are called.
        if (isPost && name === 'user') continue;
        for (const values of pairs[name] ?? []) {
          const ask = async (value: unknown) => {
            const fields = { ...asked, [name]: value };
            const path = isPost
              ? route.paths[0]
              : `${route.paths[0]}?${new URLSearchParams(fields as never)}`;
            const answer = await call(path, isPost ? { method: 'POST', body: fields } : {});
            return answer.replaceAll(String(value), '?').replace(/"seq":\d+/g, '');
          };
          const [other, unknown] = [await ask(values[0]), await ask(values[1])];
          assert.equal(other, unknown, `${route.name} with ${name}`);
          assert.doesNotMatch(other, LEAKS);
          compared += 1;
        }
      }
    }
    assert.ok(compared > 40, `${compared} requests`);
  });

  test('takes back slots of the product only', async () => {
    const release = (fields: object) =>
      call('/api/admin/registrations/release', { method: 'POST', body: fields });
    assert.match(await release({ user: `${MARK}-ada`, license_id: SECRET_ID }), /"license_not_found"/);
    assert.match(await release({ user: `${MARK}-ada` }), /"unknown_product"|"missing|"device_not_found"/);
    assert.match(await release({ address: '0.0.0.0/0' }), /^200 {"released":[23]}/);
    const { body } = await app.get('/api/admin/registrations', { peer: CONTROL });
    const users = (body.registrations as { user: string }[]).map(({ user }) => user);
    assert.deepEqual(users.filter((user) => user.startsWith(MARK)).sort(), [`${MARK}-ada`, `${MARK}-bob`]);
  });

  test('is told the limit where a request concerns the whole server', async () => {
    const answer = await call('/api/admin/status');
    assert.match(answer, /^403 .*limited to products: cad, a product without a license/);
    const { products, operations } = JSON.parse((await call('/api/admin/session')).slice(4)) as {
      products: readonly string[];
      operations: readonly string[];
    };
    assert.deepEqual(products, ['cad', 'a product without a license']);
    assert.ok(operations.includes('GET /api/admin/licenses'));
    assert.ok(!operations.includes('GET /api/admin/status') && !operations.includes('GET /api/admin/users'));
  });
});

/** Numbers of links count everything that the server has written; credentials differ by server. */
function withoutNumbers(answer: string): string {
  return answer.replace(/"(?:seq|next_before)":\d+/g, '').replace(/token [0-9a-f]{12}/g, 'token');
}

test('a new route refuses limited operators until it says that it is for them', async (t) => {
  const route = defineRoute('GET /new', {
    name: 'new',
    access: 'viewer',
    summary: 'New',
    answer: { kind: 'empty' },
    handle: () => assert.fail('it must not be called'),
  });
  const app = await openTestApp(t, { routes: [route] });
  assert.match(await (await callAs(app, ['cad']))('/new'), /^403 /);
});

test('a limit that changes counts for the next request, and ends a stream that has begun', async (t) => {
  const app = await openTestApp(t);
  await app.accounts.add({ name: 'olga', role: 'operator', password: 'a password of my own' }, 'test');
  const credentials = { name: 'olga', password: 'a password of my own', address: '::1' };
  const headers = { authorization: `Bearer ${await app.accounts.signIn(credentials)}`, host: 'localhost' };
  const stream = await app.request('/api/admin/events', { headers }, FOREIGN);
  const reader = (stream.body as ReadableStream<Uint8Array>).getReader();
  await reader.read();
  await app.accounts.setRole('olga', { role: 'operator', products: ['other'] }, 'test');
  const { body } = await app.get('/api/admin/licenses', { peer: FOREIGN, headers });
  assert.deepEqual(body.licenses, []);
  await app.feed.beat();
  assert.equal((await reader.read()).done, true);
});
