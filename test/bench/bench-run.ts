import { PRODUCTS, SEEDS } from './bench-licenses.ts';
import { shareCores } from './cores.ts';
import { type LoadClient, startLoadClient } from './load-client.ts';
import { type LoadPlan, type RequestPlan, USER_MARK, type UserPlan } from './load-plan.ts';
import {
  type ConstantMeasured,
  joinConstants,
  joinSlices,
  type Measurement,
  type Slice,
} from './measurement.ts';
import { type PostgresServers, startPostgresServers } from './postgres-servers.ts';
import {
  listChildren,
  readCpuSeconds,
  readFamilyCpuSeconds,
  readMachineCpuSeconds,
} from './process-facts.ts';
import { registerPlan, requestBody } from './requests.ts';
import { seedFolder } from './seed-store.ts';
import { type BenchServer, makeFolder, startBerth, startConstantServer } from './servers.ts';

/** What one measurement does; the rest has defaults. */
export interface LoadWish {
  readonly label: string;
  readonly connections: number;
  readonly requests: readonly RequestPlan[];
  readonly users: UserPlan;
  /** The server may use the load generator's core too. */
  readonly isSharing?: boolean | undefined;
  readonly rate?: number;
  readonly rounds?: number;
}

const FIRST_WARMUP_SECONDS = 4;
const WARMUP_SECONDS = 0.2;

/** The speed of a machine changes from second to second, so ours and the constant take short turns. */
const SLICES = 3;

/** The same for two servers. */
const TURNS = 3;

/** One of two that are compared. */
interface Contender {
  readonly servers: readonly BenchServer[];
  readonly wish: LoadWish;
}

/** In all turns together, and in the turns with the least and the most of it. */
export interface RateRatio {
  readonly whole: number;
  readonly least: number;
  readonly most: number;
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
  readonly #onMeasured: (measurement: Measurement) => void;
  readonly #started = new AsyncDisposableStack();
  readonly #load: LoadClient;
  /** Of all runs so far. */
  #rounds = 0;
  #berth: BenchServer | null = null;
  #postgres: PostgresServers | null = null;
  #constant: BenchServer | null = null;
  /** The last measured constant, to be used again when the next measurement has as many connections. */
  #lastConstant: (ConstantMeasured & Pick<LoadWish, 'connections' | 'isSharing'>) | null = null;

  constructor(seconds: number, onMeasured: (measurement: Measurement) => void) {
    this.seconds = seconds;
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
    await this.#warmUp(this.#berth);
    return this.#berth;
  }

