import assert from 'node:assert/strict';
import type { KeyObject } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { writeAirgapPublicKey } from '@berth/protocol/carried/airgap-codes';
import type { Peer } from '@berth/web/http-request';
import { pino } from 'pino';
import type { Cloud } from '../../packages/server/src/cloud/cloud.ts';
import { composeApp } from '../../packages/server/src/compose/compose.ts';
import { composeCloud } from '../../packages/server/src/compose/compose-cloud.ts';
import { type BackupSource, makeBackup } from '../../packages/server/src/compose/make-backup.ts';
import { type Config, loadConfig } from '../../packages/server/src/config.ts';
import { instant, SECOND_MS } from '../../packages/server/src/core/nouns/instant.ts';
import type { License } from '../../packages/server/src/core/nouns/license.ts';
import type { AuthSettings } from '../../packages/server/src/http/access/caller.ts';
import type { Route } from '../../packages/server/src/http/route.ts';
import { loadMasterKey, type MasterKeySource } from '../../packages/server/src/secrets/master-key.ts';
import type { Accounts } from '../../packages/server/src/services/access/accounts.ts';
import type { MakeBackup } from '../../packages/server/src/services/backups/backup-job.ts';
import { LiveSettings } from '../../packages/server/src/services/settings/live-settings.ts';
import { type RunTask, runTaskHere } from '../../packages/server/src/services/tasks/task.ts';
import { type Clock, createManualClock } from '../../packages/server/src/store/clock.ts';
import type { Store } from '../../packages/server/src/store/store.ts';
import { openExamined } from '../../packages/server/test/store/exam/postgres-database.ts';
import { openQuickly } from '../../packages/server/test/store/exam/sqlite-file.ts';
import { PASSWORD_COST } from './administrator.ts';
import { checkDeclaredAnswers } from './declared-answers.ts';
import { fetchFrom, fetchThroughLane } from './fetch-app.ts';
import './program.ts';
import { findDatabase } from './stores/test-stores.ts';
import { testLicense } from './test-license.ts';

/** The start time of all tests. */
export const START = instant(Date.UTC(2030, 0, 15, 12));

export const LOCAL: Peer = { address: '127.0.0.1', isControl: false };
export const FOREIGN: Peer = { address: '203.0.113.9', isControl: false };
export const CONTROL: Peer = { address: 'control', isControl: true };

/** The version that the server under test reports. */
const VERSION = '1.2.3';

interface TestContext {
  after(work: () => unknown): void;
}

/** A real store in a temporary folder, with a manual clock. */
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
  return openQuickly({ file: join(folder, 'berth.db'), masterKey, clock, onNotice });
}

export interface TestAppOptions {
  /** By default, one license of the product "cad" with five slots. */
  readonly licenses?: readonly License[];
  readonly auth?: Partial<AuthSettings>;
  /** Variables with settings. */
  readonly env?: Readonly<Record<string, string>>;
  /** The settings `http.allowedOrigins` and `http.allowedHosts`. */
  readonly allowedOrigins?: readonly string[];
  readonly allowedHosts?: readonly string[];
  /** Additional routes. */
  readonly routes?: readonly Route[];
  readonly logRequests?: boolean;
  readonly slowRequestMs?: number;
  readonly allowKeysInUrl?: boolean;
  readonly clientRequestsPerMinute?: number;
  readonly limits?: Partial<Config['limits']>;
  /** None by default. */
  readonly cloud?: Cloud;
  /** By default, tasks about rules are done in this thread. */
  readonly runTask?: RunTask;
  readonly hardwareId?: string;
  /** The keys that verify license files and confirmation codes. */
  readonly vendorKey?: KeyObject | readonly KeyObject[];
  readonly airgapKey?: KeyObject;
  readonly acceptUnsignedPolicies?: boolean;
  /** How long to wait after a report with an unknown result. */
  readonly settleMs?: number;
}

