import type { Command } from '@berth/server/core/command';
import type { Answer, Query } from '@berth/server/store/query';
import type { ClockStatus, Executed, Store } from '@berth/server/store/store';

/** Two servers on the same data, of which one is asked. The other one is started when it is first needed. */
export class ServerPair implements Store {
  readonly #open: () => Promise<Store>;
  #asked: Store;
  #other: Store | null = null;

  private constructor(open: () => Promise<Store>, first: Store) {
    this.#open = open;
    this.#asked = first;
  }

  static async open(open: () => Promise<Store>): Promise<ServerPair> {
    return new ServerPair(open, await open());
  }

  /** Asks the other one from now on. The one that ran until now was alive, as servers say every second. */
  async turn(): Promise<void> {
    await this.#asked.keepClock();
    const next = this.#other ?? (await this.#open());
    this.#other = this.#asked;
    this.#asked = next;
  }

  execute(command: Command): Promise<Executed> {
    return this.#asked.execute(command);
  }

  read<Q extends Query>(query: Q): Promise<Answer<Q>> {
    return this.#asked.read(query);
  }

  keepClock(): Promise<ClockStatus> {
    return this.#asked.keepClock();
  }

  isHealthy(): boolean {
    return this.#asked.isHealthy();
  }

  isLeader(): boolean {
    return this.#asked.isLeader();
  }

  get tally(): Store['tally'] {
    return this.#asked.tally;
  }

  listWaiting(): ReturnType<Store['listWaiting']> {
    return this.#asked.listWaiting();
  }

  get turns(): Store['turns'] {
    return this.#asked.turns;
  }

  listPools(): ReturnType<Store['listPools']> {
    return this.#asked.listPools();
  }

  async close(): Promise<void> {
    await this.#asked.close();
    await this.#other?.close();
  }
}
