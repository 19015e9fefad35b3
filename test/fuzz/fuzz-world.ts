import type { License } from '@berth/server/core/nouns/license';
import type { AuthSettings } from '@berth/server/http/access/caller';
import { csrfTokenOf } from '@berth/server/http/access/session';
import { hashPassword } from '@berth/server/services/access/passwords';
import { hashToken, makeToken } from '@berth/server/services/access/tokens';
import { TEST_VENDOR } from '../support/cloud/test-vendor.ts';
import { fetchFrom, fetchThroughLane } from '../support/fetch-app.ts';
import { CONTROL, FOREIGN, LOCAL, openTestApp, type SendOptions, type TestApp } from '../support/test-app.ts';
import { FUZZ_LICENSES } from './fuzz-licenses.ts';
import type { FuzzRequest, Ingredients } from './fuzz-requests.ts';
import type { Known } from './fuzz-schema.ts';
import { openTrace, type Trace } from './fuzz-trace.ts';

interface TestContext {
  after(work: () => unknown): void;
}

const PASSWORD = 'a password that is long enough';

/** The slow arithmetic is done once for all accounts. */
const hashed = hashPassword(PASSWORD);

const ACCOUNTS = { admin: 'admin', olga: 'operator', vera: 'viewer', ulf: 'user' } as const;
const ROLES = ['admin', 'operator', 'viewer', 'user'] as const;

const USERS = ['ann', 'ann', 'ann', 'bob', 'bob', 'zoë 👍'];
const LICENSE_IDS = FUZZ_LICENSES.map(({ id }) => id);
/** That of the vendor's files, more often than the others. */
const VENDOR_KEY = 'AAAA-BBBB-CCCC-DDDD';
const LICENSE_KEYS = FUZZ_LICENSES.flatMap(({ key }) => [key, VENDOR_KEY]);

/** What the server has, and what it takes, by the names of fields. */
const KNOWN: Known = {
  product: [...FUZZ_LICENSES.flatMap(({ product }) => [product, 'cad']), 'unknown'],
  user: USERS,
  after_user: USERS,
  // Mostly not given, because only one goes with the product.
  license_id: [...Array(3 * LICENSE_IDS.length).fill(null), '', ...LICENSE_IDS, '1', 4711],
  licenseId: LICENSE_IDS,
  after_license_id: LICENSE_IDS,
  license_key: LICENSE_KEYS,
  licenseKey: LICENSE_KEYS,
  feature: ['export', 'render', 'export', 'render', 'unknown'],
  consumptions: [0, 1, 2, 5, 100, '7', -1, -5, 2 ** 53 - 1, null],
  os_hostname: ['host-1', 'host-2', 'h\u0007st'],
  ip_local: ['10.0.0.1', '::1'],
  user_info: ['a note', null],
  max_overages: [null, 0, 3],
  allow_overages: [null, true, 'false'],
  borrowed_until: [null, '', '2030-01-16', '2030-01-17T08:00:00Z', '2030-01-15T12:30:00Z', 'never'],
  name: [...Object.keys(ACCOUNTS), 'new-1', 'new-2', 'new-3'],
  password: [PASSWORD, PASSWORD, 'a wrong password', 'short'],
  password_old: [PASSWORD, 'a wrong password'],
  passwordOld: [PASSWORD, 'a wrong password'],
  password_new: ['another password that is long', PASSWORD],
  passwordNew: ['another password that is long', PASSWORD],
  passphrase: ['a passphrase for an export', 'short'],
  id: ['new-1', 'new-2', ...ROLES],
  signing_key: [TEST_VENDOR.initializationCode],
  policy_id: ['4711', 4711, '4712'],
  license_policy: [TEST_VENDOR.policy(), TEST_VENDOR.policy(), TEST_VENDOR.policy({ id: 4712 })],
};

/** Numbers of links, and dates up to which the audit log may be thinned out: of nothing, or of something. */
const EARLY = [1, 100, '2030-01-01', '2030-01-15'];
const LATE = [1, 100, '2030-01-15T13:00:00Z', '2030-01-15T18:00:00Z'];

