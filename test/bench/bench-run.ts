import { setTimeout } from 'node:timers/promises';
import { PRODUCTS, SEEDS } from './bench-licenses.ts';
import { shareCores } from './cores.ts';
import { type LoadClient, startLoadClient } from './load/load-client.ts';
import { type LoadPlan, type RequestPlan, USER_MARK, type UserPlan } from './load/load-plan.ts';
import {
  type ConstantMeasured,
  isDisturbed,
  joinConstants,
  joinSlices,
  type Measured,
  type Measurement,
  type Slice,
  sum,
} from './measurement.ts';
import { type PostgresServers, startPostgresServers } from './postgres-servers.ts';
import {
  listChildren,
  readCpuSeconds,
  readFamilyCpuSeconds,
  readMachineCpuSeconds,
} from './process-facts.ts';
import { registerPlan, requestBody } from './requests.ts';
import type { Verdict } from './scenarios.ts';
import { seedFolder } from './seed-store.ts';
import { type BenchServer, makeFolder, startBerth, startYardstick, type YardstickKind } from './servers.ts';
import { quantile } from './two-samples.ts';
import { type ConstantAnswer, recordAnswer } from './yardsticks/constant-answer.ts';

/** What one measurement does; the rest has defaults. */
export interface LoadWish {
  readonly label: string;
  readonly connections: number;
  readonly requests: readonly RequestPlan[];
  readonly users: UserPlan;
  /** The server may use the load generator's core too. */
  readonly isSharing?: boolean | undefined;
  readonly isStaggered?: boolean;
  readonly rate?: number;
  readonly rounds?: number;
}

const FIRST_WARMUP_SECONDS = 4;
const WARMUP_SECONDS = 0.2;

/** Until code that a contender has not run yet is compiled, and what it needs is in memory. */
const CONTENDER_WARMUP_SECONDS = 2;

/** Between looks at whether others have left the machine alone. */
const PAUSE_MS = 5000;

/** The speed of a machine changes from second to second, so those that are compared take short turns. */
const TURNS = 3;

/** One of those that are compared. */
interface Contender {
  readonly servers: readonly BenchServer[];
  readonly wish: LoadWish;
  /** Called before each of its turns. */
  readonly prepare?: () => Promise<void>;
}

interface TurnOptions {
  readonly turns?: number;
  /** Of one turn; unless told, all turns of a contender together take as long as a measurement. */
  readonly seconds?: number;
  /** Which of the contenders is the constant of all others. */
  readonly constant?: number;
}

const MANY_TURNS = 11;

/** So many that the one in the middle tells, and none too short. */
export function manyTurns(seconds: number, turns = MANY_TURNS): TurnOptions {
  return { turns, seconds: Math.max(0.3, seconds / turns) };
}

/** How much the rate may change during a turn, and how often such a turn is taken before it counts. */
const STEADY_WITHIN = 0.1;
const MAX_ATTEMPTS = 5;

/** What a contender did, in all turns together and in each. */
export interface Contested {
  readonly measurement: Measurement;
  readonly turns: readonly Measured[];
}

/** In all turns together, in the one in the middle, and in those with the least and the most of it. */
export interface RateRatio {
  readonly whole: number;
  /** Of many turns, neighbours disturb some, and this one little. */
  readonly middle: number;
  readonly least: number;
  readonly most: number;
}

/** How many times the rate of the second the first has. */
export function rateRatio(first: Contested, second: Contested): RateRatio {
  const turns = first.turns.map(({ rate }, turn) => rate / (second.turns[turn] as Measured).rate);
  const whole = first.measurement.rate / second.measurement.rate;
  return { whole, middle: quantile(turns, 0.5), least: Math.min(...turns), most: Math.max(...turns) };
}

/** The ratio of the turn in the middle, and those of all. */
export function showMiddle({ middle, least, most }: RateRatio): string {
  return `${middle.toFixed(2)} × (${least.toFixed(2)}–${most.toFixed(2)})`;
}

/** The first's processor time of one request against the second's, all threads; of the middle turn. */
export function cpuRatio(first: Contested, second: Contested): number | null {
  const turns = first.turns.flatMap(({ cpuMicros }, turn) => {
    const other = second.turns[turn]?.cpuMicros ?? null;
    return cpuMicros === null || other === null ? [] : [cpuMicros / other];
  });
  return turns.length < first.turns.length ? null : quantile(turns, 0.5);
}

