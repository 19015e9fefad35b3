import { setTimeout as delay } from 'node:timers/promises';
import type { Command } from '../../../core/command.ts';
import { Fault } from '../../../core/nouns/fault.ts';
import { type Instant, instant, SECOND_MS } from '../../../core/nouns/instant.ts';
import type { License } from '../../../core/nouns/license.ts';
import type { StoreNotice } from '../../../core/nouns/store-notice.ts';
import { withIdentity } from '../../../core/nouns/user-name.ts';
import { fingerprint, type MasterKey } from '../../../secrets/seal.ts';
import type { AuditKeys } from '../../engine/audit/audit-chain.ts';
import type { Batch } from '../../engine/batch.ts';
import { type CommandResult, executeCommand, MissingRows } from '../../engine/execute-command.ts';
import { prolongLive } from '../../engine/move-clock.ts';
import type { Row } from '../../engine/rows.ts';
import { findSealingFingerprint } from '../../engine/sealed-secrets.ts';
import { Shelf } from '../../engine/shelf.ts';
import { listSecrets } from '../read/read-server.ts';
import type { Connection } from '../wire/connection.ts';
import { isConnectionLost, isDataError, isRetryable, translate } from '../wire/database-error.ts';
import type { Pool } from '../wire/pool.ts';
import { begin, type Opened, rollBack } from '../wire/transaction.ts';
import { AuditLedger } from './audit-ledger.ts';
import type { Sql } from './bulk-writes.ts';
import { type Catalogue, LicenseTexts, listRemovedBeside, readCatalogue } from './catalogue.ts';
import { type Decided, planCommit } from './commit.ts';
import { OtherLane } from './lanes.ts';
import { expectMeters, listPlaces, type Prefetched, planPrefetch } from './prefetch.ts';
import { type BatchName, hasReceipt } from './receipts.ts';
import { isSameScope, type Lane, laneOf, type Scope } from './scope.ts';
import { type Sender, WorkingSet } from './working-set.ts';

export interface WriterOptions {
  readonly pool: Pool;
  readonly keys: AuditKeys;
  readonly masterKey: MasterKey;
  readonly catalogue: Catalogue;
  /** This process, among the servers on one database. */
  readonly serverId: string;
  /** Instead of the database's clock, in tests. */
  readonly readWall: (() => Instant) | null;
  readonly readMonotonicMs: () => number;
  readonly onNotice: (notice: StoreNotice) => void;
  readonly onEvents: () => void;
}

/** The connection broke while a batch was committed: whether it was, the database has to be asked. */
class UnsureCommit extends Error {
  readonly decided: Decided;
  readonly hasEvents: boolean;
  readonly results: readonly CommandResult[];
  /** The database was asked, and it was not committed: nor will it be, for who asked had its locks. */
  isRefuted = false;

  constructor(decided: Decided, hasEvents: boolean, results: readonly CommandResult[], cause: unknown) {
    super('The connection was lost during a commit.', { cause });
    this.decided = decided;
    this.hasEvents = hasEvents;
    this.results = results;
  }
}

/** No server was alive for a while: live slots get their time back before anything is decided. */
class Rested extends Error {}

/** After this long without any server, nobody could send heartbeats. */
export const REST_MS = 30 * SECOND_MS;

/** The licenses that a batch is about are others than those that it has locked. */
class OtherScope extends Error {}

/** How often a batch that met others, and came to nothing, is tried again. */
const MAX_ATTEMPTS = 10;

/** How long we ask what became of a commit, until those who wait hear that we cannot tell. */
const ASKING_MS = 10_000;
const ASKING_INTERVAL_MS = 100;

/**
 * Carries out batches: one transaction locks what the commands are about, reads what they need, decides all
 * of them, writes everything at once and commits. Nothing is held from one transaction to the next but what
 * the database can tell to be still true.
 */
export class PostgresWriter {
  readonly #options: WriterOptions;
  readonly #texts = new LicenseTexts();
  #catalogue: Catalogue;
  #masterKey: MasterKey;
  #batches = 0;
  #hasToldOfAnchor = false;
  /** The last time that the database has told, and when. */
  #heard: { readonly now: number; readonly atMs: number };

