import { BackupError } from '@berth/shell/files/backup-file';
import type { App } from '@berth/web/app';
import { NO_HEADERS } from '@berth/web/http-request';
import { ListenError } from '@berth/web/listen';
import manifest from '../../package.json' with { type: 'json' };
import { describeRules } from '../background/rules-loop.ts';
import { type Config, listChanged, showConfig } from '../config.ts';
import { Fault } from '../core/nouns/fault.ts';
import type { AuthSettings } from '../http/access/caller.ts';
import { isLoopbackHost } from '../http/access/local-caller.ts';
import { createApp } from '../http/app.ts';
import { listenControl } from '../http/control.ts';
import type { DeferredApp } from '../http/deferred-app.ts';
import type { Route } from '../http/route.ts';
import { createRoutes, type Services } from '../http/route-table.ts';
import type { Directory } from '../providers/sign-in-provider.ts';
import { SealError } from '../secrets/seal.ts';
import { createAccounts, FIRST_ADMINISTRATOR } from '../services/access/accounts.ts';
import { createOwnNames } from '../services/access/own-names.ts';
import { dismissPasswords } from '../services/access/passwords.ts';
import { createAuditTrail } from '../services/audit/audit-trail.ts';
import { MoveError } from '../services/backups/move-store.ts';
import { CertificateError } from '../services/certificates/certificate-files.ts';
import type { Certificates } from '../services/certificates/certificates.ts';
import { createHistory } from '../services/history/history.ts';
import { createCatalogue } from '../services/lending/catalogue.ts';
import { createCounting } from '../services/lending/counting.ts';
import { createLending } from '../services/lending/lending.ts';
import { createTakeSlot } from '../services/lending/new-slots.ts';
import { createOversight } from '../services/lending/oversight.ts';
import { createTestClock } from '../services/lending/test-clock.ts';
import { createWaitingRoom, type WaitingRoom } from '../services/lending/waiting-room.ts';
import { createMetrics } from '../services/metrics/metrics.ts';
import { createDirectoryGroups } from '../services/rules/directory-groups.ts';
import { createRuleBook } from '../services/rules/rule-book.ts';
import { createRuleTrials } from '../services/rules/rule-trials.ts';
import { openRulesFile, RulesError } from '../services/rules/rules-file.ts';
import { type CurrentSettings, LiveSettings } from '../services/settings/live-settings.ts';
import { type RunTask, runTaskHere } from '../services/tasks/task.ts';
import { systemClock } from '../store/clock.ts';
import type { Store } from '../store/store.ts';
import { createQuietLog, type Log } from '../telemetry/log.ts';
import { RequestCounts } from '../telemetry/metrics/request-counts.ts';
import { describeNotice } from '../telemetry/notices.ts';
import type { RecentLines } from '../telemetry/recent-lines.ts';
import { BACKUP_CHECKS, composeBackups } from './compose-backup.ts';
import { type CloudParts, composeCloud, composeGrants, createCloudLoops } from './compose-cloud.ts';
import { composeDoctor } from './compose-doctor.ts';
import { composeEvents, type EventParts } from './compose-events.ts';
import { composeLimited } from './compose-limited.ts';
import { createHouseLoops, passTime, startLoops } from './compose-loops.ts';
import { composeDirectory, composePeople, composeSignIn, findElsewhere } from './compose-sign-in.ts';
import { importMasterKey as importKey, isShared, openStoppedStore, StartError } from './compose-store.ts';
import type { EventSignal, ServeOptions, ServerEnvironment, Stop } from './serve-options.ts';
import { serveOnceWritable, withoutWriting } from './serve-read-only.ts';
import { createTaskThreads } from './task-threads.ts';
import { warnAboutExposure } from './warn-about-exposure.ts';

export { describeHolder } from '../store/folder-lock.ts';

const VERSION = manifest.version;

/** Errors whose message says what happened and what to do, without a stack. */
export function isExpected(error: unknown): boolean {
  const kinds = [
    StartError,
    MoveError,
    BackupError,
    SealError,
    Fault,
    RulesError,
    ListenError,
    CertificateError,
  ];
  return kinds.some((kind) => error instanceof kind);
}

