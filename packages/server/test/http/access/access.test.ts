import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { ROLES } from '@berth/protocol/admin/choices';
import {
  CONTROL,
  createAdministrator,
  FOREIGN,
  LOCAL,
  openTestApp,
  readAnswer,
  readTraces,
  type SendOptions,
  type TestAnswer,
  type TestApp,
} from '../../../../../test/support/test-app.ts';
import { includesRole, type Role } from '../../../src/core/access/role.ts';
import { HOUR_MS } from '../../../src/core/nouns/instant.ts';
import type { AuthSettings } from '../../../src/http/access/caller.ts';
import { csrfTokenOf } from '../../../src/http/access/session.ts';
import { ACCESS, isChanging, type Route } from '../../../src/http/route.ts';
import { hashToken, makeToken } from '../../../src/services/access/tokens.ts';

/** The expected result of a call: allowed, or the reason for the refusal. */
type Fate = 'through' | 'unauthorized' | 'forbidden' | 'csrf_rejected' | 'confirmation_required';

/** Those who sign in; `limited`: an operator of one product. */
type Holder = Role | 'limited';

/** The caller's rights: a role, none, or invalid credentials. */
type Standing = Holder | 'nobody' | 'liar' | 'certificate';

/** One way to call the server. */
interface Visit {
  readonly standing: Standing;
  /** Called for every allowed request: some use up their credentials. */
  request(app: TestApp): Promise<SendOptions> | SendOptions;
  /** Whether it is the same request every time, which takes nothing from the store. */
  readonly isSteady?: true;
  /** A browser with its cookie; `isOwnPage`: it sends the CSRF token, which only our page can read. */
  readonly browser?: { readonly isOwnPage: boolean };
  readonly auth?: Partial<AuthSettings>;
  /** A program on the same machine, without credentials. */
  readonly isLocal?: boolean;
  /** An API token, without an account. */
  readonly isToken?: true;
}

const plain = (standing: Standing, options: SendOptions): Visit => ({
  standing,
  request: () => options,
  isSteady: true,
});

const here = (standing: Standing, options: SendOptions): Visit => ({
  ...plain(standing, options),
  isLocal: true,
});

const local = (headers: Record<string, string>): Visit => plain('nobody', { peer: LOCAL, headers });
const wrong = (authorization: string): Visit => plain('liar', { peer: LOCAL, headers: { authorization } });

const bearer = (token: string): SendOptions => ({
  peer: FOREIGN,
  headers: { authorization: `Bearer ${token}`, host: 'berth.example', 'x-forwarded-for': '10.0.0.1' },
});

/**
 * An account with this role and its token, without the slow password hash. The server stays in setup, so
 * passwords are one-time passwords, and each sign-in after the first needs a new account.
 */
async function signIn({ store }: TestApp, holder: Holder, isBrowser = false): Promise<string> {
  const role = holder === 'limited' ? ({ role: 'operator', products: ['cad'] } as const) : { role: holder };
  const account = { ...role, passwordHash: 'x', oneTime: true, by: 'test' } as const;
  const create = (name: string) => store.execute({ kind: 'create_account', name, ...account });
  const token = makeToken();
  const tokenHash = hashToken(token);
  let name = `the-${holder}`;
  if ((await create(name)).kind === 'refused') {
    name = `the-${holder}-${tokenHash.slice(0, 12)}`;
    await create(name);
  }
  const wish = { kind: 'sign_in', account: name, address: 'x', checkedHash: account.passwordHash } as const;
  await store.execute({ ...wish, tokenHash, isBrowser });
  return token;
}

async function createToken({ accounts }: TestApp, role: Role, days: number | null): Promise<string> {
  return (await accounts.tokens.create({ name: makeToken(), role, days }, 'test')).token;
}

const withToken = (role: Holder): Visit => ({
  standing: role,
  request: async (app) => bearer(await signIn(app, role)),
});