  constructor(options: WriterOptions) {
    this.#options = options;
    this.#catalogue = options.catalogue;
    this.#masterKey = options.masterKey;
    this.#heard = { now: 0, atMs: options.readMonotonicMs() };
  }

  get catalogue(): Catalogue {
    return this.#catalogue;
  }

  get masterKey(): MasterKey {
    return this.#masterKey;
  }

  /** The database's time, near enough for a list. */
  estimateNow(): Instant {
    const { readWall, readMonotonicMs } = this.#options;
    const { now, atMs } = this.#heard;
    return instant(Math.max(now, readWall?.() ?? now + Math.floor(readMonotonicMs() - atMs)));
  }

  hear(now: number): void {
    // Less is the word of a license that has waited longer.
    if (now >= this.estimateNow()) this.#heard = { now, atMs: this.#options.readMonotonicMs() };
  }

  /** The time of all servers together. It waits for a clock that was set back, and a reset takes it back. */
  follow(now: number): void {
    if (this.estimateNow() - now <= SECOND_MS) this.hear(now);
    else this.#heard = { now, atMs: this.#options.readMonotonicMs() };
  }

  /**
   * Decides and commits. Throws a `Fault` when nothing was committed, or when nobody can tell.
   */
  async executeBatch(lane: Lane, commands: readonly Command[]): Promise<readonly CommandResult[]> {
    const name = { server: this.#options.serverId, lane: lane.name, batch: String(++this.#batches) };
    let unsure: UnsureCommit | null = null;
    let askUntil = Number.POSITIVE_INFINITY;
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#attempt(lane, commands, name, unsure);
      } catch (error) {
        if (error instanceof OtherLane) throw error;
        if (unsure?.isRefuted === true) unsure = null;
        if (error instanceof UnsureCommit) {
          unsure = error;
          askUntil = this.#options.readMonotonicMs() + ASKING_MS;
        } else if (error instanceof Rested) {
          await this.resume();
        } else if (unsure !== null) {
          if (this.#options.readMonotonicMs() > askUntil) throw translate(error);
        } else if (isDataError(error) && commands.length > 1) {
          return await this.#executeApart(lane, commands);
        } else if (isDataError(error)) {
          return [{ error }];
        } else if (!mayTryAgain(error) || attempt >= MAX_ATTEMPTS) {
          throw translate(error);
        }
        if (!(error instanceof OtherScope || error instanceof Rested))
          await delay(ASKING_INTERVAL_MS * (0.5 + Math.random()));
      }
    }
  }

  /**
   * No server was alive for a while, so nobody could send a heartbeat: slots that were live when one was last
   * alive get a whole timeout. Whoever finds this out first does it; for the others somebody was alive then.
   */
  async resume(): Promise<void> {
    const connection = await this.#options.pool.acquire();
    try {
      const scope = { server: true, licenses: 'all' } as const;
      const opened = await begin(connection, scope, []);
      const catalogue = await readCatalogue(connection);
      const set = new WorkingSet();
      const decided = this.#prepare({ scope, opened, catalogue, set, name: null });
      const { aliveAt } = opened;
      if (aliveAt !== null && decided.batch.now - aliveAt > REST_MS) {
        const marks = new Map(opened.licenses.map((row) => [row.id, row.mark as number]));
        prolongLive(decided.batch, (id) => instant(Math.max(aliveAt, marks.get(id) ?? 0)));
      }
      const alive = { text: 'UPDATE server SET alive_at = $1 WHERE id = 1', values: [decided.batch.now] };
      await this.#commit(connection, decided, [], [alive]);
    } catch (error) {
      await rollBack(connection);
      throw error;
    } finally {
      this.#options.pool.release(connection);
    }
  }