interface BoundOptions extends ServeOptions {
  readonly certificates: Certificates | null;
  readonly recent: RecentLines;
  readonly eventSignal: EventSignal;
  readonly app: DeferredApp;
  readonly url: string;
}

/** Composes a server on its store, and serves. `stops` collects how to stop what was started. */
export async function serveStore(
  store: Store,
  options: BoundOptions,
  log: Log,
  stops: Stop[],
): Promise<Parts> {
  const { config, app, url } = options;
  stops.push(await listenControl(app, config.data));
  if (store.isHealthy()) return serveWhole(store, options, log, stops);
  // The disk is full. What was lent can be read; whatever has to be stored is refused.
  const reading = composeApp(withoutWriting(store), { ...options, isServing: true }, log, () => url);
  stops.push(dismissPasswords, reading.cloud.close, reading.events.close);
  const begin = (late: Stop[]) => serveWhole(store, options, log, late);
  stops.push(serveOnceWritable(store, { begin, wait: () => app.open(reading.app), ...options }, log));
  return reading;
}

async function serveWhole(store: Store, options: BoundOptions, log: Log, stops: Stop[]): Promise<Parts> {
  const { config, certificates, eventSignal, app, url } = options;
  const parts = composeApp(store, { ...options, isServing: true }, log, () => url);
  stops.push(dismissPasswords, parts.cloud.close, parts.events.close, () => parts.room.close());
  await settleTestClock(store, options, log);
  // From here on, the store knows whether this server leads.
  await store.keepClock();
  await parts.settings.refresh();
  describeRules(log, await parts.ruleBook.begin());
  const eventLoops = await parts.events.begin();
  await prepareStore(parts, options, log);
  const { rules } = await store.read({ kind: 'find_rules' });
  warnAboutExposure({ ...options, config: parts.settings.current }, rules.set, log);
  app.open(parts.app);
  const houseLoops = createHouseLoops(store, { ...parts, certificates }, config, log);
  const loops = [houseLoops, eventLoops, createCloudLoops(parts.cloud, config, log)];
  parts.testClock.onPassed((millis) => passTime(loops, millis));
  stops.push(...startLoops(store, loops, { ...parts, ...parts.cloud }, log));
  eventSignal.notify = parts.events.wake;
  await Promise.all([
    // After a crash, this signs what the last run left unsigned.
    parts.audit.signHeads(),
    store.execute({
      kind: 'record_event',
      event: { kind: 'server_started', version: VERSION, settings: listChanged(parts.settings.current) },
    }),
  ]);
  const database = describeDatabase(config);
  log.info(
    { url, data: config.data, ...(database === null ? {} : { database }), version: VERSION },
    'serving',
  );
  return parts;
}

type ConfigAndEnv = Pick<ServeOptions, 'config' | 'env'>;

interface ComposeOptions extends ConfigAndEnv {
  /** `false` for commands that open the data of a stopped server. */
  readonly isServing: boolean;
  readonly certificates: Certificates | null;
  /** The newest lines of the log of a running server. */
  readonly recent?: RecentLines;
  readonly environment?: ServerEnvironment;
}

export const THIS_ENVIRONMENT: ServerEnvironment = { version: VERSION, clock: systemClock };

type PartServices =
  | 'accounts'
  | 'audit'
  | 'backups'
  | 'catalogue'
  | 'ruleBook'
  | 'settings'
  | 'metrics'
  | 'testClock';

interface Parts extends Pick<Services, PartServices> {
  readonly app: App;
  readonly routes: readonly Route[];
  readonly cloud: CloudParts;
  readonly events: EventParts;
  readonly room: WaitingRoom;
}

