import type { License } from '../../packages/server/src/core/license.ts';
import { testLicense } from '../support/test-license.ts';
import { shareCores } from './cores.ts';
import { type LoadClient, startLoadClient } from './load-client.ts';
import { type LoadPlan, type RequestPlan, USER_MARK, type UserPlan, userDigits } from './load-plan.ts';
import {
  type ConstantMeasured,
  joinConstants,
  joinSlices,
  type Measurement,
  type Slice,
} from './measurement.ts';
import { readCpuSeconds, readMachineCpuSeconds } from './process-facts.ts';
import { OWN_PRODUCT, registerPlan, requestBody } from './requests.ts';
import { type Seed, seedStore } from './seed-store.ts';
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

export function benchLicense(id: number, product: string, slots: number): License {
  return testLicense(id, { product, slots, timeoutMinutes: 120 });
}

/** The products of the server that most scenarios share, each for one purpose. */
export const PRODUCTS = {
  renew: 'renew',
  shared: 'shared',
  half10: 'half-10',
  half1000: 'half-1000',
  half100000: 'half-100000',
  full: 'full',
  open: 'open',
  borrow: 'borrow',
  herd: 'herd',
  count: 'count',
} as const;

/** A license of 10 slots for each of so many users: over as many connections none gets in another's way. */
export const OWN_LICENSES = 64;

function ownProduct(user: number): string {
  return OWN_PRODUCT.replace(USER_MARK, userDigits(user));
}

function seed(id: number, product: string, slots: number, held: number): Seed {
  return { license: benchLicense(id, product, slots), held };
}

const SEEDS: readonly Seed[] = [
  seed(1, PRODUCTS.renew, 2000, 1000),
  seed(2, PRODUCTS.shared, 10, 0),
  seed(3, PRODUCTS.half10, 10, 5),
  seed(4, PRODUCTS.half1000, 1000, 500),
  seed(5, PRODUCTS.half100000, 100_000, 50_000),
  seed(6, PRODUCTS.full, 100, 100),
  seed(7, PRODUCTS.open, 1_000_000, 0),
  seed(8, PRODUCTS.borrow, 1000, 0),
  seed(9, PRODUCTS.herd, 5000, 0),
  { license: countingLicense(10), held: 0 },
  ...Array.from({ length: OWN_LICENSES }, (_, index) => seed(100 + index, ownProduct(2 * index + 1), 10, 5)),
];

/** Counts without end, so that a benchmark is never refused. */
function countingLicense(id: number): License {
  const license = benchLicense(id, PRODUCTS.count, 10);
  return { ...license, type: 'consumption', consumption: { ...license.consumption, unlimited: true } };
}

/** Renewals of users who have held their slots since before the start, each on connections of their own. */
export const HEARTBEATS: Pick<LoadWish, 'requests' | 'users'> = {
  requests: [registerPlan(PRODUCTS.renew)],
  users: { from: 0, step: 2, count: 1000, pick: 'own' },
};

interface Meters {
  readonly server: number;
  readonly own: number;
  readonly machine: number;
  readonly atMs: number;
}

/** Servers and the load generator of one run, started when first needed and ended with it. */
export class BenchRun {
  readonly seconds: number;
  readonly measurements: Measurement[] = [];
  readonly notes: { readonly name: string; readonly value: string }[] = [];
  readonly #onMeasured: (measurement: Measurement) => void;
  readonly #started = new AsyncDisposableStack();
  readonly #load: LoadClient;
  /** Of all runs so far. */
  #rounds = 0;
  #berth: BenchServer | null = null;
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
    await seedStore(data, SEEDS);
    this.#berth = this.keep(await startBerth(data));
    await this.#warmUp(this.#berth);
    return this.#berth;
  }

  /** By turns with the constant, which comes first and last. */
  async measure(wish: LoadWish): Promise<Measurement> {
    const berth = await this.berth();
    const constants = [await this.#findConstant(wish)];
    const slices: Slice[] = [];
    const count = wish.rounds === undefined ? SLICES : 1;
    while (slices.length < count) {
      slices.push(await this.load(berth, wish, this.seconds / count));
      constants.push(await this.#measureConstant(wish));
    }
    return this.#record({ label: wish.label, ...joinSlices(slices), constant: joinConstants(constants) });
  }

  /** A server of the scenario's own, without the constant beside it. */
  async measureAlone(server: BenchServer, wish: LoadWish, seconds = this.seconds): Promise<Measurement> {
    const measured = joinSlices([await this.load(server, wish, seconds)]);
    return this.#record({ label: wish.label, ...measured, constant: null });
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

  async load(server: BenchServer, wish: LoadWish, seconds = this.seconds): Promise<Slice> {
    const plan: LoadPlan = {
      port: server.port,
      connections: wish.connections,
      requests: wish.requests,
      users: wish.users,
      warmupSeconds: wish.rounds === undefined ? WARMUP_SECONDS : 0,
      seconds,
      rate: wish.rate ?? null,
      rounds: wish.rounds ?? null,
      earlierRounds: this.#rounds,
    };
    shareCores(server.pid, wish.isSharing === true);
    const before = this.#readMeters(server);
    const load = await this.#load.run(plan);
    const after = this.#readMeters(server);
    if (wish.rounds === undefined) this.#rounds += load.rounds;
    if (before === null || after === null) return { load, cpu: null };
    const used = after.server - before.server;
    const others = after.machine - before.machine - used - (after.own - before.own);
    return { load, cpu: { server: used, others, elapsed: (after.atMs - before.atMs) / 1000 } };
  }

  /** Processor time used so far: by the server, by the load generator and this process, and by everything. */
  #readMeters(server: BenchServer): Meters | null {
    const serverSeconds = readCpuSeconds(server.pid);
    const generator = readCpuSeconds(this.#load.pid);
    const self = readCpuSeconds(process.pid);
    const machine = readMachineCpuSeconds();
    if (serverSeconds === null || generator === null || self === null || machine === null) return null;
    return { server: serverSeconds, own: generator + self, machine, atMs: performance.now() };
  }

  async #findConstant(wish: LoadWish): Promise<ConstantMeasured> {
    const last = this.#lastConstant;
    const isAlike = last?.connections === wish.connections && last.isSharing === wish.isSharing;
    return last !== null && isAlike ? last : this.#measureConstant(wish);
  }

  async #measureConstant({ connections, isSharing }: LoadWish): Promise<ConstantMeasured> {
    this.#constant ??= await this.#startConstant();
    const wish: LoadWish = { label: 'constant', connections, ...HEARTBEATS, isSharing };
    const slice = await this.load(this.#constant, wish, this.seconds / SLICES / 2);
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
    await this.load(server, { label: 'warm-up', connections: 64, ...HEARTBEATS }, FIRST_WARMUP_SECONDS);
  }
}