const withBrowser = (role: Holder, isOwnPage: boolean, headers: Record<string, string> = {}): Visit => ({
  standing: role,
  browser: { isOwnPage },
  request: async (app) => {
    const session = await signIn(app, role, true);
    const own: Record<string, string> = isOwnPage ? { 'x-berth-csrf': csrfTokenOf(session) } : {};
    return { peer: FOREIGN, headers: { cookie: `theme=dark; berth=${session}`, ...own, ...headers } };
  },
});

const VISITS: Readonly<Record<string, Visit>> = {
  'from elsewhere without credentials': plain('nobody', { peer: FOREIGN }),
  'from elsewhere with a loopback Host': plain('nobody', { peer: FOREIGN, headers: { host: '127.0.0.1' } }),
  'from no known address': plain('nobody', { peer: { address: '', isControl: false } }),
  'from this machine': here('admin', { peer: LOCAL }),
  'from this machine over IPv6': here('admin', {
    peer: { address: '::1', isControl: false },
    headers: { host: '[::1]:8080' },
  }),
  'over the socket in the data folder': plain('admin', { peer: CONTROL }),
  'over the socket, whatever the headers': plain('admin', {
    peer: CONTROL,
    headers: { authorization: 'Bearer x' },
  }),
  'to a server that others reach too': {
    ...plain('nobody', { peer: LOCAL }),
    auth: { isLoopbackOnly: false },
  },
  'from this machine, through a proxy: X-Forwarded-For': local({ 'x-forwarded-for': '203.0.113.9' }),
  'from this machine, through a proxy: X-Forwarded-Proto': local({ 'x-forwarded-proto': 'https' }),
  'from this machine, through a proxy: Forwarded': local({ forwarded: 'for=203.0.113.9' }),
  'from this machine, through a proxy: X-Real-IP': local({ 'x-real-ip': '203.0.113.9' }),
  'from this machine, through a proxy: Via': local({ via: '1.1 proxy' }),
  'by a page in a browser: Sec-Fetch-Mode': local({ 'sec-fetch-mode': 'no-cors' }),
  'by a page in a browser: Referer': local({ referer: 'http://evil.example/' }),
  'by a page in a browser: Cookie': local({ cookie: 'a=b' }),
  'by a page of ours without a session: Origin': local({ origin: 'http://localhost:8080' }),
  'by a rebound host': local({ host: 'evil.example:8080' }),
  'by a name that begins like ours': local({ host: 'localhost.evil.example' }),
  'by two names at once': local({ host: 'localhost, evil.example' }),
  'without a name': local({ host: '' }),
  'with a wrong token': wrong(`Bearer ${'x'.repeat(43)}`),
  'with the token of a client that has none': wrong('Bearer undefined'),
  'with an empty Authorization': wrong(''),
  'with a Bearer without a token': wrong('Bearer '),
  'with a name and a password': wrong('Basic YWRtaW46YWRtaW4='),
  'with an invalid session': plain('liar', { peer: FOREIGN, headers: { cookie: 'berth=x' } }),
  'with an expired token': {
    standing: 'liar',
    request: async (app) => {
      const token = await createToken(app, 'admin', 1);
      app.clock.advance(24 * HOUR_MS);
      return bearer(token);
    },
  },
  'with a revoked token': {
    standing: 'liar',
    request: async (app) => {
      const token = await createToken(app, 'admin', null);
      await app.accounts.tokens.revoke(hashToken(token).slice(0, 12), 'test');
      return bearer(token);
    },
  },
  'with a session sent as a token': {
    standing: 'liar',
    request: async (app) => bearer(await signIn(app, 'admin', true)),
  },
  'with a token sent as a session': {
    standing: 'liar',
    request: async (app) => ({ peer: FOREIGN, headers: { cookie: `berth=${await signIn(app, 'admin')}` } }),
  },
  'as a user': withToken('user'),
  'as a viewer': withToken('viewer'),
  'as an operator': withToken('operator'),
  'as an administrator': withToken('admin'),
  'as an operator of a product': withToken('limited'),
  'in a browser, as an operator of a product': withBrowser('limited', true),
  'with a token of its own': {
    standing: 'user',
    isToken: true,
    request: async (app) => bearer(await createToken(app, 'user', 30)),
  },
  'with a token of its own, as an administrator': {
    standing: 'admin',
    isToken: true,
    request: async (app) => bearer(await createToken(app, 'admin', 30)),
  },
  'in a browser, by a page of ours': withBrowser('operator', true),
  'in a browser, by a page of ours with an Origin': withBrowser('admin', true, {
    origin: 'http://localhost:8080',
    'sec-fetch-site': 'same-origin',
  }),
  'in a browser, by a page that cannot read ours': withBrowser('admin', false),
  'with a client certificate': plain('certificate', { peer: { ...FOREIGN, certificate: 'build-7' } }),
};

