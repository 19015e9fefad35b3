import type { KeyObject } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import type { Cloud } from '../../packages/server/src/cloud/cloud.ts';
import { loadConfig } from '../../packages/server/src/config.ts';
import { instant } from '../../packages/server/src/core/nouns/instant.ts';
import type { License } from '../../packages/server/src/core/nouns/license.ts';
import type { AccessRules, Peer } from '../../packages/server/src/http/access/caller.ts';
import { createApp } from '../../packages/server/src/http/app.ts';
import type { Route } from '../../packages/server/src/http/route.ts';
import { createRoutes } from '../../packages/server/src/http/route-table.ts';
import { loadMasterKey, type MasterKeySource } from '../../packages/server/src/secrets/master-key.ts';
import { type Accounts, createAccounts } from '../../packages/server/src/services/access/accounts.ts';
import { createOwnNames } from '../../packages/server/src/services/access/own-names.ts';
import { createRuleBook } from '../../packages/server/src/services/access/rule-book.ts';
import { openRulesFile } from '../../packages/server/src/services/access/rules-file.ts';
import { createAuditTrail } from '../../packages/server/src/services/audit/audit-trail.ts';
import { createCloudHold } from '../../packages/server/src/services/cloud/cloud-hold.ts';
import { createCloudLink } from '../../packages/server/src/services/cloud/cloud-link.ts';
import { createCloudSession } from '../../packages/server/src/services/cloud/cloud-session.ts';
import { createCredentials } from '../../packages/server/src/services/cloud/credentials.ts';
import { LinkState } from '../../packages/server/src/services/cloud/link-state.ts';
import { createEventFeed } from '../../packages/server/src/services/events/event-feed.ts';
import { createWebhooks } from '../../packages/server/src/services/events/webhooks.ts';
import { createCatalogue } from '../../packages/server/src/services/lending/catalogue.ts';
import { createCounting } from '../../packages/server/src/services/lending/counting.ts';
import { createLending, type LendingLimits } from '../../packages/server/src/services/lending/lending.ts';
import { createOversight } from '../../packages/server/src/services/lending/oversight.ts';
import { createOffline } from '../../packages/server/src/services/offline/offline.ts';
import { createIdentity } from '../../packages/server/src/services/upkeep/identity.ts';
import { createKeyCustody } from '../../packages/server/src/services/upkeep/key-custody.ts';
import { type Clock, createManualClock } from '../../packages/server/src/store/clock.ts';
import { openExamined } from '../../packages/server/src/store/exam/postgres-database.ts';
import { openInThreadStore } from '../../packages/server/src/store/sqlite/in-thread-store.ts';
import type { Store } from '../../packages/server/src/store/store.ts';
import { checkDeclaredAnswers } from './declared-answers.ts';
import { findDatabase } from './stores/test-stores.ts';
import { testLicense } from './test-license.ts';

/** When tests begin. */
export const START = instant(Date.UTC(2030, 0, 15, 12));

export const LOCAL: Peer = { address: '127.0.0.1', isControl: false };
export const FOREIGN: Peer = { address: '203.0.113.9', isControl: false };
export const CONTROL: Peer = { address: 'control', isControl: true };

interface TestContext {
  after(work: () => unknown): void;
}

/** A real store in a temporary folder, on a clock that only moves when told to. */
export async function openTestStore(t: TestContext, licenses: readonly License[] = []) {
  const folder = mkdtempSync(join(tmpdir(), 'berth-test-'));
  const clock = createManualClock(START);
  const keySource = { value: null, file: join(folder, 'master.key') };
  const store = await openStoreIn(folder, clock, keySource);
  t.after(async () => {
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  });
  for (const license of licenses) await store.execute({ kind: 'install_license', license, by: 'test' });
  return { store, clock, folder, keySource };
}

async function openStoreIn(folder: string, clock: Clock, keySource: MasterKeySource): Promise<Store> {
  const onNotice = () => {};
  const url = findDatabase(folder);
  if (url !== null) return openExamined({ folder, clock, onNotice }, () => url, keySource);
  const masterKey = loadMasterKey({ ...keySource, mayCreate: true });
  return openInThreadStore({ file: join(folder, 'berth.db'), masterKey, clock, onNotice });
}