  /** Something in one of the commands cannot be stored: it fails alone. */
  async #executeApart(lane: Lane, commands: readonly Command[]): Promise<readonly CommandResult[]> {
    const results: CommandResult[] = [];
    for (const command of commands) results.push(...(await this.executeBatch(lane, [command])));
    return results;
  }

  async #attempt(
    lane: Lane,
    commands: readonly Command[],
    name: BatchName,
    unsure: UnsureCommit | null,
  ): Promise<readonly CommandResult[]> {
    const connection = await this.#options.pool.acquire();
    try {
      return await this.#transact(connection, lane, commands, name, unsure);
    } catch (error) {
      await rollBack(connection);
      throw error;
    } finally {
      this.#options.pool.release(connection);
    }
  }

  async #transact(
    connection: Connection,
    lane: Lane,
    commands: readonly Command[],
    name: BatchName,
    unsure: UnsureCommit | null,
  ): Promise<readonly CommandResult[]> {
    const scope = unsure?.decided.scope ?? lane.scopeIn(this.#catalogue);
    const plan = this.#planPrefetch(commands, scope);
    const opened = await begin(
      connection,
      scope,
      plan.map(({ sql }) => sql),
    );
    if (unsure !== null && isCommitted(opened, name)) {
      await connection.query('ROLLBACK');
      this.#settle(unsure.decided, unsure.hasEvents);
      return unsure.results;
    }
    if (unsure !== null) unsure.isRefuted = true;
    this.#requireAttended(opened);
    await this.#requireOwnSeal(connection, commands);
    const catalogue = await this.#refreshCatalogue(connection, opened, lane, scope, commands);
    const set = new WorkingSet();
    for (const [index, { learn }] of plan.entries()) learn(set, opened.answers[index] as readonly Row[]);
    const { licenses } = scope;
    if (typeof licenses !== 'string') set.expect('place_denial', () => listPlaces(commands, licenses));
    const decided = this.#prepare({ scope, opened, catalogue, set, name });
    expectMeters(set, () => listLicenses(decided, commands), decided.batch.now);
    const results = await decideAll(connection, decided, commands);
    if (decided.batch.isChanged) await this.#commit(connection, decided, results);
    else await connection.query('ROLLBACK');
    if (scope.licenses === 'all') this.follow(decided.batch.now);
    else this.hear(decided.batch.now);
    return results;
  }

  #requireAttended({ wall, aliveAt }: Opened): void {
    const now = this.#options.readWall?.() ?? wall;
    if (aliveAt === null || now - aliveAt > REST_MS) throw new Rested();
  }

  /** A secret that is sealed with a key that was replaced meanwhile could never be opened again. */
  async #requireOwnSeal(sender: Sender, commands: readonly Command[]): Promise<void> {
    if (!commands.some(({ kind }) => kind === 'set_cloud_keys' || kind === 'rotate_master_key')) return;
    const secrets = await listSecrets((text) => sender.query(text, []));
    if (findSealingFingerprint(secrets) === fingerprint(this.#masterKey)) return;
    throw new Fault(
      'store_unavailable',
      'The master key of the database was replaced. Give this server the new one and start it again.',
    );
  }

  #planPrefetch(commands: readonly Command[], { server, licenses }: Scope): readonly Prefetched[] {
    if (server || typeof licenses === 'string' || licenses.length === 0) return [];
    const known = licenses.map((id) => this.#texts.find(id)).filter((license) => license !== undefined);
    const { ignoresCase } = this.#catalogue;
    const identified = commands.map((command) => withIdentity(command, ignoresCase));
    const now = this.estimateNow();
    const removed = listRemovedBeside(licenses, this.#catalogue, now);
    return planPrefetch(identified, { held: licenses, removed }, known, now);
  }

  /** Somebody may have added or removed a license, or set other rules, since we looked last. */
  async #refreshCatalogue(
    sender: Sender,
    opened: Opened,
    lane: Lane,
    scope: Scope,
    commands: readonly Command[],
  ): Promise<Catalogue> {
    if (opened.revision !== this.#catalogue.revision) this.#catalogue = await readCatalogue(sender);
    const catalogue = this.#catalogue;
    if (commands.some((command) => laneOf(command, catalogue).name !== lane.name)) throw new OtherLane();
    if (!isSameScope(lane.scopeIn(catalogue), scope)) throw new OtherScope();
    return catalogue;
  }

  #prepare(given: Pick<Decided, 'scope' | 'opened' | 'catalogue' | 'set' | 'name'>): Decided {
    const { scope, opened, catalogue, set } = given;
    const { server, licenses } = opened;
    const { keys, readWall } = this.#options;
    const wall = instant(readWall?.() ?? opened.wall);
    const marks = [...(scope.licenses === 'heads' ? [] : licenses), ...(server === null ? [] : [server])];
    const links = sumLinks(opened);
    const state =
      scope.licenses === 'heads' ? { links, signedLinks: server?.audit_signed_links as number | null } : null;
    if (server !== null) set.know('getServer', [], [server]);
    const batch = {
      statements: set.statements,
      savepoint: set.savepoint,
      shelf: this.#fillShelf(licenses, catalogue),
      clock: { jump: null, readWall: () => wall, moveTo: () => {}, remember: () => () => {} },
      now: instant(Math.max(wall, ...marks.map((row) => (row.mark as number | null) ?? 0))),
      masterKey: this.#masterKey,
      rules: catalogue.rules,
      ignoresCase: catalogue.ignoresCase,
      systemEvents: [],
      systemHead: { n: (server?.audit_n as number) ?? 0, mac: server?.audit_mac as Uint8Array },
      ledger: new AuditLedger(keys, state),
      signed: null,
      // How many answers are remembered in all is looked after by one of the servers, not by every batch.
      answers: { count: 0, limit: Number.POSITIVE_INFINITY },
      isChanged: false,
    } satisfies Batch;
    return { ...given, batch, links };
  }

  #fillShelf(licenses: readonly Row[], { byProduct, lastOrder, removed }: Catalogue): Shelf {
    const surroundings = { productCount: byProduct.size, lastOrder, removed };
    return new Shelf(licenses, surroundings, (row) => this.#texts.read(row));
  }

  async #commit(
    connection: Connection,
    decided: Decided,
    results: readonly CommandResult[],
    more: readonly Sql[] = [],
  ): Promise<void> {
    const { writes, hasEvents } = planCommit(decided);
    const sent = [...writes, ...more].map(({ text, values }) => connection.query(text, values));
    sent.push(connection.query('COMMIT'));
    const ends = await Promise.allSettled(sent);
    const failed = ends.find((end) => end.status === 'rejected');
    if (failed !== undefined && isConnectionLost(failed.reason))
      throw new UnsureCommit(decided, hasEvents, results, failed.reason);
    if (failed !== undefined) throw failed.reason;
    this.#settle(decided, hasEvents);
  }

  /** What follows from a commit. */
  #settle({ batch }: Decided, hasEvents: boolean): void {
    this.#masterKey = batch.masterKey;
    if (!batch.ledger.isSound && !this.#hasToldOfAnchor) this.#options.onNotice({ kind: 'anchor_lost' });
    this.#hasToldOfAnchor ||= !batch.ledger.isSound;
    if (batch.signed !== null) {
      const { links, digest } = batch.signed as { links: number; digest: string };
      this.#options.onNotice({ kind: 'heads_signed', links, digest });
    }
    if (hasEvents) this.#options.onEvents();
  }
}

