import type { Instant } from '../../../core/nouns/instant.ts';
import type { LicenseId } from '../../../core/nouns/license.ts';
import type { StoreNotice } from '../../../core/nouns/store-notice.ts';
import type { MasterKey } from '../../../secrets/seal.ts';
import type { AuditKeys, ChainHead } from '../../engine/audit/audit-chain.ts';
import { NameAllowance } from '../../engine/history/name-allowance.ts';
import type { Turn } from '../../engine/line/waiting-line.ts';
import type { LoadedLicense } from '../../engine/loaded-licenses.ts';
import type { PostgresRowOf } from '../../engine/tables.ts';
import { StoreTally } from '../../store-tally.ts';
import type { Commit, Decided, Part } from './commit.ts';
import { DatabaseTime, type DatabaseTimeOptions } from './database-time.ts';
import { type LicenseIndex, LicenseTexts } from './license-index.ts';
import { Lines } from './lines.ts';
import { type LicensePlace, type PlaceRows, RememberedPlaces } from './place-rows.ts';
import { listCounted, type PartReads } from './prefetch.ts';

export interface MemoryOptions extends DatabaseTimeOptions {
  readonly keys: AuditKeys;
  readonly masterKey: MasterKey;
  readonly index: LicenseIndex;
  readonly onNotice: (notice: StoreNotice) => void;
  readonly onEvents: () => void;
  readonly onTurns: (turns: readonly Turn[]) => void;
}

/** Some batches only return slots. */
const ASKING_BATCHES = 16;

/**
 * What a server remembers from one transaction to the next. The database is authoritative: each transaction
 * compares the index's revision, and the texts and receipts of the licenses that it locks, and commands that
 * seal something compare the master key. Only a commit that is certain changes the key; one that failed, or
 * whose outcome is unknown, changes nothing here.
 */
export class WriterMemory {
  readonly keys: AuditKeys;
  readonly readWall: MemoryOptions['readWall'];
  readonly readMonotonicMs: MemoryOptions['readMonotonicMs'];
  readonly tally = new StoreTally();
  readonly texts = new LicenseTexts();
  readonly names = new NameAllowance();
  readonly lines = new Lines();
  readonly time: DatabaseTime;
  index: LicenseIndex;
  masterKey: MasterKey;
  /** Licenses that had no free slot when they were last seen. */
  readonly full = new Set<LicenseId>();
  /** Whether another server has changed the licenses of the last batch since the one before it. */
  hasRival = false;
  readonly #places = new RememberedPlaces();
  /** For so many batches to come, the rules are expected to ask where slots are held. */
  asksForPlaces = 0;
  /** The times that this server has left on licenses. */
  readonly #marks = new Map<LicenseId, Instant>();
  /** The last link that this server has added to each chain. */
  #heads = new Map<number, ChainHead>();
  readonly #options: MemoryOptions;
  #hasReportedAnchor = false;

  constructor(options: MemoryOptions) {
    this.#options = options;
    this.keys = options.keys;
    this.readWall = options.readWall;
    this.readMonotonicMs = options.readMonotonicMs;
    this.time = new DatabaseTime(options);
    this.index = options.index;
    this.masterKey = options.masterKey;
  }

  /**
   * Forgets what may not be true of a database that has moved: after a failover that lost changes, a number
   * may be used again. Returns the heads that the database must have.
   */
  forget(): ReadonlyMap<number, ChainHead> {
    const heads = this.#heads;
    this.#heads = new Map();
    this.index = { ...this.index, revision: Number.NaN };
    return heads;
  }

  /** Looks for traces of other servers in the rows of a batch. */
  noteRivals(rows: readonly Pick<PostgresRowOf<'license'>, 'id' | 'mark'>[]): void {
    this.hasRival = rows.some(({ id, mark }) => mark !== this.#marks.get(id));
  }

  /** Where the rules are likely to ask how many slots are held, unless this server knows. */
  listUnknownPlaces(parts: readonly PartReads[]): readonly LicensePlace[] {
    const places = listCounted(this.index.rules, parts);
    return this.hasRival ? places : places.filter((at) => !this.#places.has(at));
  }

  recallPlaces(places: PlaceRows, rows: readonly Pick<PostgresRowOf<'license'>, 'id' | 'receipts'>[]): void {
    for (const { id, receipts } of rows) {
      const known = this.#places.find(id, receipts);
      if (known !== undefined) places.recall(id, known);
    }
  }

  notePlaces({ isAsked }: PlaceRows): void {
    if (isAsked) this.asksForPlaces = ASKING_BATCHES;
    else if (this.asksForPlaces > 0) this.asksForPlaces -= 1;
  }

  noteFull(licenses: Iterable<Pick<LoadedLicense, 'license' | 'storedInUse'>>): void {
    for (const { license, storedInUse } of licenses) {
      if (storedInUse < license.slots) this.full.delete(license.id);
      else this.full.add(license.id);
    }
  }

  /** Takes over what a certain commit has changed, and notifies the listeners. */
  settle({ parts, masterKey, lines, set }: Decided, { links }: Commit): void {
    for (const { chain, n, mac } of links) this.#heads.set(chain, { n, mac });
    for (const { batch } of parts) {
      // Another transaction may have replaced the key while this one was under way.
      if (batch.masterKey !== masterKey) this.masterKey = batch.masterKey;
      this.#notify(batch);
      for (const { license, counts, isTouched } of batch.licenses.entries()) {
        if (isTouched) this.#marks.set(license.id, batch.now);
        const receipts = set.places.receipts.get(license.id);
        if (counts !== null && receipts !== undefined)
          this.#places.keep(license.id, receipts, set.places.settle(license.id, counts));
      }
    }
    for (const open of lines.values()) {
      if (!open.line.hasNews) continue;
      this.lines.settle(open);
      this.#options.onTurns(open.line.takeTurns());
    }
    if (links.length > 0) this.#options.onEvents();
  }

  #notify({ ledger, signed }: Part['batch']): void {
    const { onNotice } = this.#options;
    if (!ledger.isSound && !this.#hasReportedAnchor) onNotice({ kind: 'anchor_lost' });
    this.#hasReportedAnchor ||= !ledger.isSound;
    if (signed === null) return;
    const { links, digest } = signed;
    onNotice({ kind: 'heads_signed', links, digest });
  }
}