  /** Servers on one database. */
  async postgres(): Promise<PostgresServers> {
    if (this.#postgres !== null) return this.#postgres;
    this.#postgres = await startPostgresServers(this);
    for (const server of this.#postgres.servers) await this.#warmUp(server);
    return this.#postgres;
  }

  /** By turns with the constant, which comes first and last. */
  async measure(wish: LoadWish): Promise<Measurement> {
    const berth = await this.berth();
    const constants = [await this.#findConstant(wish)];
    const slices: Slice[] = [];
    const count = wish.rounds === undefined ? SLICES : 1;
    while (slices.length < count) {
      slices.push(await this.load([berth], wish, this.seconds / count));
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
    const measured = joinSlices([await this.load(servers, wish, seconds)]);
    return this.#record({ label: wish.label, ...measured, constant: null });
  }

  /** By turns, so that both meet the same machine; how many times the rate of the second the first has. */
  async compare(first: Contender, second: Contender): Promise<RateRatio> {
    const slices = { first: [] as Slice[], second: [] as Slice[] };
    for (let turn = 0; turn < TURNS; turn++) {
      slices.first.push(await this.load(first.servers, first.wish, this.seconds / TURNS));
      slices.second.push(await this.load(second.servers, second.wish, this.seconds / TURNS));
    }
    const rateOf = (slice: Slice | undefined) => joinSlices(slice === undefined ? [] : [slice]).rate;
    const turns = slices.first.map((slice, turn) => rateOf(slice) / rateOf(slices.second[turn]));
    const [a, b] = [joinSlices(slices.first), joinSlices(slices.second)];
    this.#record({ label: first.wish.label, ...a, constant: null });
    this.#record({ label: second.wish.label, ...b, constant: null });
    return { whole: a.rate / b.rate, least: Math.min(...turns), most: Math.max(...turns) };
  }

  /** Something that was measured and is no load. */
  note(name: string, value: string): void {
    this.notes.push({ name, value });
  }

  #record(measurement: Measurement): Measurement {
    this.measurements.push(measurement);
    this.#onMeasured(measurement);
    return measurement;
  }

  async load(servers: readonly BenchServer[], wish: LoadWish, seconds = this.seconds): Promise<Slice> {
    const plan: LoadPlan = {
      ports: servers.map(({ port }) => port),
      connections: wish.connections,
      requests: wish.requests,
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

  /** The servers, and every process of the database beside them: each of its connections has one. */
  #listPids(servers: readonly BenchServer[]): readonly number[] {
    const database = this.#postgres?.databasePid;
    return [
      ...servers.map(({ pid }) => pid),
      ...(database === undefined ? [] : [database, ...listChildren(database)]),
    ];
  }

  /** Processor time so far: of the servers, the database, the load generator with us, and everything. */
  #readMeters(servers: readonly BenchServer[]): Meters | null {
    const used = servers.map(({ pid }) => readCpuSeconds(pid)).filter((seconds) => seconds !== null);
    const databasePid = this.#postgres?.databasePid;
    const database = databasePid === undefined ? 0 : readFamilyCpuSeconds(databasePid);
    const generator = readCpuSeconds(this.#load.pid);
    const self = readCpuSeconds(process.pid);
    const machine = readMachineCpuSeconds();
    if (used.length < servers.length || database === null) return null;
    if (generator === null || self === null || machine === null) return null;
    const server = used.reduce((sum, seconds) => sum + seconds, 0);
    return { server, database, own: generator + self, machine, atMs: performance.now() };
  }

  async #findConstant(wish: LoadWish): Promise<ConstantMeasured> {
    const last = this.#lastConstant;
    const isAlike = last?.connections === wish.connections && last.isSharing === wish.isSharing;
    return last !== null && isAlike ? last : this.#measureConstant(wish);
  }

  async #measureConstant({ connections, isSharing }: LoadWish): Promise<ConstantMeasured> {
    this.#constant ??= await this.#startConstant();
    const wish: LoadWish = { label: 'constant', connections, ...HEARTBEATS, isSharing };
    const slice = await this.load([this.#constant], wish, this.seconds / SLICES / 2);
    const { rate, cpuMicros, errors, firstError } = joinSlices([slice]);
    if (errors > 0) throw new Error(`The constant server failed: ${firstError}`);
    this.#lastConstant = { connections, isSharing, rate, cpuMicros };
    return { rate, cpuMicros };
  }

  /** It answers what our server answers to a heartbeat, byte for byte. */
  async #startConstant(): Promise<BenchServer> {
    const { url } = await this.berth();
    const body = requestBody(PRODUCTS.renew).replaceAll(USER_MARK, '0000000');
    const headers = { 'Content-Type': 'application/json' };
    const response = await fetch(`${url}/api/v4/register`, { method: 'POST', headers, body });
    if (response.status !== 200) throw new Error(`The first heartbeat was answered ${response.status}.`);
    const constant = this.keep(await startConstantServer(await response.text(), this.makeFolder()));
    await this.#warmUp(constant);
    return constant;
  }

  /** A process that has just started is slow for a while; nobody measures that here. */
  async #warmUp(server: BenchServer): Promise<void> {
    await this.load([server], { label: 'warm-up', connections: 64, ...HEARTBEATS }, FIRST_WARMUP_SECONDS);
  }
}
