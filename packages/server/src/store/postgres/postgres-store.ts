import type { ProductLimit } from '../../core/access/role.ts';
import type { Command, LicenseCommand } from '../../core/command.ts';
import { isLicenseCommand, moduleOf, subjectOf } from '../../core/decide.ts';
import type { LicenseId } from '../../core/nouns/license.ts';
import type { StoreNotice } from '../../core/nouns/store-notice.ts';
import { refuseRotation } from '../../core/system/secrets.ts';
import type { Answer, Query } from '../query.ts';
import type { ClockStatus, Executed, LineDescription, Store } from '../store.ts';
import type { PoolUse, StoreTally } from '../store-tally.ts';
import type { TurnSignal } from '../turn-signal.ts';
import type { EventSignal } from './fleet/event-signal.ts';
import type { LeaderElection } from './fleet/leader-election.ts';
import type { PostgresReader } from './read/reader.ts';
import type { Connection } from './wire/connection.ts';
import { isConnectionLost, translate } from './wire/database-error.ts';
import { type Pool, stoppingFault } from './wire/pool.ts';
import { Lanes } from './write/lanes.ts';
import { laneOf } from './write/scope.ts';
import type { PostgresWriter } from './write/writer.ts';

interface StoreParts {
  readonly pools: Readonly<Record<string, Pool>>;
  readonly writer: PostgresWriter;
  readonly reader: PostgresReader;
  readonly election: LeaderElection;
  /** `null` for a store that does not serve. */
  readonly signal: EventSignal | null;
  readonly turns: TurnSignal;
  readonly onNotice: (notice: StoreNotice) => void;
  /** Looks for a newer primary among the hosts of the database. */
  readonly lookAround: () => Promise<void>;
}

/** The clock is kept every second. It looks for a newer primary every ten, and while there is no answer. */
const ROUNDS_PER_LOOK = 10;
const LATE_MS = 2000;

/** A store on PostgreSQL, which several servers can share. */
export class PostgresStore implements Store {
  readonly tally: StoreTally;
  readonly turns: TurnSignal;
  readonly #parts: StoreParts;
  readonly #lanes: Lanes;
  #isHealthy = true;
  #rounds = 0;
  #isClosing = false;
  #closing: Promise<void> | null = null;

  constructor(parts: StoreParts) {
    this.#parts = parts;
    this.tally = parts.writer.memory.tally;
    this.turns = parts.turns;
    this.#lanes = new Lanes({
      route: (command) => laneOf(command, parts.writer.memory.index),
      execute: (commands) => this.#watch(() => parts.writer.executeBatch(commands)),
      hasRival: () => parts.writer.memory.hasRival,
      tally: this.tally,
    });
  }

  async execute(command: Command): Promise<Executed> {
    if (this.#isClosing) throw stoppingFault();
    if (command.kind === 'rotate_master_key') {
      const refusal = refuseRotation(await this.#watch(() => this.#parts.election.countOthers()));
      if (refusal !== null) return refusal;
    }
    const outcome = await this.#lanes.submit(command);
    if (isLicenseCommand(command) && moduleOf(command).changesLicense) await this.#handOn(command);
    return outcome;
  }

  /** A license that changes is locked alone, so those who wait for its product are served right after. */
  async #handOn(command: LicenseCommand): Promise<void> {
    const product = this.#parts.writer.memory.index.productOf.get(subjectOf(command).licenseId as LicenseId);
    if (product !== undefined) await this.#lanes.submit({ kind: 'hand_on', product }).catch(() => {});
  }

  async read<Q extends Query>(query: Q, signal?: AbortSignal): Promise<Answer<Q>> {
    if (this.#isClosing) throw stoppingFault();
    const { reader, writer } = this.#parts;
    const { time, masterKey } = writer.memory;
    return this.#watch(() => reader.answer(query, time.estimate(), [masterKey], signal));
  }

  async keepClock(): Promise<ClockStatus> {
    if (this.#isClosing) throw stoppingFault();
    const { election, signal, lookAround } = this.#parts;
    void signal?.listen();
    if (++this.#rounds % ROUNDS_PER_LOOK === 0) void lookAround();
    const late = setInterval(() => void lookAround(), LATE_MS);
    return this.#watch(() => election.attend()).finally(() => clearInterval(late));
  }

  async listWaiting(products?: ProductLimit): Promise<LineDescription> {
    if (this.#isClosing) throw stoppingFault();
    const { writer, pools } = this.#parts;
    const read = (connection: Connection) => writer.listWaiting(connection, products);
    return this.#watch(() => (pools.reading as Pool).use(read));
  }

  isHealthy(): boolean {
    return this.#isHealthy;
  }

  isLeader(): boolean {
    return !this.#isClosing && this.#parts.election.isLeader();
  }

  listPools(): readonly PoolUse[] {
    return Object.entries(this.#parts.pools).map(([name, pool]) => ({ name, ...pool.describe() }));
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#isClosing = true;
    const { pools, reader, election, signal } = this.#parts;
    await this.#lanes.drain();
    await reader.close();
    // If the database is away, the others find out by themselves.
    await election.leave().catch(() => {});
    await signal?.close();
    await Promise.all(Object.values(pools).map((pool) => pool.close()));
  }

  /** Notices when the database goes away and when it is back. */
  async #watch<T>(work: () => Promise<T>): Promise<T> {
    try {
      const result = await work();
      if (!this.#isHealthy) this.#parts.onNotice({ kind: 'store_recovered' });
      this.#isHealthy = true;
      return result;
    } catch (error) {
      const translated = translate(error);
      if (isConnectionLost(error) && this.#isHealthy) {
        this.#isHealthy = false;
        this.#parts.onNotice({ kind: 'commit_failed', error: (translated as Error).message });
      }
      throw translated;
    }
  }
}
