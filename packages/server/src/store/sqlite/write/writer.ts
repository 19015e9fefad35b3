import type { DatabaseSync } from 'node:sqlite';
import { type ClockReading, jumpAtStart, jumpEvent } from '../../../core/clock/clock.ts';
import type { Command } from '../../../core/command.ts';
import { MAX_REMEMBERED_ANSWERS } from '../../../core/lending/repeat-answer.ts';
import type { ClockJumped } from '../../../core/nouns/audit-event.ts';
import { type Instant, MINUTE_MS } from '../../../core/nouns/instant.ts';
import type { StoreNotice } from '../../../core/nouns/store-notice.ts';
import type { Rules } from '../../../core/rules/rules.ts';
import type { MasterKey } from '../../../secrets/seal.ts';
import type { Clock } from '../../clock.ts';
import { type ChainHead, eventText, SYSTEM_CHAIN } from '../../engine/audit/audit-chain.ts';
import type { AnswerCount, Batch } from '../../engine/batch.ts';
import { PlacesInMemory } from '../../engine/counts/place-counts.ts';
import { rulesFromRows } from '../../engine/counts/rule-rows.ts';
import { type CommandResult, executeCommand } from '../../engine/execute.ts';
import { historyRows } from '../../engine/history/history-rows.ts';
import { NameAllowance } from '../../engine/history/name-allowance.ts';
import { clampHistory } from '../../engine/history/write-history.ts';
import { describeLine } from '../../engine/line/describe-line.ts';
import { handOn } from '../../engine/line/hand-on.ts';
import { type Turn, WaitingLine } from '../../engine/line/waiting-line.ts';
import { hasNews, type LoadedLicense, LoadedLicenses } from '../../engine/loaded-licenses.ts';
import { extendLiveSlots } from '../../engine/move-clock.ts';
import { pickValues } from '../../engine/row-sql.ts';
import { chooseMasterKey } from '../../engine/sealed-secrets.ts';
import { countOf } from '../../engine/sql.ts';
import type { ClockStatus } from '../../store.ts';
import { explainCorruption } from '../wire/damage.ts';
import { PageSums } from '../wire/page-sums.ts';
import { setIgnoresCase } from '../wire/respell-users.ts';
import { listSecrets, sealSettings } from '../wire/sealed-secrets.ts';
import { AuditLedger, getServer, openAudit } from './audit-ledger.ts';
import { Recovery } from './recovery.ts';
import { ServerClock } from './server-clock.ts';
import { prepareStatements, type SqliteStatements } from './statements.ts';

export interface WriterOptions {
  readonly file: string;
  readonly clock: Clock;
  readonly masterKey: MasterKey;
  /** A key that was to replace it: the store may be sealed with either. */
  readonly nextMasterKey?: MasterKey | null;
  /** Most answers to remember for repeated requests. */
  readonly maxRememberedAnswers?: number;
  /** Whether users that differ only in case are one; if left out, it stays as it is. */
  readonly ignoresCase?: boolean | undefined;
  /**
   * True for a server. A command that opens a stopped server's data resumes only when it writes: until then
   * time stands still, and no slot is touched.
   */
  readonly resumeAtOpen?: boolean;
}

interface BatchReply {
  readonly results: readonly CommandResult[];
  readonly now: Instant;
  /** How long the commit took; `null` if nothing changed. */
  readonly syncMs: number | null;
  readonly notices: readonly StoreNotice[];
  readonly turns: readonly Turn[];
}

/** How often the mark is written while the server is idle. */
const MARK_INTERVAL_MS = MINUTE_MS;

/**
 * The only writer of the SQLite file; synchronous, in a thread of its own. A batch of commands is one
 * transaction and one sync, each command decided on what the one before it left. Between batches the licenses
 * in memory equal the file, which is authoritative: after a failed commit the file is reopened, compared with
 * what was acknowledged, and loaded again before anything else is acknowledged.
 */
export class SqliteWriter {
  readonly #options: WriterOptions;
  #db!: DatabaseSync;
  readonly #sums: PageSums;
  #statements!: SqliteStatements;
  #licenses!: LoadedLicenses;
  #answers!: AnswerCount;
  readonly #names = new NameAllowance();
  readonly #line = new WaitingLine();
  #clock!: ServerClock;
  #ledger!: AuditLedger;
  /** One, or two if a commit that replaces the key failed: then either may be right. */
  #masterKeys: readonly MasterKey[];
  #rules!: Rules;
  #ignoresCase!: boolean;
  #systemHead!: ChainHead;
  #storedMark!: Instant;
  #notices: StoreNotice[] = [];
  #jumpAtStart: ClockJumped | null = null;
  /** When the store was last alive. */
  #awayFrom: Instant | null = null;
  #isResumed = false;
  /** Of the last batch. */
  #syncMs: number | null = null;
  readonly #recovery: Recovery;