function callsOf({ methods, paths }: Route): readonly (readonly [string, string])[] {
  return paths.flatMap((path) => methods.map((method) => [method, path] as const));
}

/** Derived from the route table only: no route is named here. */
function fateOf(route: Route, visit: Visit, auth: Partial<AuthSettings>): Fate {
  const { class: kind, role } = ACCESS[route.access];
  const { standing, browser } = visit;
  const isControl = visit === VISITS['over the socket, whatever the headers'];
  if (kind === 'public' || (isControl && route.access !== 'own')) return 'through';
  if (kind === 'client' && auth.clients !== 'required') return 'through';
  if (route.access === 'monitor') return fateOfMonitor(visit, auth);
  if (standing === 'certificate') return kind === 'client' ? 'through' : 'unauthorized';
  if (standing === 'nobody' || standing === 'liar') return 'unauthorized';
  // A local caller is an administrator, but not an authenticated client.
  if (kind === 'client' && visit.isLocal === true) return 'unauthorized';
  if (browser?.isOwnPage === false && isChanging(route)) return 'csrf_rejected';
  if (visit.isToken === true && ['own', 'password'].includes(route.access)) return 'forbidden';
  if (route.access === 'own' && (visit.isSteady === true || standing === 'user')) return 'forbidden';
  if (standing !== 'limited') return includesRole(standing, role) ? fateOfAllowed(route, visit) : 'forbidden';
  return includesRole('operator', role) && route.isForProducts === true ? 'through' : 'forbidden';
}

/** Whoever has signed in has to confirm what a stolen session must not be enough for; tokens cannot. */
function fateOfAllowed({ mustConfirm }: Route, { isToken, isSteady }: Visit): Fate {
  if (mustConfirm !== true || isSteady === true) return 'through';
  return isToken === true ? 'forbidden' : 'confirmation_required';
}

/** Monitoring has its own setting, and takes every token. */
function fateOfMonitor(visit: Visit, { metrics = 'local' }: Partial<AuthSettings>): Fate {
  if (metrics === 'open') return 'through';
  if (visit.isLocal === true) return metrics === 'local' ? 'through' : 'unauthorized';
  if (visit.standing === 'limited') return 'forbidden';
  return ROLES.some((role) => role === visit.standing) ? 'through' : 'unauthorized';
}