/** As the server has them by default. */
const OPEN_RULES: AccessRules = {
  localAdmin: 'setup',
  isLoopbackOnly: true,
  clients: 'open',
  requireTls: false,
};

export interface TestAppOptions {
  /** By default one license of the product "cad" with five slots. */
  readonly licenses?: readonly License[];
  readonly rules?: Partial<AccessRules>;
  /** The settings `http.allowedOrigins` and `http.allowedHosts`. */
  readonly allowedOrigins?: readonly string[];
  readonly allowedHosts?: readonly string[];
  /** Routes beside those of the server. */
  readonly routes?: readonly Route[];
  readonly logRequests?: boolean;
  readonly slowRequestMs?: number;
  readonly allowKeysInUrl?: boolean;
  readonly clientRequestsPerMinute?: number;
  readonly limits?: LendingLimits;
  /** By default there is none. */
  readonly cloud?: Cloud;
  readonly hardwareId?: string;
  /** What license files and confirmation codes are checked with. */
  readonly vendorKey?: KeyObject;
  readonly airgapKey?: KeyObject;
  readonly acceptUnsignedPolicies?: boolean;
  /** How long an unclear report waits. */
  readonly settleMs?: number;
}

export interface SendOptions {
  readonly peer?: Peer;
  readonly headers?: Readonly<Record<string, string>>;
  /** Text and bytes go as they are, everything else as JSON. */
  readonly body?: unknown;
}

/** The answer to a request; `body` is its JSON, or `{}` when it is something else. */
export interface TestAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly body: Readonly<Record<string, unknown>>;
}

/** The whole HTTP side over a real store, called without a socket. */
export async function openTestApp(t: TestContext, options: TestAppOptions = {}) {
  const { licenses = [testLicense(1)], rules = {}, logRequests = false, slowRequestMs = 1000 } = options;
  const { store, clock, folder, keySource } = await openTestStore(t, licenses);
  const accounts = createAccounts(store, clock);
  const facts = {
    ...{ version: '1.2.3', data: folder, readUrl: () => null, readUptimeSeconds: () => 0 },
    database: null,
    readTls: () => null,
  };
  const services = {
    audit: createAuditTrail(store),
    catalogue: createCatalogue(store),
    counting: createCounting(store),
    lending: createLending(store, options.limits),
    ...openTestLink(store, clock, options),
    custody: createKeyCustody(store, keySource),
    ruleBook: createRuleBook(store, openRulesFile({ rules: '', data: folder }, { isShared: false })),
    feed: createEventFeed(store),
    webhooks: createNoWebhooks(store),
    allowKeysInUrl: options.allowKeysInUrl ?? true,
    rules: { ...OPEN_RULES, ...rules },
    settings: loadConfig({ flags: {}, env: {}, file: null }).config,
  };
  const routes = createRoutes({ accounts, ...services, oversight: createOversight(store), facts });
  const log: Record<string, unknown>[] = [];
  const all = [...routes, ...(options.routes ?? [])];
  const app = createApp({
    routes: all,
    accounts,
    rules: services.rules,
    pages: openTestPages(options, clock),
    log: pino({ level: 'debug' }, { write: (line) => log.push(JSON.parse(line)) }),
    logRequests,
    slowRequestMs,
    clientRequestsPerMinute: options.clientRequestsPerMinute ?? 0,
    readMonotonicMs: clock.readMonotonicMs,
  });

  checkDeclaredAnswers(app, all);

  async function send(method: string, path: string, request: SendOptions = {}): Promise<TestAnswer> {
    const { peer = LOCAL, headers = {}, body } = request;
    const init: RequestInit = { method, headers: { host: 'localhost:8080', ...headers } };
    if (body !== undefined) Object.assign(init, { body: toBody(body), duplex: 'half' });
    return readAnswer(await app.request(path, init, { peer }));
  }

  return {
    app,
    ...services,
    store,
    clock,
    folder,
    accounts,
    routes,
    log,
    send,
    get: (path: string, request?: SendOptions) => send('GET', path, request),
    post: (path: string, body: unknown, request: SendOptions = {}) =>
      send('POST', path, { ...request, body }),
  };
}

