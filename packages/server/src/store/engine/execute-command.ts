import type { ClockJump } from '../../core/clock/clock.ts';
import type { Command, InstallLicense, LicenseCommand, Target } from '../../core/command.ts';
import { decide, moduleOf, targetOf } from '../../core/decide.ts';
import { type DecidedCommand, decideSystem, isDecided } from '../../core/decide-system.ts';
import type { Decision, SystemDecision } from '../../core/decision.ts';
import { decideAddLicense } from '../../core/decisions/install-license.ts';
import { listMeant } from '../../core/lending/choose-license.ts';
import { decidePool, type PoolPart } from '../../core/lending/decide-pool.ts';
import { judgeFile } from '../../core/lending/judge-file.ts';
import type { HeadsSigned } from '../../core/nouns/audit-event.ts';
import type { Instant } from '../../core/nouns/instant.ts';
import type { LicenseId } from '../../core/nouns/license.ts';
import { withIdentity } from '../../core/nouns/user-name.ts';
import type { Refused } from '../../core/outcome.ts';
import type { Rules } from '../../core/rules/rules.ts';
import { noticeKeyOf } from '../../core/system/notice.ts';
import { decideSetRules } from '../../core/system/set-rules.ts';
import type { SystemView } from '../../core/view.ts';
import { fingerprint, type MasterKey } from '../../secrets/seal.ts';
import type { Executed } from '../store.ts';
import { type AnswerCount, applyChange, applySystemChange } from './apply/apply.ts';
import { type ChainHead, eventText } from './audit/audit-chain.ts';
import { signHeads } from './audit/sign-heads.ts';
import { thinAudit } from './audit/thin-audit.ts';
import { bindHardware } from './bind-hardware.ts';
import { loadAccountView } from './load/load-account-view.ts';
import { loadPool, repeatRemoved } from './load/load-pool.ts';
import { findNotice, loadView } from './load/load-view.ts';
import { acceptClock, resetClock } from './move-clock.ts';
import { cursorFromRow } from './rows.ts';
import { rememberEntry, type Shelf, type ShelfEntry } from './shelf.ts';
import { standingOf } from './standing.ts';
import type { Statements } from './statements.ts';

/** What the commands of one transaction work on. */
export interface Batch {
  readonly statements: Statements;
  readonly savepoint: Savepoint;
  readonly shelf: Shelf;
  readonly clock: BatchClock;
  now: Instant;
  /** What seals the secrets; another one after a command that replaces it. */
  masterKey: MasterKey;
  /** Those in force; others after a command that sets them. */
  rules: Rules;
  /** Whether users that differ only in case are one. */
  readonly ignoresCase: boolean;
  /** The system's events, as texts. */
  readonly systemEvents: string[];
  /** The newest link of the system's chain before this commit. */
  readonly systemHead: ChainHead;
  readonly ledger: HeadSigner;
  /** The heads that this commit signs. */
  signed: HeadsSigned | null;
  readonly answers: AnswerCount;
  /** Something has to be committed. */
  isChanged: boolean;
}

/** Undoes what one command has written, while the commands before it stay. */
export interface Savepoint {
  set(): void;
  release(): void;
  rollBack(): void;
  /** Whether an error concerns all commands of the transaction, and not only the one that met it. */
  concernsAll(error: unknown): boolean;
}

/** The clock as those commands see it that move it. */
export interface BatchClock {
  readonly jump: ClockJump | null;
  readWall(): Instant;
  moveTo(now: Instant): void;
  /** Remembers the time as it is, and answers how to go on from there: for a command that fails. */
  remember(): () => void;
}

/** Vouches for the log. */
export interface HeadSigner {
  /** The key of the chains. */
  readonly key: Uint8Array;
  /** Whether anything was written since the heads were signed. */
  readonly isSigned: boolean;
  sign(heads: HeadsSigned['heads']): HeadsSigned;
}

/** What became of one command: an outcome, or an error that concerns it alone. */
export type CommandResult = { readonly outcome: Executed } | { readonly error: unknown };

type Undo = () => void;