/** Calls every path of every route and compares the response with the table. */
async function walk(
  app: TestApp,
  visit: Visit,
  auth: Partial<AuthSettings>,
  routes: readonly Route[] = app.routes,
): Promise<void> {
  const [refused = [], allowed = []] = [false, true].map((isAllowed) =>
    routes.filter((route) => (fateOf(route, visit, auth) === 'through') === isAllowed),
  );
  // Refused calls come first. They change nothing and use nothing up, so one look at the store is enough for
  // all of them, and one set of credentials.
  const request = await visit.request(app);
  const traces = await readTraces(app.store);
  for (const route of refused) {
    const fate = fateOf(route, visit, auth) as Exclude<Fate, 'through'>;
    for (const [method, path] of callsOf(route)) {
      expectRefused(await call(app, route, method, path, request), fate, `${method} ${path}`);
    }
  }
  assert.deepEqual(await readTraces(app.store), traces, refused.map(({ name }) => name).join('\n'));
  for (const route of allowed) {
    for (const [method, path] of callsOf(route)) {
      const answer = await call(app, route, method, path, await visit.request(app));
      const what = `${method} ${path}: ${answer.status} ${answer.text}`;
      assert.equal(answer.headers.get('www-authenticate'), null, what);
      if (route.access === 'public') assert.ok(answer.status < 500, what);
      else assert.ok(answer.status === 200 || answer.status === 400, what);
    }
  }
}

/** Does not wait for endless responses. */
async function call(app: TestApp, route: Route, method: string, path: string, request: SendOptions) {
  if (route.answer.kind !== 'events') {
    return app.sendBothWays(method, path, { ...request, ...(method === 'POST' ? { body: {} } : {}) });
  }
  const headers = { host: 'localhost:8080', ...request.headers };
  const response = await app.request(path, { method, headers }, request.peer ?? LOCAL);
  if (response.status !== 200) return readAnswer(response);
  await response.body?.cancel();
  return { status: 200, headers: response.headers, text: '', body: {} };
}

function expectRefused(answer: TestAnswer, fate: Exclude<Fate, 'through'>, route: string): void {
  const what = `${route}: ${answer.status} ${answer.text}`;
  assert.equal(answer.body.code, fate, what);
  assert.equal(answer.headers.get('www-authenticate'), null, what);
  assert.equal(answer.status, fate === 'unauthorized' ? 401 : 403, what);
  if (fate === 'unauthorized') assert.match(answer.body.message as string, /\/auth/, what);
}

for (const clients of ['open', 'required'] as const) {
  describe(`every route, with auth.clients "${clients}", called`, () => {
    /** For the visits that are the same every time. */
    let shared: TestApp;
    // The setting is about clients, so the other routes are called only once.
    const isCalled = ({ access }: Route) => clients === 'open' || ACCESS[access].class === 'client';
    const ends: (() => unknown)[] = [];
    before(async () => {
      shared = await openTestApp({ after: (work) => ends.push(work) }, { auth: { clients } });
      await shared.post('/api/v4/register', { user: 'ann' }, { peer: CONTROL });
    });
    after(async () => {
      for (const end of ends) await end();
    });

    for (const [how, visit] of Object.entries(VISITS)) {
      test(how, async (t) => {
        const auth = { ...visit.auth, clients };
        if (visit.isSteady && visit.auth === undefined)
          return walk(shared, visit, auth, shared.routes.filter(isCalled));
        const app = await openTestApp(t, { auth });
        await app.post('/api/v4/register', { user: 'ann' }, { peer: CONTROL });
        await walk(app, visit, auth, app.routes.filter(isCalled));
      });
    }
  });
}

for (const metrics of ['token', 'open'] as const) {
  test(`the routes for monitoring, with metrics.access "${metrics}", called in every way`, async (t) => {
    const auth = { metrics, clients: 'required' } as const;
    const app = await openTestApp(t, { auth });
    const routes = app.routes.filter(({ access }) => access === 'monitor');
    assert.equal(routes.length, 1);
    for (const [how, visit] of Object.entries(VISITS)) {
      if (visit.auth === undefined) await t.test(how, () => walk(app, visit, auth, routes));
    }
  });
}