/** Whether the first has at least this part of the second's rate, in the turn in the middle. */
export function judgeRate(target: string, first: Contested, second: Contested, leastRatio: number): Verdict {
  const [ratio, cpu] = [rateRatio(first, second), cpuRatio(first, second)];
  const measured = `${showMiddle(ratio)}${cpu === null ? '' : `, CPU ${cpu.toFixed(2)} ×`}`;
  return { target, measured, isMet: ratio.middle >= leastRatio };
}

/** Renewals of users who have held their slots since before the start, each on connections of their own. */
export const HEARTBEATS: Pick<LoadWish, 'requests' | 'users'> = {
  requests: [registerPlan(PRODUCTS.renew)],
  users: { from: 0, step: 2, count: 1000, pick: 'own' },
};

interface Meters {
  readonly server: number;
  readonly database: number;
  readonly own: number;
  readonly machine: number;
  readonly atMs: number;
}

/** Servers and the load generator of one run, started when first needed and ended with it. */
export class BenchRun {
  readonly seconds: number;
  readonly measurements: Measurement[] = [];
  readonly notes: { readonly name: string; readonly value: string }[] = [];
  /** What is known of the database, by its name. */
  readonly facts: Record<string, string> = {};
  /** Processes that make a load beside the load generator. */
  readonly besides = new Set<number>();
  readonly #onMeasured: (measurement: Measurement) => void;
  /** How long to pause until others leave the machine alone, from now on. */
  #patienceMs: number;
  readonly #started = new AsyncDisposableStack();
  readonly #load: LoadClient;
  /** Of all runs so far. */
  #rounds = 0;
  #berth: BenchServer | null = null;
  #postgres: PostgresServers | null = null;
  #answer: ConstantAnswer | null = null;
  readonly #yardsticks: Partial<Record<YardstickKind, BenchServer>> = {};
  /** The last measured constant, to be used again when the next measurement has as many connections. */
  #lastConstant: (ConstantMeasured & Pick<LoadWish, 'connections' | 'isSharing'>) | null = null;

  constructor(seconds: number, patienceMs: number, onMeasured: (measurement: Measurement) => void) {
    this.seconds = seconds;
    this.#patienceMs = patienceMs;
    this.#onMeasured = onMeasured;
    this.#load = this.keep(startLoadClient());
  }

  /** Ends everything that was started, the last first. */
  end(): Promise<void> {
    return this.#started.disposeAsync();
  }

  /** Has it ended with the run. */
  keep<T extends { stop(): Promise<void> }>(started: T): T {
    this.#started.defer(() => started.stop());
    return started;
  }

  makeFolder(): string {
    const { folder, remove } = makeFolder();
    this.#started.defer(remove);
    return folder;
  }

