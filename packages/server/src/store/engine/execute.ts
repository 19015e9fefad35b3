import type { Command, InstallLicense, LicenseCommand, LineCommand, Register } from '../../core/command.ts';
import type { Subject } from '../../core/command-module.ts';
import { decide, isLicenseCommand, moduleOf, subjectOf } from '../../core/decide.ts';
import type { Decision } from '../../core/decision.ts';
import { decideAddLicense } from '../../core/decisions/install-license.ts';
import { joinLicense, leaveForGood } from '../../core/decisions/replace-license.ts';
import { findRequestedLicenses } from '../../core/lending/choose-license.ts';
import { decidePool, type Pool, type PoolPart } from '../../core/lending/decide-pool.ts';
import { judgeFile } from '../../core/lending/judge-file.ts';
import { ANSWER_LIFETIME_MS, isRemembered, repeatAnswer } from '../../core/lending/repeat-answer.ts';
import type { Waitable } from '../../core/lending/waiting-line.ts';
import { plus } from '../../core/nouns/instant.ts';
import { isSameLicense, type License, type LicenseId } from '../../core/nouns/license.ts';
import { isLive } from '../../core/nouns/registration.ts';
import { withFoldedUser } from '../../core/nouns/user-name.ts';
import type { Measured, Outcome, Refused } from '../../core/outcome.ts';
import { refuseId } from '../../core/refusals.ts';
import { NO_RULES } from '../../core/rules/rules.ts';
import { refuseBesideTestClock } from '../../core/system/test-clock.ts';
import type { SystemCommand } from '../../core/system-command.ts';
import type { Candidate, LicenseView } from '../../core/view.ts';
import type { Executed } from '../store.ts';
import { applyDecision } from './apply/apply.ts';
import type { Batch, Undo } from './batch.ts';
import { executeSystem } from './execute-system.ts';
import { executeOnLine, isLineCommand } from './line/execute-on-line.ts';
import { decideInLine } from './line/join-line.ts';
import { findAnswer, findRegistration, loadView } from './load/load-view.ts';
import type { FindKept, Kept } from './load/read-holdings.ts';
import { type LoadedLicense, type LoadedLicenses, rememberEntry } from './loaded-licenses.ts';
import { collectAll, countPool, loadCollected, prepareCounts } from './prepare-counts.ts';

/** The outcome of a command, or an error that concerns it alone. */
export type CommandResult = { readonly outcome: Executed } | { readonly error: unknown };

/**
 * Decides a command and writes what was decided. A command that throws is undone, and fails alone.
 * `isCarriedOut`: whether an outcome is, by default always. One that is not changes nothing.
 */