describe('the table of routes', () => {
  test('declares a class for every route, and a role where one is asked for', async (t) => {
    const { routes } = await openTestApp(t);
    for (const { name, access } of routes) assert.ok(Object.hasOwn(ACCESS, access), name);
    const byClass = Map.groupBy(routes, ({ access }) => ACCESS[access].class);
    assert.deepEqual([...byClass.keys()].sort(), ['admin', 'client', 'public']);
  });

  test('restricts what the specification calls administration to administrators', async (t) => {
    const { routes } = await openTestApp(t);
    const paths = (access: Route['access']) =>
      routes.filter((route) => route.access === access).flatMap((route) => route.paths);
    for (const path of ['setKeys', 'addProduct', 'removeProduct', 'unregister/all', 'featureRelease/all']) {
      assert.ok(paths('admin').includes(`/api/v4/${path}`), path);
    }
    for (const path of ['airgap/generate', 'airgap/license', 'license/generate', 'license/upload']) {
      assert.ok(paths('admin').includes(`/api/v4/${path}`), path);
    }
    assert.deepEqual(paths('password'), ['/api/v4/setPassword']);
    const open = [...paths('public'), ...paths('client')].filter((path) => path.startsWith('/api/admin/'));
    assert.match(open.join(), /^\/api\/admin\/welcome(?:,\/api\/admin\/session\/(?:start|provider)){2}$/);
  });

  test('a route without a class is not served', async (t) => {
    const route = { ...(await openTestApp(t)).routes[0], name: 'new', paths: ['/new'], access: undefined };
    await assert.rejects(openTestApp(t, { routes: [route as unknown as Route] }), /"new" declares no access/);
  });
});

describe('a caller on this machine', () => {
  /** Whether they are administrators before and after the one-time password is replaced. */
  const expected = {
    setup: { during: true, after: false },
    always: { during: true, after: true },
    never: { during: false, after: false },
  };

  for (const [localAdmin, { during, after }] of Object.entries(expected)) {
    for (const isSetUp of [false, true]) {
      const isAdmin = isSetUp ? after : during;
      const when = isSetUp ? 'after setup' : 'during setup';
      test(`with localAdmin "${localAdmin}" ${when}`, async (t) => {
        const auth = { localAdmin: localAdmin as AuthSettings['localAdmin'] };
        const app = await openTestApp(t, { auth });
        const account = { name: 'admin', role: 'admin', passwordHash: 'x', by: 'test' } as const;
        await app.store.execute({ kind: 'create_account', ...account, oneTime: !isSetUp });
        await walk(app, here(isAdmin ? 'admin' : 'nobody', { peer: LOCAL }), auth);
      });
    }
  }

  test('no longer administers once the one-time password was replaced over the API', async (t) => {
    const app = await openTestApp(t);
    const old = await createAdministrator(app.accounts);
    assert.equal((await app.get('/api/admin/status')).status, 200);
    const change = { passwordOld: old, passwordNew: 'a password of my own' };
    assert.equal((await app.post('/api/v4/setPassword', change)).status, 200);
    assert.equal((await app.get('/api/admin/status')).status, 401);
    assert.equal((await app.post('/api/v4/register', { user: 'ann' })).status, 200);
  });

  test('is only a name in the audit log: local, control, an account or a token', async (t) => {
    const app = await openTestApp(t);
    const { token } = await app.accounts.tokens.create({ name: 'ci', role: 'operator', days: null }, 'test');
    const visits: SendOptions[] = [{}, { peer: CONTROL }, bearer(await signIn(app, 'admin')), bearer(token)];
    for (const visit of visits) {
      await app.post('/api/v4/register', { user: 'ann' });
      const release = await app.post('/api/admin/registrations/release', { user: 'ann' }, visit);
      assert.deepEqual(release.body, { released: 1 });
    }
    const events = (await readTraces(app.store)).audit.toReversed().flatMap((link) => link.events);
    const by = events.flatMap((event) => (event.kind === 'slot_returned' ? [[event.by, event.origin]] : []));
    assert.deepEqual(by, [
      ['local', '127.0.0.1'],
      ['control', undefined],
      ['the-admin', FOREIGN.address],
      ['token ci', FOREIGN.address],
    ]);
  });
});
