import type {
  Environment,
  ExitGuard,
  WireAnswer,
  WireRequest,
} from '../../../packages/client/src/environment.ts';
import type { Random } from '../../support/random.ts';
import { MachineStorage } from './machine-storage.ts';
import type { World } from './world.ts';

interface Timer {
  readonly dueMs: number;
  work: (() => void) | null;
}

/** Passes a request on, and calls back with the answer, with an error, or never. */
export type Network = (request: WireRequest, done: (answer: WireAnswer | Error) => void) => void;

interface MachineOptions {
  readonly name: string;
  readonly random: Random;
  readonly network: Network;
  /** How fast its clocks run: 1.01 is 1 % too fast. */
  readonly rate?: number;
  /** When its wall clock starts. */
  readonly wallMs?: number;
  /** Of a computer on which other programs run, too. */
  readonly hostname?: string;
  readonly storage?: MachineStorage;
}

/** A simulated computer with one program, which may stand still, and clocks that may be wrong. */
export class Machine {
  readonly environment: Environment;
  readonly storage: MachineStorage;
  readonly guards = new Set<ExitGuard>();
  /** The moment of the last wake-up in the world's time. */
  wokeAtMs = Number.NEGATIVE_INFINITY;
  readonly #world: World;
  readonly #rate: number;
  #monotonicMs = 0;
  #wallMs: number;
  #readAtMs: number;
  #isAsleep = false;
  #isPaused = false;
  #ids = 0;
  #program = 0;
  #pointsToKill = Number.POSITIVE_INFINITY;
  readonly #sleeping: Timer[] = [];
  readonly #deferred: (() => void)[] = [];

  constructor(world: World, options: MachineOptions) {
    this.#world = world;
    this.#rate = options.rate ?? 1;
    this.#wallMs = options.wallMs ?? Date.UTC(2030, 0, 15, 12);
    this.#readAtMs = world.nowMs;
    this.storage = options.storage ?? new MachineStorage();
    const { name, hostname = name } = options;
    this.environment = {
      readMonotonicMs: () => this.#passTime().#monotonicMs,
      readWallMs: () => this.#passTime().#wallMs,
      random: options.random,
      createId: () => `${this.#ids++}-${name}-on-a-machine`,
      setTimer: (delayMs, work) => this.#setTimer(delayMs, work),
      checkTls: () => {},
      send: (request) => this.#survive(() => this.#send(options.network, request)),
      storage: {
        read: (name) => this.#survive(() => this.storage.read(name), 0),
        write: (name, text) => this.#survive(() => this.storage.write(name, text)),
        remove: (name) => this.#survive(() => this.storage.remove(name)),
        list: (prefix) => this.#survive(() => this.storage.list(prefix), 0),
      },
      host: { hostname, osUser: 'ada', instance: '1' },
      findDevice: async () => hostname,
      guardExit: (guard) => {
        this.guards.add(guard);
        return () => this.guards.delete(guard);
      },
      reportError: (error) => {
        throw error;
      },
    };
  }

  /** Whether the program can do anything now. */
  get isRunning(): boolean {
    return !this.#isAsleep && !this.#isPaused;
  }

  /** The program stands still, and all clocks go on. */
  pause(): void {
    this.#isPaused = true;
  }

  /** `look` sees the program before it has noticed anything. */
  resume(look: () => void): void {
    this.#isPaused = false;
    this.#continue(look);
  }

  /** The monotonic clock stands still, too. */
  sleep(): void {
    this.#passTime();
    this.#isAsleep = true;
  }

  wake(look: () => void): void {
    this.#passTime();
    this.#isAsleep = false;
    this.wokeAtMs = this.#world.nowMs;
    this.#continue(look);
    for (const timer of this.#sleeping.splice(0)) this.#arm(timer);
  }

  /** Another program starts: nothing that the earlier one waits for happens any more. */
  restart(): void {
    this.#program += 1;
    this.guards.clear();
    this.killAt(null);
  }

  /**
   * The program is killed when it has come to so many points: before and after everything that it writes,
   * removes or sends.
   */
  killAt(points: number | null): void {
    this.#pointsToKill = points ?? Number.POSITIVE_INFINITY;
  }

  get isKilled(): boolean {
    return this.#pointsToKill < 0;
  }

  setWallClock(byMs: number): void {
    this.#passTime();
    this.#wallMs += byMs;
  }

  #continue(look: () => void): void {
    if (!this.isRunning) return;
    look();
    for (const work of this.#deferred.splice(0)) work();
  }

  #passTime(): this {
    const passedMs = (this.#world.nowMs - this.#readAtMs) * this.#rate;
    this.#readAtMs = this.#world.nowMs;
    this.#wallMs += passedMs;
    if (!this.#isAsleep) this.#monotonicMs += passedMs;
    return this;
  }

  async #survive<Result>(effect: () => Promise<Result>, points = 1): Promise<Result> {
    const dies = () => {
      this.#pointsToKill -= points;
      return this.isKilled;
    };
    if (dies()) return new Promise(() => {});
    const result = await effect();
    return dies() ? new Promise(() => {}) : result;
  }

  #setTimer(delayMs: number, work: () => void): () => void {
    const timer: Timer = { dueMs: this.#passTime().#monotonicMs + delayMs, work: this.#forThisProgram(work) };
    this.#arm(timer);
    return () => {
      timer.work = null;
    };
  }

  #arm(timer: Timer): void {
    const delayMs = (timer.dueMs - this.#passTime().#monotonicMs) / this.#rate;
    this.#world.at(this.#world.nowMs + delayMs, () => this.#fire(timer));
  }

  #fire(timer: Timer): void {
    if (timer.work === null) return;
    if (this.#isAsleep) this.#sleeping.push(timer);
    else if (this.#passTime().#monotonicMs < timer.dueMs - 1e-3) this.#arm(timer);
    else this.#deliver(() => timer.work?.());
  }

  #deliver(work: () => void): void {
    if (this.isRunning) work();
    else this.#deferred.push(work);
  }

  /** Does nothing if the program has ended meanwhile. */
  #forThisProgram<Given extends unknown[]>(work: (...given: Given) => void): (...given: Given) => void {
    const program = this.#program;
    return (...given) => {
      if (program === this.#program) work(...given);
    };
  }

  #send(network: Network, request: WireRequest): Promise<WireAnswer> {
    return new Promise((resolve, reject) => {
      const giveUp = () => reject(new Error('No answer in time'));
      const cancel = this.#setTimer(request.timeoutMs, giveUp);
      const accept = this.#forThisProgram((answer: WireAnswer | Error) => {
        cancel();
        if (answer instanceof Error) reject(answer);
        else resolve(answer);
      });
      network(request, (answer) => this.#deliver(() => accept(answer)));
    });
  }
}