export interface SendOptions {
  readonly peer?: Peer;
  readonly headers?: Readonly<Record<string, string>>;
  /** Text and bytes are sent as they are, everything else as JSON. */
  readonly body?: unknown;
  /** The fast lane does not read it. */
  readonly isLeftToNode?: boolean;
}

/** A response; `body` is `{}` if it is not JSON. */
export interface TestAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly body: Readonly<Record<string, unknown>>;
}

/** Makes backups in this thread, which is faster. */
function createBackupMaker(folder: string): MakeBackup {
  return async (order) => {
    const url = await findDatabase(folder);
    const source: BackupSource =
      url === null
        ? { kind: 'sqlite', file: join(folder, 'berth.db') }
        : { kind: 'postgresql', url, prepareStatements: true };
    return makeBackup({ source, order }, () => {});
  };
}

/** The whole HTTP API with a real store, called without a socket. */
export async function openTestApp(t: TestContext, options: TestAppOptions = {}) {
  const { licenses = [testLicense(1)], cloud, routes = [], runTask = runTaskHere } = options;
  const { store, clock, folder } = await openTestStore(t, licenses);
  const config = makeConfig(options, folder);
  const given = { cloud, routes, makeBackup: createBackupMaker(folder), runTask };
  const environment = { version: VERSION, clock, machine: MACHINE, passwordCost: PASSWORD_COST, ...given };
  const log: Record<string, unknown>[] = [];
  const parts = composeApp(
    store,
    { config, env: options.env ?? {}, isServing: true, certificates: null, environment },
    pino({ level: 'debug' }, { write: (line) => log.push(JSON.parse(line)) }),
    () => null,
  );
  const { app, accounts, catalogue, ruleBook, routes: ownRoutes } = parts;
  const { credentials, identity, cloudLink, offline } = parts.cloud;
  checkDeclaredAnswers(app, [...ownRoutes, ...routes]);

  const request = (path: string, init: RequestInit, peer: Peer) =>
    fetchFrom(app, new Request(`http://localhost${path}`, init), peer);

  async function send(method: string, path: string, options: SendOptions = {}): Promise<TestAnswer> {
    const { peer = LOCAL, body } = options;
    const headers = { host: 'localhost:8080', ...options.headers };
    const mayBePlain = method === 'POST' && HAS_LANE && options.isLeftToNode !== true;
    const bytes = mayBePlain ? toBytes(body) : null;
    const plain = bytes === null ? null : await fetchThroughLane(app, { path, headers, body: bytes }, peer);
    if (plain !== null) return readAnswer(plain);
    const init: RequestInit = { method, headers };
    if (body !== undefined) Object.assign(init, { body: toBody(body), duplex: 'half' });
    return readAnswer(await request(path, init, peer));
  }

  /** Through the fast lane and again without it, if the lane reads it. Only for what may be repeated. */
  async function sendBothWays(method: string, path: string, options: SendOptions): Promise<TestAnswer> {
    const answer = await send(method, path, options);
    if (method !== 'POST' || app.findPlain(path) === undefined) return answer;
    const { status, body } = await send(method, path, { ...options, isLeftToNode: true });
    assert.deepEqual([status, body.code], [answer.status, answer.body.code], `${path} without the lane`);
    return answer;
  }

  return {
    app,
    store,
    clock,
    folder,
    accounts,
    catalogue,
    ruleBook,
    backups: parts.backups,
    credentials,
    identity,
    cloudLink,
    offline,
    feed: parts.events.feed,
    routes: ownRoutes,
    log,
    request,
    send,
    sendBothWays,
    get: (path: string, request?: SendOptions) => send('GET', path, request),
    post: (path: string, body: unknown, request: SendOptions = {}) =>
      send('POST', path, { ...request, body }),
  };
}

/** A machine named "vm" that resolves to vm.example.com. */
const MACHINE = { hostName: 'vm', findFullNames: async () => ['vm.example.com'] };

