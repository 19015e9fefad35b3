import { setTimeout as delay } from 'node:timers/promises';
import { BerthApi } from '../../support/berth-api.ts';
import { ensureTool } from '../../support/install-tools.ts';
import { pollUntil } from '../../support/poll.ts';
import { createRandom, pickNumber, pickOne, type Random } from '../../support/random.ts';
import type { ServerUnderTest } from '../../support/server-under-test.ts';
import { type Pgbouncer, type PoolMode, startPgbouncer } from '../../support/stores/pgbouncer.ts';
import type { TestPostgres } from '../../support/stores/postgres.ts';
import { testLicense } from '../../support/test-license.ts';
import type { Fault, Findings, Life, Order } from '../door/fault.ts';
import { OWN_POSTGRES } from '../door/needs.ts';
import { Fleet, patienceOf } from '../fleet/fleet.ts';
import { FleetBook, hotLicense } from '../fleet/fleet-book.ts';
import { FleetLoad } from '../fleet/fleet-load.ts';
import { findBrokenRows, inspectFleet } from '../fleet/inspect-fleet.ts';
import { type Crash, ReplicatedDatabase } from './replicated-database.ts';

const SERVERS = 2;
const CLIENTS = 16;
const TIMEOUT_MINUTES = 120;

const WORK_MS = { from: 300, to: 1200 };
/** Half of the time the standby is behind when the primary ends, by what was written in so long. */
const HELD_MS = { from: 50, to: 400 };
const OUTAGE_MS = { from: 0, to: 1000 };
/** A frozen primary goes on so long after its standby was promoted. */
const FROZEN_MS = { from: 0, to: 3000 };

const LONGEST_ANSWER_MS = 15_000;
/** A server looks for the new primary every other second. */
const LONGEST_RECOVERY_MS = 6000;
/** A pooler may lead it to an old primary that hangs, once more. */
const LONGEST_POOLED_RECOVERY_MS = 15_000;

/** A client rests up to so long before it asks again. */
const LONGEST_REST_MS = { small: 150, full: 20 } as const;

/** Fewer answers show nothing; a busy machine gets more time for them. */
const LEAST_ANSWERS = 100;

const PROMOTIONS_PER_FLEET = 10;
/** Otherwise PgBouncer does not try again for 15 seconds after it could not reach the database. */
const POOLER = ['server_login_retry = 1'];
const CRASHES: readonly Crash[] = ['stopped', 'killed', 'frozen'];

/** To ask whether a server stores things, without being in the way of the load. */
const PROBE = testLicense(2, { product: 'probe', slots: SERVERS, timeoutMinutes: TIMEOUT_MINUTES });

/** Servers under load on a database that is replicated. */
interface Site {
  readonly database: ReplicatedDatabase;
  readonly fleet: Fleet;
  /** What the last of the servers reaches the database through, if anything. */
  readonly pooler: Pgbouncer | null;
  readonly book: FleetBook;
  /** Ends the load, and waits for what is under way. */
  rest(): Promise<void>;
}

interface SiteOptions extends Pick<Order, 'seed' | 'size'> {
  readonly patience: number;
  /** How the last of the servers shares its connections; `null`: it has its own. */
  readonly poolMode: PoolMode | null;
}

async function openSite(
  life: Life,
  database: ReplicatedDatabase,
  { seed, size, patience, poolMode }: SiteOptions,
): Promise<Site> {
  const license = hotLicense(TIMEOUT_MINUTES);
  const url = await database.createDatabase();
  const postgres = { createDatabase: async () => url } as unknown as TestPostgres;
  const pooler = poolMode === null ? null : await startPgbouncer(life, database.port, poolMode, POOLER);
  const envs = pooler === null ? [] : [{}, throughPooler(url, pooler)];
  const fleet = await Fleet.start(life, { postgres, size: SERVERS, licenses: [license, PROBE], envs });
  const book = new FleetBook(license);
  const longestAnswerMs = patience * LONGEST_ANSWER_MS;
  const api = new BerthApi(fleet.proxy.url, { connections: CLIENTS, answerTimeoutMs: 2 * longestAnswerMs });
  const tolerates = ['unavailable'] as const;
  const limits = { tolerates, longestAnswerMs, longestRestMs: LONGEST_REST_MS[size] };
  const load = new FleetLoad({ api, book, clients: CLIENTS, seed, ...limits });
  const running = load.run(life);
  const rest = async () => {
    load.end();
    await running;
    api.close();
  };
  return { database, fleet, pooler, book, rest };
}