const CREDENTIALS = [
  ...Object.keys(ACCOUNTS).flatMap((name) => [`${name}:${PASSWORD}`, `${name}:${PASSWORD}`, `${name}:wrong`]),
  ...['nobody:wrong', 'admin:', ':', ':x', 'admin', `${'a'.repeat(257)}:x`, 'ad\u0000min:x'],
];

/** What servers are set up like; each takes its turn. */
const AUTHS: readonly Partial<AuthSettings>[] = [
  {},
  { clients: 'required' },
  { localAdmin: 'always' },
  { localAdmin: 'never', clients: 'required' },
  { requireTls: true },
  { isLoopbackOnly: false },
];

/** Who asks: where from, and with what in their hands. */
const CALLERS: Readonly<Record<string, (keys: Keys) => SendOptions>> = {
  foreign: () => ({ peer: FOREIGN }),
  'foreign over TLS': () => ({ peer: { ...FOREIGN, isSecure: true } }),
  local: () => ({ peer: LOCAL }),
  control: () => ({ peer: CONTROL }),
  'control again': () => ({ peer: CONTROL }),
  user: ({ tokens }) => bearer(tokens.user),
  operator: ({ tokens }) => bearer(tokens.operator),
  admin: ({ tokens }) => bearer(tokens.admin),
  'admin again': ({ tokens }) => bearer(tokens.admin),
  browser: ({ session }) => withCookie(session, { 'x-berth-csrf': csrfTokenOf(session) }),
  'another site': ({ session }) => withCookie(session, { origin: 'https://evil.example' }),
  certificate: () => ({ peer: { ...FOREIGN, isSecure: true, certificate: 'build-7' } }),
};

interface Keys {
  readonly tokens: Readonly<Record<(typeof ROLES)[number], string>>;
  readonly session: string;
}

function bearer(token: string): SendOptions {
  return { peer: FOREIGN, headers: { authorization: `Bearer ${token}` } };
}

function withCookie(session: string, headers: Record<string, string>): SendOptions {
  return { peer: LOCAL, headers: { cookie: `berth=${session}`, ...headers } };
}

/** A server without a socket, with licenses of all kinds, and everybody who may call it. */
export interface FuzzWorld {
  readonly app: TestApp;
  readonly ingredients: Ingredients;
  readonly trace: Trace;
  send(request: FuzzRequest): Promise<Response>;
  /** Lets time pass, and tidies as the server would by itself. */
  pass(millis: number): Promise<void>;
  /** Puts back what was given up, so that what follows finds something to work on. */
  restore(): Promise<void>;
}

/** `turn` decides how it is set up. */
export async function openWorld(t: TestContext, turn: number): Promise<FuzzWorld> {
  const app = await openTestApp(t, {
    licenses: FUZZ_LICENSES,
    auth: AUTHS[turn % AUTHS.length] as Partial<AuthSettings>,
    allowKeysInUrl: turn % 3 !== 2,
    vendorKey: TEST_VENDOR.publicKey,
    airgapKey: TEST_VENDOR.airgapKey,
    acceptUnsignedPolicies: turn % 2 === 1,
  });
  await app.identity.bind();
  const hardwareId = await app.identity.readHardwareId();
  await addAccounts(app, turn % 2 === 0);
  let keys = await makeKeys(app, null);
  const trace = openTrace(app.folder);
  t.after(() => trace.close());
  return {
    app,
    ingredients: await gather(app, hardwareId, turn % 4 === 0 ? LATE : EARLY),
    trace,
    send: (request) => send(app, keys, request),
    pass: (millis) => pass(app, millis),
    async restore() {
      await addAccounts(app, false);
      for (const license of await listMissing(app)) {
        await app.store.execute({ kind: 'install_license', license, by: 'test' });
      }
      await fillSlots(app);
      keys = await makeKeys(app, keys);
    },
  };
}