export function composeApp(
  store: Store,
  options: ComposeOptions,
  log: Log,
  readUrl: () => string | null,
): Parts {
  const { config, environment = THIS_ENVIRONMENT } = options;
  const { version } = environment;
  const { readMonotonicMs } = environment.clock;
  const settings = new LiveSettings(store, config, BACKUP_CHECKS);
  const directory = composeDirectory(config, environment.clock, log);
  const access = composeAccess(store, config, environment, directory);
  const { accounts, singleSignOn, people } = access;
  const audit = createAuditTrail(store);
  const catalogue = createCatalogue(store);
  const facts = { ...describeServer(options, environment), readUrl };
  const cloud = composeCloud(store, { ...options, environment, settings }, log);
  const groups = createDirectoryGroups(store, directory);
  const runTask = environment.runTask ?? (options.isServing ? createTaskThreads() : runTaskHere);
  const ruleBook = createRuleBook(store, openRulesFile(config), groups, runTask);
  const { cloudLink } = cloud;
  const events = composeEvents(store, { ...options, settings, cloudLink, environment, runTask }, log);
  const requests = new RequestCounts();
  const keeping = composeBackups(store, { ...options, settings, environment });
  const lending = composeLending(store, settings, readMonotonicMs, runTask);
  const metrics = createMetrics({
    ...environment.clock,
    ...facts,
    ...describeParts(config),
    ...{ store, ...keeping, cloudLink, requests, room: lending.room },
  });
  const services = {
    ...access,
    audit,
    ...keeping,
    catalogue,
    ...cloud,
    ruleBook,
    ruleTrials: createRuleTrials(store, groups, runTask),
    ...events,
    ...lending,
    ...composeGrants(store, cloud),
    metrics,
    doctor: composeDoctor({ settings, env: options.env, runTask }, environment.clock, {
      ...keeping,
      ...events,
      webhooks: events.webhooks.deliveries,
      ...{ singleSignOn, people },
      store,
      cloudLink,
      version,
    }),
    allowKeysInUrl: config.http.allowKeysInUrl,
    settings,
    listLogLines: () => options.recent?.list() ?? [],
    facts,
    readMonotonicMs,
  };
  const routes = createRoutes(services);
  const app = createApp({
    routes: [...routes, ...(environment.routes ?? [])],
    listRoutesFor: composeLimited(store, services, lending.takeSlot, runTask),
    ...access,
    pages: { allowedOrigins: config.http.allowedOrigins, ownNames: openOwnNames(options, environment) },
    log,
    requests,
    ...{ logRequests: config.log.requests, slowRequestMs: config.log.slowRequestMs },
    settings,
    readMonotonicMs,
  });
  const { room, testClock } = lending;
  const parts = { app, routes, accounts, audit, ...keeping, catalogue, cloud, ruleBook, events };
  return { ...parts, metrics, settings, room, testClock };
}

function composeAccess(
  store: Store,
  config: Config,
  { clock, passwordCost }: ServerEnvironment,
  directory: Directory | null,
) {
  const people = composePeople(config, directory);
  const { readWall, readMonotonicMs } = clock;
  const options = { readWall, readMonotonicMs, passwordCost, people, elsewhere: findElsewhere(config) };
  const accounts = createAccounts(store, options);
  return {
    people,
    accounts,
    singleSignOn: composeSignIn(store, config, clock, accounts.tokens),
    auth: describeAccess(config),
  };
}

function describeParts(config: Config) {
  return { storeKind: isShared(config) ? 'postgresql' : 'sqlite', usesCloud: config.cloud.url !== '' };
}

function describeServer({ config, certificates }: ComposeOptions, { version, clock }: ServerEnvironment) {
  const startedMs = clock.readMonotonicMs();
  return {
    version,
    data: config.data,
    database: describeDatabase(config),
    readTls: () => certificates?.describe() ?? null,
    readUptimeSeconds: () => Math.round((clock.readMonotonicMs() - startedMs) / 1000),
  };
}

function describeAccess({ auth, host, http, metrics }: Config): AuthSettings {
  const isLoopbackOnly = isLoopbackHost(host) && http.trustedProxies.length === 0;
  const { localAdmin, clients, requireTls, secondFactor, localAccounts } = auth;
  const own = { localAdmin, clients, requireTls, secondFactor, localAccounts };
  return { ...own, isLoopbackOnly, metrics: metrics.access };
}