  constructor(options: WriterOptions) {
    this.#options = options;
    this.#recovery = new Recovery(options.file);
    this.#sums = new PageSums(options.file);
    const { masterKey, nextMasterKey } = options;
    this.#masterKeys = nextMasterKey == null ? [masterKey] : [masterKey, nextMasterKey];
    try {
      this.#explainCorruption(() => this.#open());
    } catch (error) {
      if (this.#db?.isOpen) this.#sums.close(this.#db);
      throw this.#sums.explain(error);
    }
  }

  /** Decides and commits. Throws if the commit failed: then none of it is remembered. */
  executeBatch(commands: readonly Command[]): BatchReply {
    return this.#explainCorruption(() => {
      this.#heal();
      if (!this.#isResumed) this.#resume();
      const reading = this.#readClock();
      this.#syncMs = null;
      const results = this.#transact(reading, (batch) => this.#executeAll(batch, commands));
      if (this.#syncMs !== null) this.#recovery.failures = 0;
      const turns = this.#line.hasNews ? this.#line.takeTurns() : [];
      return { results, now: this.#clock.mark, syncMs: this.#syncMs, notices: this.#takeNotices(), turns };
    });
  }

  #executeAll(batch: Batch, commands: readonly Command[]): CommandResult[] {
    if (this.#line.size > 0) handOn(batch);
    const results: CommandResult[] = [];
    for (const command of commands) {
      results.push(executeCommand(batch, command));
      if (this.#line.size > 0) handOn(batch, command);
    }
    return results;
  }

  /** See `Store.keepClock`. Writes only if there is something to remember. */
  keepClock(): ClockStatus & { readonly notices: readonly StoreNotice[] } {
    return this.#explainCorruption(() => {
      this.#heal();
      if (!this.#isResumed) return this.#lookAtClock();
      const reading = this.#readClock();
      if (this.#mustRemember(reading)) this.#transact(reading, () => [], { force: true });
      this.#sums.keepUp(this.#db);
      const wall = this.#clock.readWall();
      const { mark: now, jump } = this.#clock;
      return { now, wall, jump, jumpAtStart: this.#followedJump(), notices: this.#takeNotices() };
    });
  }

  /** The time for a query, which moves nothing: it ends no slot that the next command extends. */
  peekNow(): Instant {
    if (!this.#isResumed && this.#awayFrom !== null) return this.#awayFrom;
    const { awayFrom, now } = this.#clock.peek();
    return awayFrom ?? now;
  }

  listWaiting = (products?: readonly string[] | null) => describeLine(this.#line, this.peekNow(), products);

  /** The keys that the secrets may be sealed with now. */
  get masterKeys(): readonly MasterKey[] {
    return this.#masterKeys;
  }

  close(): void {
    try {
      if (!this.#recovery.isBroken && this.#isResumed) {
        this.#explainCorruption(() =>
          this.#transact(this.#readClock(), () => this.#putInOrder(), { force: true }),
        );
      }
    } finally {
      if (this.#db.isOpen) this.#sums.close(this.#db);
    }
  }

  /** Leaves a file in which every row is up to date. */
  #putInOrder(): CommandResult[] {
    this.#statements.registration.fold();
    return [];
  }

  #explainCorruption<T>(work: () => T): T {
    return explainCorruption(this.#options.file, work);
  }

  #open(): void {
    const { ignoresCase, resumeAtOpen } = this.#options;
    const isStart = this.#clock === undefined;
    const { db, notices } = this.#sums.open(isStart);
    this.#db = db;
    this.#notices.push(...notices);
    if (ignoresCase !== undefined) setIgnoresCase(this.#db, ignoresCase);
    this.#statements = prepareStatements(this.#db);
    const masterKey = chooseMasterKey(listSecrets(this.#db), this.#masterKeys);
    this.#ledger = new AuditLedger(this.#db, this.#statements, openAudit(this.#db, masterKey));
    if (!this.#ledger.isSound) this.#notices.push({ kind: 'anchor_lost' });
    this.#masterKeys = [masterKey];
    if (sealSettings(this.#db, this.#statements, masterKey)) this.#sums.settle(this.#db);
    this.#load();
    const { mark, test_clock_ms: aheadMs } = getServer(this.#statements);
    this.#recovery.requireAcknowledged(this.#ledger.links, mark);
    this.#clock ??= new ServerClock(this.#options.clock, mark, aheadMs);
    if (isStart) this.#jumpAtStart = jumpAtStart(mark, this.#clock.readWall());
    if (mark !== null && mark > this.#clock.mark) this.#clock.moveTo(mark);
    this.#awayFrom = mark;
    this.#isResumed = false;
    if (!isStart || resumeAtOpen !== false) this.#resume(isStart);
  }

  #lookAtClock(): ClockStatus & { readonly notices: readonly StoreNotice[] } {
    const [wall, jumpAtStart] = [this.#clock.readWall(), this.#jumpAtStart];
    return { ...this.#clock.peek(), wall, jumpAtStart, notices: this.#takeNotices() };
  }

  #load(): void {
    const server = getServer(this.#statements);
    this.#systemHead = { n: server.audit_n, mac: server.audit_mac };
    this.#rules = rulesFromRows(this.#statements.findRules.get(), this.#statements.listBars.all());
    this.#ignoresCase = server.ignores_case === 1;
    this.#licenses = new LoadedLicenses(this.#statements.listLicenses.all());
    this.#answers = {
      count: countOf(this.#statements.countAnswers.get()),
      limit: this.#options.maxRememberedAnswers ?? MAX_REMEMBERED_ANSWERS,
    };
  }

  /** The store was away: slots that were live before get their time back. */
  #resume(isStart = true): void {
    this.#transact(
      this.#readClock(),
      (batch) => {
        if (isStart && this.#jumpAtStart !== null) this.#recordJump(batch, this.#jumpAtStart);
        if (this.#awayFrom !== null) extendLiveSlots(batch, this.#awayFrom);
        return [];
      },
      { force: true },
    );
    this.#isResumed = true;
  }

  /** After a failed commit, reopens the file before anything is acknowledged again. */
  #heal(): void {
    if (!this.#recovery.isBroken) return;
    const nowMs = this.#options.clock.readMonotonicMs();
    this.#recovery.requireDue(nowMs);
    try {
      if (this.#db.isOpen) this.#sums.closeBroken(this.#db);
      this.#open();
    } catch (error) {
      this.#recovery.noteFailure(nowMs);
      throw error;
    }
    this.#recovery.isBroken = false;
    this.#notices.push({ kind: 'store_recovered' });
  }

  #readClock(): ClockReading {
    const before = this.#clock.jump;
    const reading = this.#clock.read();
    if (before !== null && reading.jump === null && !reading.isTakenOver) {
      this.#notices.push({ kind: 'clock_agrees', serverAt: reading.now });
    }
    return reading;
  }

  /** The jump at start, unless a reset has undone it. */
  #followedJump(): ClockJumped | null {
    const jump = this.#jumpAtStart;
    return jump !== null && this.#clock.mark >= jump.wallAt ? jump : null;
  }

  /** Whether the stored mark would be wrong after a crash. */
  #mustRemember({ isNewJump, awayFrom, now }: ClockReading): boolean {
    if (isNewJump || awayFrom !== null || now - this.#storedMark >= MARK_INTERVAL_MS) return true;
    for (const { license } of this.#licenses.entries()) {
      const since = [license.id, this.#storedMark, now] as const;
      if (this.#statements.registration.hasEndedSince(...since)) return true;
      if (this.#statements.hasFeatureEndedSince.get(...since) !== undefined) return true;
    }
    return false;
  }

  /** One transaction. Writes nothing unless something changed or `force` is set. */
  #transact(reading: ClockReading, work: (batch: Batch) => CommandResult[], { force = false } = {}) {
    const batch: Batch = {
      statements: this.#statements,
      savepoint: this.#statements.registration,
      licenses: this.#licenses,
      clock: { jump: this.#clock.jump, wall: this.#clock.readWall() },
      now: reading.now,
      masterKey: this.#masterKeys[0] as MasterKey,
      rules: this.#rules,
      ignoresCase: this.#ignoresCase,
      systemEvents: [],
      systemHead: this.#systemHead,
      ledger: this.#ledger,
      signed: null,
      answers: this.#answers,
      names: this.#names,
      countPlaces: () => () => new PlacesInMemory(),
      line: this.#line,
      clampsHistory: false,
      isChanged: force,
    };
    try {
      this.#statements.begin.run();
      this.#noteClock(batch, reading);
      const results = work(batch);
      if (batch.isChanged || this.#statements.registration.isAhead) this.#commit(batch);
      else this.#statements.rollback.run();
      if (batch.now !== reading.now) this.#clock.moveTo(batch.now, getServer(this.#statements).test_clock_ms);
      return results;
    } catch (error) {
      this.#masterKeys = [...this.#masterKeys, batch.masterKey];
      this.#line.rollBack();
      this.#abandon(reading);
      throw error;
    }
  }

  #noteClock(batch: Batch, reading: ClockReading): void {
    const jump = reading.isNewJump ? jumpEvent(reading, this.#clock.readWall()) : null;
    if (jump !== null) this.#recordJump(batch, jump);
    const { awayFrom, isTakenOver, ranTo, now: to } = reading;
    if (awayFrom === null) return;
    extendLiveSlots(batch, awayFrom);
    batch.isChanged = true;
    if (isTakenOver) {
      batch.systemEvents.push(eventText({ kind: 'clock_accepted', from: ranTo, to, by: 'server' }));
      this.#notices.push({ kind: 'clock_taken_over', from: ranTo, to });
    } else if (this.#isResumed) {
      this.#notices.push({ kind: 'server_paused', from: awayFrom, to });
    }
  }

  #recordJump(batch: Batch, jump: ClockJumped): void {
    batch.systemEvents.push(eventText(jump));
    batch.isChanged = true;
    this.#notices.push(jump);
  }

  #commit(batch: Batch): void {
    const linksBefore = this.#ledger.links;
    const changed = [...this.#licenses.entries()].filter(hasNews);
    for (const entry of changed) this.#writeEntry(entry, batch.now);
    this.#writeHistory(batch, changed);
    const systemHead = this.#ledger.addLink(SYSTEM_CHAIN, this.#systemHead, batch.systemEvents, batch.now);
    this.#ledger.writeLinks();
    this.#statements.saveServer.run(batch.now, systemHead.n, systemHead.mac, this.#ledger.takeAnchor());
    const isSigningOnly = batch.systemEvents.length === 1 && this.#ledger.links === linksBefore + 1;
    if (batch.signed !== null && isSigningOnly) this.#ledger.markSigned();
    const { readMonotonicMs } = this.#options.clock;
    const startedMs = readMonotonicMs();
    this.#statements.registration.beforeCommit();
    this.#statements.commit.run();
    this.#statements.registration.afterCommit();
    this.#syncMs = readMonotonicMs() - startedMs;
    this.#systemHead = systemHead;
    this.#masterKeys = [batch.masterKey];
    this.#rules = batch.rules;
    this.#storedMark = batch.now;
    this.#recovery.acknowledged = { links: this.#ledger.links, mark: batch.now };
    for (const entry of changed) Object.assign(entry, { isChanged: false, events: [], history: [] });
    if (batch.signed === null) return;
    const { links, digest } = batch.signed;
    this.#notices.push({ kind: 'heads_signed', links, digest });
  }

  #writeEntry(entry: LoadedLicense, now: Instant): void {
    const { license, storedInUse, counts } = entry;
    if (entry.meters.changed.size > 0) entry.meters.flush(this.#statements);
    entry.head = this.#ledger.addLink(license.id, entry.head, entry.events, now);
    const { n, mac } = entry.head;
    this.#statements.updateLicenseHead.run(storedInUse, counts?.flush() ?? null, n, mac, license.id);
  }

  #writeHistory({ names, now, clampsHistory }: Batch, changed: readonly LoadedLicense[]): void {
    for (const { table, rows } of historyRows(changed, names, now)) {
      const insert = this.#statements.addHistory[table];
      insert.run(rows.flatMap((row) => pickValues(row, insert.columns)));
    }
    if (clampsHistory) clampHistory(this.#statements, now);
  }

  /** Memory may be ahead of the file now: it is loaded again before the next batch. */
  #abandon({ isNewJump, isTakenOver, ranTo, now }: ClockReading): void {
    this.#recovery.noteFailure(this.#options.clock.readMonotonicMs());
    // A jump that was to be followed was not stored: the next reading finds it again.
    const reached = isTakenOver ? ranTo : now;
    if (this.#clock.mark > reached) this.#clock.moveTo(reached);
    if (isNewJump) this.#clock.forgetJump();
    if (this.#db.isOpen && this.#db.isTransaction) this.#statements.rollback.run();
  }

  #takeNotices(): readonly StoreNotice[] {
    const notices = this.#notices;
    this.#notices = [];
    return notices;
  }
}