/** The names of a machine called "vm" that is known to the resolver as vm.example.com. */
function openTestPages({ allowedOrigins = [], allowedHosts = [] }: TestAppOptions, clock: Clock) {
  const machine = { hostName: 'vm', findFullNames: async () => ['vm.example.com'] };
  const { readMonotonicMs } = clock;
  const ownNames = createOwnNames({ allowedHosts, isCertified: () => false, readMonotonicMs, machine });
  return { allowedOrigins, ownNames };
}

type FileOptions = Pick<TestAppOptions, 'vendorKey' | 'airgapKey' | 'acceptUnsignedPolicies'>;

interface LinkOptions extends FileOptions, Pick<TestAppOptions, 'hardwareId' | 'settleMs'> {
  readonly cloud?: Cloud | null;
}

/** The link to a cloud, without its loops. */
export function openTestLink(
  store: Store,
  clock: Clock,
  { cloud = null, hardwareId = 'test-machine', settleMs = 0, ...files }: LinkOptions,
) {
  const state = new LinkState(clock.readWall, () => {});
  const credentials = createCredentials(store, { onKeysChanged: () => state.forget() });
  const identity = createIdentity(store, { hardwareId, machineId: null, isShared: false });
  const host = { hostname: 'test', osVersion: 'test', ip: '192.0.2.7', version: '1.2.3' };
  const hold = createCloudHold(store, 'test-cloud');
  const cloudLink = createCloudLink({
    store,
    hold,
    session: createCloudSession({
      cloud,
      readKeys: credentials.readKeys,
      state,
      hold,
      requireHome: async () => {},
    }),
    identity,
    state,
    host,
    url: cloud === null ? null : 'http://cloud.test',
    settleMs,
    readMonotonicMs: clock.readMonotonicMs,
  });
  const offline = createOffline({
    store,
    identity,
    readKeys: credentials.readKeys,
    host,
    vendorKey: files.vendorKey ?? null,
    airgapKey: files.airgapKey ?? null,
    acceptUnsignedPolicies: files.acceptUnsignedPolicies ?? false,
  });
  return { credentials, identity, cloudLink, offline };
}

function createNoWebhooks(store: Store) {
  const off = { receiver: null, isOn: false, topics: [] };
  return createWebhooks({ store, ...off, log: pino({ level: 'silent' }), readMonotonicMs: () => 0 });
}

export type TestApp = Awaited<ReturnType<typeof openTestApp>>;

function toBody(body: unknown): NonNullable<RequestInit['body']> {
  const isReady = typeof body === 'string' || body instanceof Uint8Array || body instanceof ReadableStream;
  return isReady ? (body as string) : JSON.stringify(body);
}

export async function readAnswer(response: Response): Promise<TestAnswer> {
  const isEndless = response.headers.get('content-type')?.startsWith('text/event-stream') === true;
  if (isEndless) await response.body?.cancel();
  const text = isEndless ? '' : await response.text();
  const isJson = text !== '' && response.headers.get('content-type')?.startsWith('application/json;');
  return { status: response.status, headers: response.headers, text, body: isJson ? JSON.parse(text) : {} };
}

/** Everything in the store that a request could have changed. */
export async function readTraces(store: Store) {
  const nobody = { licenseId: null, product: null, user: null, after: null };
  return {
    audit: await store.read({ kind: 'list_audit', chain: null, before: null, limit: 1000 }),
    registrations: await store.read({ kind: 'list_registrations', ...nobody, limit: 1000 }),
    licenses: await store.read({ kind: 'list_licenses', product: null }),
    description: await store.read({ kind: 'describe_store' }),
  };
}

/** The kinds of the newest events of all chains, the oldest first. */
export async function readEvents(store: Store) {
  const links = await store.read({ kind: 'list_audit', chain: null, before: null, limit: 1000 });
  return links.toReversed().flatMap(({ events }) => events);
}

/** The first administrator, and the password that they were shown. */
export async function createAdministrator(accounts: Accounts): Promise<string> {
  let shown = '';
  await accounts.ensureAdministrator((password) => {
    shown = password;
  });
  return shown;
}