function openOwnNames({ config, certificates }: ComposeOptions, { clock, machine }: ServerEnvironment) {
  return createOwnNames({
    allowedHosts: config.http.allowedHosts,
    isCertified: (name) => certificates?.isFor(name) === true,
    readMonotonicMs: clock.readMonotonicMs,
    machine,
  });
}

/** A store is for tests or for real, from its first start on. */
async function settleTestClock(
  store: Store,
  { testClock = false, config }: BoundOptions,
  log: Log,
): Promise<void> {
  if (!testClock) {
    if (!(await store.read({ kind: 'describe_store' })).hasTestClock) return;
    throw new StartError(
      `The data in ${config.data} is for tests: its time was moved. Start it with --test-clock, or choose ` +
        'another data folder.',
    );
  }
  const outcome = await store.execute({ kind: 'start_test_clock' });
  if (outcome.kind === 'refused') {
    throw new StartError(`${outcome.message} Start --test-clock with another data folder.`);
  }
  log.warn('TEST CLOCK: administrators can move the time of this server, so it takes no real licenses');
}

/** What the first start creates, and what `--demo` adds. */
async function prepareStore(
  { accounts, catalogue, cloud }: Parts,
  { demo, announce }: BoundOptions,
  log: Log,
) {
  const bound = await cloud.identity.bind();
  if (typeof bound === 'object') throw new StartError(bound.message);
  if (bound) {
    log.warn(
      'this data was last used on another machine: licenses from the cloud lend for seven days while they ' +
        'are activated here, others lend no new slots until the vendor moves them',
    );
  }
  const announcePassword = (password: string) =>
    announce(
      `Created administrator "${FIRST_ADMINISTRATOR}" with the one-time password  ${password}\n` +
        'It is shown only once, works for one sign-in, and expires after 7 days. Replace it with ' +
        '"berth user password admin": until then, all users of this machine can administer the server.\n',
    );
  await accounts.ensureAdministrator(announcePassword);
  if (!demo) return;
  if (await catalogue.addDemo()) log.info('added the demo license for product "demo"; not for production');
  else log.info('the store already has licenses; the demo license was not added');
}

/** The database without its secrets; `null` if the data is in the folder. */
function describeDatabase(config: Config): string | null {
  return isShared(config) ? showConfig(config).database.url : null;
}

/** Installs the master key of an export and returns its fingerprint. */
export function importMasterKey(options: ConfigAndEnv, text: string, passphrase: string): Promise<string> {
  return importKey({ ...options, version: VERSION }, text, passphrase);
}

/**
 * The admin API of a stopped server, in this process. `null` if the server of this folder or another command
 * is running.
 */
export async function openStoppedServer(config: Config, env: ServeOptions['env']) {
  const log = createQuietLog();
  const store = await openStoppedStore({
    config,
    env,
    version: VERSION,
    onNotice: (notice) => describeNotice(log, notice),
    onNews: () => {},
  });
  if (store === null) return null;
  const options = { config, env, isServing: false, certificates: null };
  const { app, settings } = composeApp(store, options, log, () => null);
  // Commands also work with data that is damaged.
  await settings.refresh().catch(() => {});
  const peer = { address: 'control', isControl: true };
  return {
    answer(method: string, url: string, body: string | null) {
      const { signal } = new AbortController();
      const readBody = () => Buffer.from(body ?? '');
      return app.answer({ method, url, headers: NO_HEADERS, signal, readBody }, peer);
    },
    close: () => store.close(),
  };
}

/** The services that need nothing but the store. */
function composeLending(
  store: Store,
  settings: CurrentSettings,
  readMonotonicMs: () => number,
  runTask: RunTask,
) {
  const room = createWaitingRoom(store, { settings, readMonotonicMs });
  const takeSlot = createTakeSlot(store, room, { settings, readMonotonicMs });
  return {
    room,
    takeSlot,
    counting: createCounting(store, takeSlot),
    lending: createLending(store, takeSlot),
    oversight: createOversight(store),
    testClock: createTestClock(store),
    history: createHistory(store, settings.current.history, runTask),
  };
}