/** Those that are there already are left as they are. */
async function addAccounts({ store }: TestApp, isBeingSetUp: boolean): Promise<void> {
  for (const [name, role] of Object.entries(ACCOUNTS)) {
    const oneTime = isBeingSetUp && role === 'admin';
    const passwordHash = await hashed;
    await store.execute({ kind: 'create_account', name, role, passwordHash, oneTime, by: 'test' });
  }
}

async function gather(app: TestApp, hardwareId: string, before: readonly unknown[]): Promise<Ingredients> {
  const { requestData } = await app.offline.requestLicense(
    { product: 'cad', licenseKey: null, username: null },
    'test',
  );
  const codes = [TEST_VENDOR.confirm(hardwareId, VENDOR_KEY, '4711'), 'AAAA'];
  return {
    routes: app.routes,
    callers: Object.keys(CALLERS),
    known: { ...KNOWN, confirmation_code: codes, before },
    credentials: CREDENTIALS,
    files: [
      TEST_VENDOR.answer(requestData),
      TEST_VENDOR.refresh(hardwareId),
      TEST_VENDOR.refresh(hardwareId, { date: '2030-01-12T00:00:00.000Z' }),
      TEST_VENDOR.refresh('another machine'),
      TEST_VENDOR.policy(),
    ],
  };
}

async function listMissing({ store }: TestApp): Promise<readonly License[]> {
  const held = await store.read({ kind: 'list_licenses', product: null });
  const ids = new Set<number>(held.map(({ license }) => license.id));
  return FUZZ_LICENSES.filter(({ id }) => !ids.has(id));
}

/** Somebody holds something, as far as the licenses allow it. */
async function fillSlots({ store }: TestApp): Promise<void> {
  const host = { hostname: null, address: null, info: null };
  const aim = { product: 'cad', licenseId: null };
  for (const user of new Set(USERS)) await store.execute({ kind: 'register', user, host, ...aim });
  const slot = { feature: 'render', user: 'ann', until: null, ...aim };
  await store.execute({ kind: 'register_feature', ...slot });
}

/** Tokens that still count are kept. */
async function makeKeys({ accounts, store }: TestApp, old: Keys | null): Promise<Keys> {
  const isAlive = async (token: string | undefined) =>
    token !== undefined && (await accounts.tokens.find(token)) !== null;
  const tokens: Record<string, string> = {};
  for (const role of ROLES) {
    const known = old?.tokens[role];
    tokens[role] = (await isAlive(known))
      ? (known as string)
      : (await accounts.tokens.create({ name: `${role}-${makeToken()}`, role, days: null }, 'test')).token;
  }
  const session = (await isAlive(old?.session)) ? (old as Keys).session : makeToken();
  if (session !== old?.session) {
    const signIn = { account: 'olga', address: 'x', tokenHash: hashToken(session), isBrowser: true };
    const account = await store.read({ kind: 'find_account', name: 'olga' });
    await store.execute({ kind: 'sign_in', ...signIn, checkedHash: account?.passwordHash ?? null });
  }
  return { tokens: tokens as Keys['tokens'], session };
}

async function pass({ clock, store }: TestApp, millis: number): Promise<void> {
  clock.advance(millis);
  await store.keepClock();
  for (const licenseId of await store.read({ kind: 'list_untidy' })) {
    await store.execute({ kind: 'collect', licenseId });
  }
}

async function send({ app }: TestApp, keys: Keys, request: FuzzRequest): Promise<Response> {
  const { peer = FOREIGN, headers = {} } = (CALLERS[request.caller] as (keys: Keys) => SendOptions)(keys);
  const { method, target, body } = request;
  const all = { host: 'localhost:8080', ...headers, ...request.headers };
  const bytes = Buffer.from(body ?? '');
  // Half of what the fast lane can read is left to Node.
  const mayBePlain = method === 'POST' && bytes.length % 2 === 0;
  const plain = mayBePlain
    ? await fetchThroughLane(app, { path: target, headers: all, body: bytes }, peer)
    : null;
  if (plain !== null) return plain;
  return fetchFrom(app, new Request(`http://localhost${target}`, { method, headers: all, body }), peer);
}