  async berth(): Promise<BenchServer> {
    if (this.#berth !== null) return this.#berth;
    const data = this.makeFolder();
    await seedFolder(data, SEEDS);
    this.#berth = this.keep(await startBerth(data));
    await this.warmUp(this.#berth);
    return this.#berth;
  }

  /** Servers on one database. */
  async postgres(): Promise<PostgresServers> {
    if (this.#postgres !== null) return this.#postgres;
    this.#postgres = await startPostgresServers(this);
    for (const server of this.#postgres.servers) await this.warmUp(server);
    return this.#postgres;
  }

  /** A program without a store that answers what our server answers to a heartbeat. */
  async yardstick(kind: YardstickKind): Promise<BenchServer> {
    const started = this.#yardsticks[kind];
    if (started !== undefined) return started;
    this.#answer ??= await recordHeartbeat(await this.berth());
    const yardstick = this.keep(await startYardstick(kind, this.#answer, this.makeFolder()));
    await this.warmUp(yardstick);
    this.#yardsticks[kind] = yardstick;
    return yardstick;
  }

  /** By turns with the constant of bare `node:http`, which comes first and last. */
  async measure(wish: LoadWish): Promise<Measurement> {
    const berth = await this.berth();
    const constants = [await this.#findConstant(wish)];
    const slices: Slice[] = [];
    const count = wish.rounds === undefined ? TURNS : 1;
    while (slices.length < count) {
      slices.push(await this.#loadPatiently([berth], wish, this.seconds / count));
      constants.push(await this.#measureConstant(wish));
    }
    return this.#record({ label: wish.label, ...joinSlices(slices), constant: joinConstants(constants) });
  }

  /** Servers of the scenario's own, without the constant beside them. */
  async measureAlone(
    servers: readonly BenchServer[],
    wish: LoadWish,
    seconds = this.seconds,
  ): Promise<Measurement> {
    const measured = joinSlices([await this.#loadPatiently(servers, wish, seconds)]);
    return this.#record({ label: wish.label, ...measured, constant: null });
  }

  /** By turns, each at this part of the rate that the contender reaches just before it. */
  async takePacedTurns(contenders: readonly Contender[], part: number): Promise<readonly Contested[]> {
    const slices: Slice[][] = contenders.map(() => []);
    for (let turn = 0; turn < MANY_TURNS; turn++)
      for (const [index, contender] of contenders.entries())
        slices[index]?.push(await this.#pace(contender, part));
    return contenders.map(({ wish }, index) => this.#recordTurns(wish, slices[index] ?? [], null));
  }

  /** Takes the turn again if the machine became slower or faster: it was at another part of the rate then. */
  async #pace({ servers, wish }: Contender, part: number): Promise<Slice> {
    const findRate = async () =>
      joinSlices([await this.#loadPatiently(servers, wish, this.seconds / 2)]).rate;
    for (let attempt = 1; ; attempt++) {
      const before = await findRate();
      const slice = await this.#loadPatiently(servers, { ...wish, rate: part * before });
      const isSteady = Math.abs((await findRate()) / before - 1) <= STEADY_WITHIN;
      if (isSteady || attempt === MAX_ATTEMPTS) return slice;
    }
  }

  /** By turns, so that all meet the same machine: there and back again, so that none is always the first. */
  async takeTurns(
    contenders: readonly Contender[],
    { turns = TURNS, seconds = this.seconds / turns, constant }: TurnOptions = {},
  ): Promise<readonly Contested[]> {
    for (const { servers, wish } of contenders) await this.load(servers, wish, CONTENDER_WARMUP_SECONDS);
    const slices: Slice[][] = contenders.map(() => []);
    const order = contenders.map((contender, index) => ({ ...contender, index }));
    for (let turn = 0, disturbed = 0; turn < turns; ) {
      const round: Slice[] = [];
      for (const { index, servers, wish, prepare } of turn % 2 === 0 ? order : order.toReversed()) {
        await prepare?.();
        round[index] = await this.load(servers, wish, seconds);
      }
      if (round.some(isDisturbed) && ((await this.#pause()) || disturbed++ < turns)) continue;
      for (const [index, slice] of round.entries()) slices[index]?.push(slice);
      turn += 1;
    }
    const yardstick = constant === undefined ? null : joinSlices(slices[constant] ?? []);
    return contenders.map(({ wish }, index) =>
      this.#recordTurns(wish, slices[index] ?? [], index === constant ? null : yardstick),
    );
  }

  /** How many times the rate of the second the first has. */
  async compare(first: Contender, second: Contender): Promise<RateRatio> {
    const [a, b] = await this.takeTurns([first, second]);
    return rateRatio(a as Contested, b as Contested);
  }

  /** Something that was measured and is no load. */
  note(name: string, value: string): void {
    this.notes.push({ name, value });
  }

  #recordTurns({ label }: LoadWish, slices: readonly Slice[], constant: Measured | null): Contested {
    const measurement = this.#record({ label, ...joinSlices(slices), constant });
    return { measurement, turns: slices.map((slice) => joinSlices([slice])) };
  }

  #record(measurement: Measurement): Measurement {
    this.measurements.push(measurement);
    this.#onMeasured(measurement);
    return measurement;
  }

  async load(servers: readonly BenchServer[], wish: LoadWish, seconds = this.seconds): Promise<Slice> {
    const plan: LoadPlan = {
      servers: servers.map(({ host, port }) => ({ host, port })),
      connections: wish.connections,
      requests: wish.requests,
      isStaggered: wish.isStaggered === true,
      users: wish.users,
      warmupSeconds: wish.rounds === undefined ? WARMUP_SECONDS : 0,
      seconds,
      rate: wish.rate ?? null,
      rounds: wish.rounds ?? null,
      earlierRounds: this.#rounds,
    };
    for (const pid of this.#listPids(servers)) shareCores(pid, wish.isSharing === true);
    const before = this.#readMeters(servers);
    const load = await this.#load.run(plan);
    const after = this.#readMeters(servers);
    if (wish.rounds === undefined) this.#rounds += load.rounds;
    if (before === null || after === null) return { load, cpu: null };
    const server = after.server - before.server;
    const database = after.database - before.database;
    const others = after.machine - before.machine - server - database - (after.own - before.own);
    return { load, cpu: { server, database, others, elapsed: (after.atMs - before.atMs) / 1000 } };
  }

  /** Until others do not disturb, or patience ends. */
  async #loadPatiently(
    servers: readonly BenchServer[],
    wish: LoadWish,
    seconds = this.seconds,
  ): Promise<Slice> {
    for (;;) {
      const slice = await this.load(servers, wish, seconds);
      if (wish.rounds !== undefined || !isDisturbed(slice) || !(await this.#pause())) return slice;
    }
  }

  /** Whether there was any patience left. */
  async #pause(): Promise<boolean> {
    if (this.#patienceMs <= 0) return false;
    this.#patienceMs -= PAUSE_MS;
    await setTimeout(PAUSE_MS);
    return true;
  }

  /** The servers, and every process of the database beside them: each of its connections has one. */
  #listPids(servers: readonly BenchServer[]): readonly number[] {
    const database = this.#postgres?.databasePid;
    return [
      ...servers.flatMap(({ pid }) => (pid === null ? [] : [pid])),
      ...(database === undefined ? [] : [database, ...listChildren(database)]),
    ];
  }

  /** Processor time so far: of the servers, the database, the load generator with us, and everything. */
  #readMeters(servers: readonly BenchServer[]): Meters | null {
    const used = servers.map(({ pid }) => readCpuSeconds(pid));
    const known = used.filter((seconds) => seconds !== null);
    const databasePid = this.#postgres?.databasePid;
    const database = databasePid === undefined ? 0 : readFamilyCpuSeconds(databasePid);
    const ours = [this.#load.pid, process.pid, ...this.besides].map(readCpuSeconds);
    const own = ours.filter((seconds) => seconds !== null);
    const machine = readMachineCpuSeconds();
    if (known.length < servers.length || database === null) return null;
    if (own.length < ours.length || machine === null) return null;
    return { server: sum(known), database, own: sum(own), machine, atMs: performance.now() };
  }

  async #findConstant(wish: LoadWish): Promise<ConstantMeasured> {
    const last = this.#lastConstant;
    const isAlike = last?.connections === wish.connections && last.isSharing === wish.isSharing;
    return last !== null && isAlike ? last : this.#measureConstant(wish);
  }

  async #measureConstant({ connections, isSharing }: LoadWish): Promise<ConstantMeasured> {
    const wish: LoadWish = { label: 'constant', connections, ...HEARTBEATS, isSharing };
    const slice = await this.#loadPatiently([await this.yardstick('http')], wish, this.seconds / TURNS / 2);
    const { rate, cpuMicros, errors, firstError } = joinSlices([slice]);
    if (errors > 0) throw new Error(`Bare node:http failed: ${firstError}`);
    this.#lastConstant = { connections, isSharing, rate, cpuMicros };
    return { rate, cpuMicros };
  }

  /** A process that has just started is slow for a while; nobody measures that here. */
  async warmUp(server: BenchServer, load: Pick<LoadWish, 'requests' | 'users'> = HEARTBEATS): Promise<void> {
    await this.load([server], { label: 'warm-up', connections: 64, ...load }, FIRST_WARMUP_SECONDS);
  }
}

async function recordHeartbeat({ host, port }: BenchServer): Promise<ConstantAnswer> {
  const body = requestBody(PRODUCTS.renew).replaceAll(USER_MARK, '0000000');
  const head = ['POST /api/v4/register HTTP/1.1', `Host: ${host}:${port}`, 'Content-Type: application/json'];
  const answer = await recordAnswer(port, [...head, `Content-Length: ${body.length}`, '', body].join('\r\n'));
  if (!answer.head.startsWith('HTTP/1.1 200 '))
    throw new Error(`The first heartbeat was answered ${answer.head.slice(9, 12)}.`);
  return answer;
}