/** Decides one command and writes what was decided. A command that throws is undone, and fails alone. */
export function executeCommand(batch: Batch, command: Command): CommandResult {
  const undo: Undo[] = [];
  batch.savepoint.set();
  try {
    const outcome = dispatch(batch, withIdentity(command, batch.ignoresCase), undo);
    batch.savepoint.release();
    return { outcome };
  } catch (error) {
    if (batch.savepoint.concernsAll(error)) throw error;
    batch.savepoint.rollBack();
    for (const step of undo.reverse()) step();
    if (error instanceof MissingRows) throw error;
    return { error };
  }
}

/**
 * A database that takes its time does not hold these rows ready yet. The command is undone; when they have
 * come it is tried again.
 */
export class MissingRows extends Error {
  override readonly name = 'MissingRows';
}

/** What moves the clock touches every license, the time itself and the system's events. */
function rememberAll(batch: Batch, undo: Undo[]): void {
  const { now, isChanged } = batch;
  const eventCount = batch.systemEvents.length;
  for (const entry of batch.shelf.entries()) undo.push(rememberEntry(batch.shelf, entry));
  undo.push(batch.clock.remember(), () => {
    Object.assign(batch, { now, isChanged });
    batch.systemEvents.length = eventCount;
  });
}

/** What a command on the server itself may leave in memory. */
function rememberSystem(batch: Batch): Undo {
  const { masterKey, rules, signed } = batch;
  const eventCount = batch.systemEvents.length;
  return () => {
    Object.assign(batch, { masterKey, rules, signed });
    batch.systemEvents.length = eventCount;
  };
}

function dispatch(batch: Batch, command: Command, undo: Undo[]): Executed {
  if (isDecided(command)) {
    return executeSystem(batch, undo, () => decideSystem(command, loadSystemView(batch, command), batch.now));
  }
  switch (command.kind) {
    case 'set_rules':
      return executeSystem(batch, undo, () => decideSetRules(command, batch.rules));
    case 'bind_hardware':
      rememberAll(batch, undo);
      return bindHardware(batch, command);
    case 'sign_heads':
      undo.push(rememberSystem(batch));
      return signHeads(batch);
    case 'thin_audit':
      undo.push(rememberSystem(batch));
      return thinAudit(batch, command);
    case 'accept_clock':
      rememberAll(batch, undo);
      return acceptClock(batch, command.by);
    case 'reset_clock':
      rememberAll(batch, undo);
      return resetClock(batch, command);
    default:
      return executeOnLicense(batch, command, undo);
  }
}

function executeOnLicense(batch: Batch, command: LicenseCommand, undo: Undo[]): Executed {
  if (command.kind === 'install_license') {
    const refusal = refuseFile(batch, command);
    if (refusal !== null) return refusal;
    if (batch.shelf.find(command.license.id) === undefined) return addLicense(batch, command, undo);
  }
  const entries = findEvenRemoved(batch, command) ?? locate(batch, command);
  if ('kind' in entries) return entries;
  const repeated = repeatRemoved(batch, entries, command);
  if (repeated !== null) return repeated;
  const answerCount = batch.answers.count;
  undo.push(() => {
    batch.answers.count = answerCount;
  });
  if (entries.length > 1) return executeOnPool(batch, entries, command, undo);
  const [entry] = entries as [ShelfEntry];
  undo.push(rememberEntry(batch.shelf, entry));
  return write(batch, entry, decideOn(batch, entry, command));
}

/** One decision over several licenses; what it changes on each of them is one commit. */
function executeOnPool(
  batch: Batch,
  entries: readonly ShelfEntry[],
  command: LicenseCommand,
  undo: Undo[],
): Executed {
  const pool = loadPool(batch, entries, command, (entry) => undo.push(rememberEntry(batch.shelf, entry)));
  const { answer, others } = decidePool(command, pool, batch.now);
  const writePart = ({ licenseId, decision }: PoolPart) =>
    write(batch, batch.shelf.find(licenseId) as ShelfEntry, decision);
  for (const part of others) writePart(part);
  return writePart(answer);
}

/** What was lent and reported of a license that was removed comes to its end, too. */
function findEvenRemoved({ shelf }: Batch, command: LicenseCommand): readonly ShelfEntry[] | undefined {
  if (!moduleOf(command).mayBeRemoved) return undefined;
  const entry = shelf.findRemoved(targetOf(command).licenseId as LicenseId);
  return entry === undefined ? undefined : [entry];
}