/** One host, which leads to whichever primary there is. */
function throughPooler(url: string, { port }: Pgbouncer) {
  const own = url.replace(/@.*\//, `@127.0.0.1:${port}/`).replace(/\?.*/, '');
  return { BERTH_DATABASE_URL: own, BERTH_DATABASE_PREPARE_STATEMENTS: 'false' };
}

/** Ends the primary in one of the ways, and promotes its standby. Returns how long each server needed. */
async function promoteOnce(
  { database, fleet, pooler, book }: Site,
  random: Random,
): Promise<readonly number[]> {
  await database.addStandby();
  await book.waitForAnswers(book.acknowledged + LEAST_ANSWERS);
  await delay(pickNumber(random, WORK_MS));
  const heldMs = random() < 0.5 ? pickNumber(random, HELD_MS) : 0;
  const crash = pickOne(random, CRASHES);
  if (heldMs > 0) database.holdStandbyBack();
  await delay(heldMs);
  await database.crashPrimary(crash);
  await delay(pickNumber(random, OUTAGE_MS));
  await database.promote();
  pooler?.leadTo(database.port);
  const startedMs = performance.now();
  const frozenMs = crash === 'frozen' ? pickNumber(random, FROZEN_MS) : 0;
  const woken = delay(frozenMs).then(() => database.wake());
  const recoveriesMs = await Promise.all(
    fleet.servers.map((server, index) => measureRecovery(server, `probe-${index}`, startedMs)),
  );
  const poolers = pooler === null ? [] : [`127.0.0.1:${pooler.port}`];
  const hosts = [...fleet.servers.slice(poolers.length).map(() => database.host), ...poolers];
  for (const [index, { api }] of fleet.servers.entries()) {
    const { body } = await api.get('/api/admin/status');
    const { host } = body.store as { host: string };
    if (host !== hosts[index]) book.violations.push(`the status names ${host}, and not ${hosts[index]}`);
  }
  await woken;
  await database.endOld();
  return recoveriesMs;
}

async function measureRecovery({ api }: ServerUnderTest, user: string, startedMs: number): Promise<number> {
  await pollUntil('the server stores something again', async () => {
    const { status } = await api.register({ product: PROBE.product, user });
    return status === 200 ? true : undefined;
  });
  return performance.now() - startedMs;
}

/** Several promotions of one database, with everything that was acknowledged in one book. */
async function runPromotions(site: Site, count: number, random: Random, patience: number) {
  const { fleet, book } = site;
  const recoveriesMs: number[] = [];
  let promotions = 0;
  while (promotions < count && book.violations.length === 0) {
    recoveriesMs.push(...(await promoteOnce(site, random)));
    promotions += 1;
  }
  await site.rest();
  for (const [index, server] of fleet.servers.entries()) {
    if (!server.isRunning) book.violations.push(`server ${index} has ended by itself: ${server.log}`);
  }
  const longestMs = patience * (site.pooler === null ? LONGEST_RECOVERY_MS : LONGEST_POOLED_RECOVERY_MS);
  for (const ms of recoveriesMs) {
    if (ms > longestMs) book.violations.push(`a server needed ${Math.round(ms)} ms to recover`);
  }
  await inspectFleet(fleet, book);
  if (fleet.servers.some(({ log }) => log.includes(NOTICED)))
    book.violations.push('a server says that acknowledged changes are lost');
  book.violations.push(...(await fleet.stop()));
  return { promotions, recoveriesMs, acknowledged: book.acknowledged, violations: book.violations };
}

/** Every other fleet has a server behind a pooler, if that can be had. */
const POOL_MODES = [null, 'session', null, 'transaction'] as const;

async function choosePoolMode(fleetNumber: number): Promise<PoolMode | null> {
  const mode = POOL_MODES[fleetNumber % POOL_MODES.length] ?? null;
  return mode !== null && (await ensureTool('pgbouncer')) ? mode : null;
}

async function promoteAgainAndAgain({ count, seed, size, life, say }: Order): Promise<Findings> {
  const patience = patienceOf(size);
  const random = createRandom(seed);
  const violations: string[] = [];
  const recoveriesMs: number[] = [];
  let [promotions, pooled, acknowledged] = [0, 0, 0];
  const database = await ReplicatedDatabase.start(life, true);
  while (promotions < count && violations.length === 0) {
    const poolMode = await choosePoolMode(seed + promotions / PROMOTIONS_PER_FLEET);
    const site = await openSite(life, database, { seed: seed + promotions, size, patience, poolMode });
    const many = Math.min(PROMOTIONS_PER_FLEET, count - promotions);
    const report = await runPromotions(site, many, random, patience);
    promotions += report.promotions;
    if (poolMode !== null) pooled += report.promotions;
    acknowledged += report.acknowledged;
    recoveriesMs.push(...report.recoveriesMs);
    violations.push(...report.violations);
    say(`${promotions} promotions, ${acknowledged} acknowledged`);
  }
  const recovery = { 'recovery in ms': summarize(recoveriesMs) };
  const facts = { acknowledged, 'with a server behind PgBouncer': pooled, ...recovery };
  if (size === 'small' || violations.length > 0) return { count: promotions, facts, violations };
  const losses = await loseAgainAndAgain({ count: Math.ceil(count / 5), seed, size, life, say });
  return {
    count: promotions,
    facts: { ...facts, ...describeLosses(losses) },
    violations: losses.flatMap(({ broken }) => broken),
  };
}

/** What a standby that was not synchronous lacked when it was promoted. */
interface Loss {
  readonly heldMs: number;
  /** What was acknowledged while it was held back, and how much of the counts among it is missing. */
  readonly acknowledged: number;
  readonly missing: number;
  /** Whether it breaks the promise that is given for a synchronous standby. */
  readonly isFound: boolean;
  /** What is wrong all the same: the rest must be consistent, and the servers must notice. */
  readonly broken: readonly string[];
}

/** What a server logs that finds changes missing. */
const NOTICED = 'lacks changes that were acknowledged';

const LOST_MS = { from: 300, to: 1000 };

async function loseOnce(site: Site, random: Random): Promise<Loss> {
  const { database, fleet, book } = site;
  await database.addStandby();
  await book.waitForAnswers(LEAST_ANSWERS);
  const before = book.acknowledged;
  const heldMs = pickNumber(random, LOST_MS);
  database.holdStandbyBack();
  await delay(heldMs);
  await book.waitForAnswers(before + LEAST_ANSWERS);
  const acknowledged = book.acknowledged - before;
  await database.crashPrimary('killed');
  const rested = site.rest();
  await database.promote();
  await rested;
  const broken = [...(await findBrokenRows((statement) => fleet.query(statement)))];
  await pollUntil(
    'a server notices',
    () => fleet.servers.some(({ log }) => log.includes(NOTICED)) || undefined,
  ).catch(() => broken.push('no server has noticed that changes are lost'));
  await inspectFleet(fleet, book);
  const missing = book.violations.filter((one) => one.includes('was answered and not counted')).length;
  broken.push(...book.violations.filter((one) => one.startsWith('audit verify')));
  broken.push(...(await fleet.stop()));
  await database.endOld();
  return { heldMs, acknowledged, missing, isFound: book.violations.length > 0, broken };
}

async function loseAgainAndAgain({ count, seed, size, life, say }: Order): Promise<readonly Loss[]> {
  const random = createRandom(seed);
  const database = await ReplicatedDatabase.start(life, false);
  const losses: Loss[] = [];
  while (losses.length < count) {
    const options = { seed: seed + losses.length, size, patience: patienceOf('small'), poolMode: null };
    const site = await openSite(life, database, options);
    losses.push(await loseOnce(site, random));
    say(`${losses.length} promotions of a standby that was behind`);
  }
  return losses;
}

function describeLosses(losses: readonly Loss[]): Findings['facts'] {
  const sum = (numbers: readonly number[]) => numbers.reduce((total, one) => total + one, 0);
  return {
    'control: promotions of an asynchronous standby': losses.length,
    'control: it was behind by ms': summarize(losses.map(({ heldMs }) => heldMs)),
    'control: acknowledged while it was behind': sum(losses.map(({ acknowledged }) => acknowledged)),
    'control: of these, counts lost, as expected': sum(losses.map(({ missing }) => missing)),
  };
}

/** The smallest, the one in the middle, and the largest. */
function summarize(numbers: readonly number[]): string {
  const sorted = numbers.map(Math.round).sort((a, b) => a - b);
  return `min ${sorted[0]}, median ${sorted[sorted.length >> 1]}, max ${sorted.at(-1)}`;
}

async function promoteTooSoon(order: Order) {
  const losses = await loseAgainAndAgain(order);
  const broken = losses.flatMap((one) => one.broken);
  if (broken.length > 0) throw new Error(broken.join('\n'));
  return { count: losses.length, found: losses.filter(({ isFound }) => isFound).length };
}

export const standby: Fault = {
  name: 'standby',
  promises: [1, 2, 3, 4, 5],
  promise:
    'When the primary database fails under load and its synchronous standby is promoted, nothing ' +
    'acknowledged is lost, and two servers recover by themselves.',
  unit: 'promotions',
  sizes: { small: 1, full: 50 },
  run: promoteAgainAndAgain,
  controls: [
    {
      name: 'the standby is not synchronous, and behind',
      sizes: { small: 1, full: 10 },
      leastShare: 0.7,
      run: promoteTooSoon,
    },
  ],
  hasFound: [
    'When a primary hung, the servers waited for it for 20 seconds, although its standby had been promoted.',
    'Behind a connection pooler, the server still waited up to 23 seconds for the old primary.',
    'After a failover that lost changes, a server could keep using its old list of licenses and rules.',
  ],
  needs: [OWN_POSTGRES],
};