/**
 * One after the other, each on what the one before it left; what a command misses is read before it goes on.
 */
async function decideAll(
  sender: Sender,
  { batch, set }: Decided,
  commands: readonly Command[],
): Promise<readonly CommandResult[]> {
  const results: CommandResult[] = [];
  for (const command of commands) {
    set.beginCommand();
    for (let result: CommandResult | null = null; result === null; ) {
      try {
        result = executeCommand(batch, command);
        results.push(result);
      } catch (error) {
        if (!(error instanceof MissingRows)) throw error;
        await set.fetch(sender, error);
      }
    }
  }
  return results;
}

/** Those that the commands may be about, and those that they bring. */
function listLicenses({ batch }: Decided, commands: readonly Command[]): readonly License[] {
  const held = Array.from(batch.shelf.entries(), ({ license }) => license);
  const brought = commands.flatMap((one) => (one.kind === 'install_license' ? [one.license] : []));
  return [...held, ...brought];
}

function isCommitted({ server, licenses }: Opened, name: BatchName): boolean {
  const rows = server === null ? licenses : [server, ...licenses];
  return rows.some((row) => hasReceipt(row, name));
}

function sumLinks({ server, licenses }: Opened): number {
  const rows = server === null ? licenses : [server, ...licenses];
  return rows.reduce((sum, row) => sum + (row.audit_n as number), 0);
}

/** Nothing was committed, and it may go better the next time. */
function mayTryAgain(error: unknown): boolean {
  if (error instanceof OtherScope || isRetryable(error)) return true;
  // A connection that was lost is replaced; one that cannot be opened is not waited for.
  return isConnectionLost(error) && !(error instanceof Fault);
}