/** The settings of a server, with defaults for everything the test omits. */
function makeConfig(options: TestAppOptions, data: string): Config {
  const { config } = loadConfig({ flags: {}, env: options.env ?? {}, file: null });
  const { isLoopbackOnly = true, metrics, ...auth } = options.auth ?? {};
  const { http, log, cloud, airgap } = config;
  return {
    ...config,
    data,
    host: isLoopbackOnly ? '127.0.0.1' : '0.0.0.0',
    hardwareId: options.hardwareId ?? 'test-machine',
    limits: { ...config.limits, ...options.limits },
    auth: { ...config.auth, ...auth },
    metrics: { access: metrics ?? config.metrics.access },
    http: {
      ...http,
      allowedOrigins: options.allowedOrigins ?? http.allowedOrigins,
      allowedHosts: options.allowedHosts ?? http.allowedHosts,
      allowKeysInUrl: options.allowKeysInUrl ?? http.allowKeysInUrl,
      clientRequestsPerMinute: options.clientRequestsPerMinute ?? http.clientRequestsPerMinute,
    },
    log: {
      ...log,
      requests: options.logRequests ?? log.requests,
      slowRequestMs: options.slowRequestMs ?? log.slowRequestMs,
    },
    cloud: {
      ...cloud,
      url: options.cloud === undefined ? '' : 'http://cloud.test',
      publicKey: [options.vendorKey ?? []]
        .flat()
        .map((key) => key.export({ type: 'spki', format: 'pem' }).toString()),
      // It only says how long to wait with a report here.
      timeoutSeconds: (options.settleMs ?? 0) / SECOND_MS / 2,
    },
    airgap: {
      publicKey: options.airgapKey === undefined ? '' : writeAirgapPublicKey(options.airgapKey),
      acceptUnsignedPolicies: options.acceptUnsignedPolicies ?? airgap.acceptUnsignedPolicies,
    },
  };
}

/** The link to a cloud, without its loops. */
export function openTestLink(store: Store, clock: Clock, options: TestAppOptions) {
  const config = makeConfig(options, '');
  const environment = { version: VERSION, clock, cloud: options.cloud };
  const settings = new LiveSettings(store, config);
  const whole = { config, env: {}, isServing: true, environment, settings };
  return composeCloud(store, whole, pino({ level: 'silent' }));
}

export type TestApp = Awaited<ReturnType<typeof openTestApp>>;

/** Whether requests go through the fast lane where they can, as they do in a server. */
const HAS_LANE = process.env.TEST_WITHOUT_LANE === undefined;

/** `null` for a body that is not there at once. */
function toBytes(body: unknown): Uint8Array | null {
  if (body === undefined) return Buffer.alloc(0);
  const ready = toBody(body);
  if (typeof ready === 'string') return Buffer.from(ready);
  return ready instanceof Uint8Array ? ready : null;
}

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

/** All state that a request could change. Every change adds a link to the log. */
export async function readTraces(store: Store) {
  const nobody = { licenseId: null, product: null, user: null, after: null };
  return {
    audit: await store.read({ kind: 'list_audit', chain: null, before: null, limit: 10 }),
    registrations: (await store.read({ kind: 'list_registrations', ...nobody, limit: 1000 })).registrations,
    licenses: await store.read({ kind: 'list_licenses', product: null }),
    description: await store.read({ kind: 'describe_store' }),
  };
}

/** The newest events of all chains, oldest first. */
export async function readEvents(store: Store) {
  const links = await store.read({ kind: 'list_audit', chain: null, before: null, limit: 1000 });
  return links.toReversed().flatMap(({ events }) => events);
}

/** Creates the first administrator and returns the initial password. */
export async function createAdministrator(accounts: Accounts): Promise<string> {
  let shown = '';
  await accounts.ensureAdministrator((password) => {
    shown = password;
  });
  return shown;
}