/** Exported for the clock, which collects before it goes back. */
export function decideOn(batch: Batch, entry: ShelfEntry, command: LicenseCommand): Decision {
  return decide(command, loadView(batch, entry, command), batch.now);
}

/** A file is judged by what is known of its license, here or removed, and of the request that it answers. */
function refuseFile({ shelf, statements }: Batch, { license, file }: InstallLicense): Refused | null {
  if (file === undefined) return null;
  const held = shelf.find(license.id);
  const request = file.requestId === null ? undefined : statements.findRequest.get(file.requestId);
  return judgeFile(license, file, {
    hardwareId: (statements.getServer.get()?.hardware_id as string | null | undefined) ?? null,
    known: (held ?? shelf.findRemoved(license.id))?.license ?? null,
    isHeld: held !== undefined,
    request: request === undefined ? null : { answeredBy: request.answered_by as LicenseId | null },
  });
}

/** A license that was removed comes back with all that is kept of it. */
function addLicense(batch: Batch, command: InstallLicense, undo: Undo[]): Executed {
  const { id } = command.license;
  const removed = batch.shelf.findRemoved(id);
  undo.push(removed === undefined ? () => batch.shelf.remove(id) : rememberEntry(batch.shelf, removed));
  const entry = removed === undefined ? batch.shelf.addNew(command.license) : batch.shelf.revive(removed);
  const view = loadView(batch, entry, command);
  return write(batch, entry, decideAddLicense(command, view, batch.now));
}

export function write(batch: Batch, entry: ShelfEntry, decision: Decision): Executed {
  const { changes, events, outcome } = decision;
  const { statements, shelf, now, answers } = batch;
  const target = { statements, shelf, entry, now, answers };
  for (const change of changes) applyChange(target, change);
  for (const event of events) entry.events.push(eventText(event));
  if (changes.length > 0 || events.length > 0) {
    batch.isChanged = true;
    entry.isTouched = true;
  }
  if (outcome.kind !== 'granted') return outcome;
  return { ...outcome, standing: standingOf(statements, entry, now) };
}

/** The licenses that the command means. */
function locate({ shelf }: Batch, command: LicenseCommand): readonly ShelfEntry[] | Refused {
  const target = targetOf(command);
  return listMeant(target, { products: shelf.productCount, licenses: listCandidates(shelf, target) });
}

function listCandidates(shelf: Shelf, { product, licenseId }: Target): readonly ShelfEntry[] {
  if (product !== null) return shelf.listByProduct(product);
  if (licenseId !== null) return listOne(shelf, licenseId);
  return shelf.listOnlyProduct();
}

function listOne(shelf: Shelf, id: LicenseId): readonly ShelfEntry[] {
  const entry = shelf.find(id);
  return entry === undefined ? [] : [entry];
}

function executeSystem(batch: Batch, undo: Undo[], decideOnServer: () => SystemDecision): Executed {
  undo.push(rememberSystem(batch));
  const decision = decideOnServer();
  for (const change of decision.changes) applySystemChange(batch, change);
  for (const event of decision.events) batch.systemEvents.push(eventText(event));
  if (decision.changes.length > 0 || decision.events.length > 0) batch.isChanged = true;
  return decision.outcome;
}

const NEEDS_SETUP: ReadonlySet<string> = new Set([
  'create_account',
  'create_token',
  'set_password',
  'set_role',
] satisfies DecidedCommand['kind'][]);

function loadSystemView({ statements, masterKey }: Batch, command: DecidedCommand): SystemView {
  return {
    ...loadAccountView(statements, command),
    isSetUp: NEEDS_SETUP.has(command.kind) && statements.getServer.get()?.set_up_at != null,
    usageSequence:
      command.kind === 'number_usage' ? (statements.getServer.get()?.usage_sequence as number) : 0,
    masterKeyFingerprint: command.kind === 'rotate_master_key' ? fingerprint(masterKey) : null,
    notedValue: command.kind === 'note' ? findNotice(statements, noticeKeyOf(command)) : null,
    webhookCursor: command.kind === 'set_webhook_cursor' ? cursorFromRow(statements.getServer.get()) : null,
  };
}