export function executeCommand(
  batch: Batch,
  command: Command,
  isCarriedOut?: (outcome: Outcome) => boolean,
): CommandResult {
  const undo: Undo[] = [];
  batch.savepoint.begin();
  try {
    const identified = batch.ignoresCase ? withFoldedUser(command) : command;
    const outcome = isLicenseCommand(identified)
      ? executeOnLicense(batch, identified, undo, isCarriedOut)
      : executeOther(batch, identified, undo);
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

/** Rows of a remote database are not loaded yet. The command is undone, and tried again when they are. */
export class MissingRows extends Error {
  override readonly name = 'MissingRows';
}

function executeOther(batch: Batch, command: LineCommand | SystemCommand, undo: Undo[]): Executed {
  if (!isLineCommand(command)) return executeSystem(batch, command, undo);
  undo.push(batch.line.mark());
  return executeOnLine(batch, command, (returning) => executeOnLicense(batch, returning, undo));
}

function executeOnLicense(
  batch: Batch,
  command: LicenseCommand,
  undo: Undo[],
  isCarriedOut?: (outcome: Outcome) => boolean,
): Executed {
  if (command.kind === 'install_license') {
    const { id } = command.license;
    const held = batch.licenses.find(id);
    const refusal =
      refuseBesideTests(batch, command) ??
      refuseFile(batch, command) ??
      refuseId(command, held?.license, batch.licenses.findReplacing(id));
    if (refusal !== null) return refusal;
    if (command.replacesSame) return replaceSame(batch, command, undo);
    if (held === undefined) return addLicense(batch, command, undo);
  }
  const subject = subjectOf(command);
  const entries = locate(batch, command, subject);
  if ('kind' in entries) {
    // Clients go on naming the license that they were given, also when another has taken its place.
    const id = moduleOf(command).isFromClients ? batch.licenses.findReplacing(subject.licenseId) : null;
    if (id === null) return entries;
    const repeated = repeatRemoved(batch, [subject.licenseId as LicenseId], command, subject);
    const redirected = { ...command, licenseId: id } as LicenseCommand;
    return repeated ?? executeOnLicense(batch, redirected, undo, isCarriedOut);
  }
  const [entry] = entries as [LoadedLicense];
  if (subject.answer !== null && subject.licenseId === null) {
    const removed = batch.licenses.listRemoved(entry.license.product, plus(batch.now, -ANSWER_LIFETIME_MS));
    const repeated = repeatRemoved(batch, removed, command, subject);
    if (repeated !== null) return repeated;
  }
  const answerCount = batch.answers.count;
  undo.push(() => {
    batch.answers.count = answerCount;
  });
  const { line } = batch;
  const isWaitedFor = line.size > 0 && line.has(entry.license.product);
  const waits = isWaitedFor || (command as MayWait).wait !== undefined;
  if (!waits || isDryRun(command)) return decideOn(batch, entries, command, subject, undo);
  return decideInLine(batch, entries, command, isCarriedOut, tryOut, (applies, findKept) => {
    undo.push(line.mark());
    return decideOn(batch, entries, command, subject, undo, applies, findKept);
  });
}

const REMEMBER_NOTHING = () => {};

/** What would be decided about a request for a slot now; `null`: it fails. Nothing is written. */
export function tryOut(batch: Batch, command: Waitable, kept: Kept): Outcome | null {
  const subject = subjectOf(command);
  const entries = locate(batch, command, subject);
  if ('kind' in entries) return entries;
  try {
    const findKept = () => kept;
    const pool = loadPool(batch, entries, command, subject, REMEMBER_NOTHING, findKept);
    return decidePool(command, pool, batch.now).answer.decision.outcome;
  } catch (error) {
    if (error instanceof MissingRows || batch.savepoint.concernsAll(error)) throw error;
    return null;
  }
}

/** Call before anybody is tried out for a product. It is undone like a command if rows are missing. */
export function prepareToTry(batch: Batch, product: string): void {
  const undo: Undo[] = [];
  batch.savepoint.begin();
  try {
    countPool(batch, product, undo);
    batch.savepoint.release();
  } catch (error) {
    batch.savepoint.rollBack();
    for (const step of undo.reverse()) step();
    throw error;
  }
}

type MayWait = Pick<Register, 'wait'>;

function decideOn(
  batch: Batch,
  entries: readonly LoadedLicense[],
  command: LicenseCommand,
  subject: Subject,
  undo: Undo[],
  isCarriedOut?: (outcome: Outcome) => boolean,
  findKept?: FindKept,
): Executed {
  if (batch.rules !== NO_RULES) prepareCounts(batch, entries, command, undo);
  if (entries.length > 1)
    return executeOnPool(batch, entries, command, subject, undo, isCarriedOut, findKept);
  const [entry] = entries as [LoadedLicense];
  undo.push(rememberEntry(batch.licenses, entry));
  const decision = decide(command, loadView(batch, entry, command, subject, findKept), batch.now);
  if (isCarriedOut?.(decision.outcome) === false) return decision.outcome as Refused;
  return applyDecision(batch, entry, effectOf(command, decision));
}

function isDryRun(command: LicenseCommand): boolean {
  return 'isDryRun' in command && command.isDryRun === true;
}

/** A dry run has an answer and no effect. */
function effectOf(command: LicenseCommand, decision: Decision): Decision {
  return isDryRun(command) ? { outcome: decision.outcome, changes: [], events: [] } : decision;
}

/** One decision on several licenses, in one commit. */
function executeOnPool(
  batch: Batch,
  entries: readonly LoadedLicense[],
  command: LicenseCommand,
  subject: Subject,
  undo: Undo[],
  isCarriedOut?: (outcome: Outcome) => boolean,
  findKept?: FindKept,
): Executed {
  batch.savepoint.set();
  const remember = (entry: LoadedLicense) => undo.push(rememberEntry(batch.licenses, entry));
  const pool = loadPool(batch, entries, command, subject, remember, findKept);
  const { answer, others } = decidePool(command, pool, batch.now);
  if (isCarriedOut?.(answer.decision.outcome) === false) return answer.decision.outcome as Refused;
  const writePart = ({ licenseId, decision }: PoolPart) =>
    applyDecision(batch, batch.licenses.find(licenseId) as LoadedLicense, effectOf(command, decision));
  for (const part of others) writePart(part);
  return writePart(answer);
}

/** The licenses of a product. A view is loaded when the decision asks for it, and only once. */
function loadPool(
  batch: Batch,
  entries: readonly LoadedLicense[],
  command: LicenseCommand,
  subject: Subject,
  beforeView: (entry: LoadedLicense) => void,
  findKept?: FindKept,
): Pool {
  const views = new Map<LicenseId, LicenseView>();
  return {
    candidates: entries.map((entry) => candidateOf(batch, entry, subject)),
    viewOf(license) {
      const known = views.get(license.id);
      if (known !== undefined) return known;
      const entry = entries.find((one) => one.license.id === license.id) as LoadedLicense;
      beforeView(entry);
      const view = loadView(batch, entry, command, subject, findKept);
      views.set(license.id, view);
      return view;
    },
  };
}

/**
 * Repeats the answer that a license, removed since, gave to this same request, so that the repeat is not
 * counted again on another license of the product.
 */
function repeatRemoved(
  { statements, now }: Batch,
  removed: readonly LicenseId[],
  command: LicenseCommand,
  { answer }: Subject,
): Measured | Refused | null {
  if (command.kind !== 'add_consumption' || answer === null) return null;
  for (const id of removed) {
    const repeated = repeatAnswer(command.idempotency, findAnswer(statements, id, answer), now);
    if (repeated !== null) return repeated;
  }
  return null;
}

function candidateOf(
  { statements, now }: Batch,
  { license }: LoadedLicense,
  { user, answer: scope }: Subject,
): Candidate {
  const registration = user === null ? null : findRegistration(statements, license.id, user);
  const answer = scope === null ? null : findAnswer(statements, license.id, scope);
  return {
    license,
    holdsSlot: registration !== null && isLive(registration, now),
    hasAnswered: answer !== null && isRemembered(answer, now),
  };
}

function refuseBesideTests({ statements }: Batch, { license }: InstallLicense): Refused | null {
  return refuseBesideTestClock(license, statements.getServer.get()?.test_clock_ms ?? null);
}

function refuseFile({ licenses, statements }: Batch, { license, file }: InstallLicense): Refused | null {
  if (file === undefined) return null;
  const held = licenses.find(license.id);
  const request = file.requestId === null ? undefined : statements.findRequest.get(file.requestId);
  return judgeFile(license, file, {
    hardwareId: statements.getServer.get()?.hardware_id ?? null,
    known: (held ?? licenses.findRemoved(license.id))?.license ?? null,
    isHeld: held !== undefined,
    request:
      request === undefined ? null : { answeredBy: request.answered_by, licenseKey: request.license_key },
  });
}

/** A removed license comes back with everything that was kept of it. */
function addLicense(batch: Batch, command: InstallLicense, undo: Undo[]): Executed {
  const { id } = command.license;
  const removed = batch.licenses.findRemoved(id);
  undo.push(removed === undefined ? () => batch.licenses.remove(id) : rememberEntry(batch.licenses, removed));
  const entry =
    removed === undefined ? batch.licenses.addNew(command.license) : batch.licenses.revive(removed);
  const view = loadView(batch, entry, command, subjectOf(command));
  return applyDecision(batch, entry, decideAddLicense(command, view, batch.now));
}

/** Installs a license, and moves to it what is held of the same one under other ids. */
function replaceSame(batch: Batch, { replacesSame: _, ...command }: InstallLicense, undo: Undo[]): Executed {
  const { licenses, now } = batch;
  const { license, by } = command;
  const isReplaced = (one: License) => one.id !== license.id && isSameLicense(one, license);
  const replaced = licenses.listByProduct(license.product).filter((entry) => isReplaced(entry.license));
  const outcome = executeOnLicense(batch, command, undo);
  const to = licenses.find(license.id) as LoadedLicense;
  for (const from of replaced) {
    for (const entry of [from, to]) {
      undo.push(rememberEntry(licenses, entry));
      collectAll(batch, entry);
    }
    const [leaving, joined] = [loadCollected(batch, from), loadCollected(batch, to)];
    const moved = joinLicense(leaving, joined, by, now);
    applyDecision(batch, from, leaveForGood(leaving, license.id, by, now));
    applyDecision(batch, to, moved);
  }
  return outcome;
}

function locate({ licenses }: Batch, command: LicenseCommand, subject: Subject) {
  const found = listCandidates(licenses, command, subject);
  return findRequestedLicenses(subject, { products: licenses.productCount, licenses: found });
}

function listCandidates(
  licenses: LoadedLicenses,
  command: LicenseCommand,
  { product, licenseId }: Subject,
): readonly LoadedLicense[] {
  if (product !== null) return licenses.listByProduct(product);
  if (licenseId === null) return licenses.listOnlyProduct();
  const found = licenses.find(licenseId);
  if (found !== undefined) return [found];
  const removed = moduleOf(command).mayBeRemoved?.(command) ? licenses.findRemoved(licenseId) : undefined;
  return removed === undefined ? [] : [removed];
}
