import type { InstallLicense, LicenseCommand, Target } from '../../core/command.ts';
import { decide, moduleOf } from '../../core/decide.ts';
import type { Decision } from '../../core/decision.ts';
import { decideAddLicense } from '../../core/decisions/install-license.ts';
import { listMeant } from '../../core/lending/choose-license.ts';
import { decidePool, type PoolPart } from '../../core/lending/decide-pool.ts';
import { judgeFile } from '../../core/lending/judge-file.ts';
import type { Refused } from '../../core/outcome.ts';
import type { Executed } from '../store.ts';
import { applyChange, isOneRow } from './apply/apply.ts';
import { eventText } from './audit/audit-chain.ts';
import type { Batch, Undo } from './batch.ts';
import { loadPool, repeatRemoved } from './load/load-pool.ts';
import { loadView } from './load/load-view.ts';
import { type LoadedLicense, type LoadedLicenses, rememberEntry } from './loaded-licenses.ts';
import { standingOf } from './standing.ts';

export function executeOnLicense(batch: Batch, command: LicenseCommand, undo: Undo[]): Executed {
  if (command.kind === 'install_license') {
    const refusal = refuseFile(batch, command);
    if (refusal !== null) return refusal;
    if (batch.licenses.find(command.license.id) === undefined) return addLicense(batch, command, undo);
  }
  const entries = locate(batch, command);
  if ('kind' in entries) return entries;
  const repeated = repeatRemoved(batch, entries, command);
  if (repeated !== null) return repeated;
  const answerCount = batch.answers.count;
  undo.push(() => {
    batch.answers.count = answerCount;
  });
  if (entries.length > 1) return executeOnPool(batch, entries, command, undo);
  const [entry] = entries as [LoadedLicense];
  undo.push(rememberEntry(batch.licenses, entry));
  return write(batch, entry, decideOn(batch, entry, command));
}

/** One decision on several licenses, in one commit. */
function executeOnPool(
  batch: Batch,
  entries: readonly LoadedLicense[],
  command: LicenseCommand,
  undo: Undo[],
): Executed {
  batch.savepoint.set();
  const pool = loadPool(batch, entries, command, (entry) => undo.push(rememberEntry(batch.licenses, entry)));
  const { answer, others } = decidePool(command, pool, batch.now);
  const writePart = ({ licenseId, decision }: PoolPart) =>
    write(batch, batch.licenses.find(licenseId) as LoadedLicense, decision);
  for (const part of others) writePart(part);
  return writePart(answer);
}

export function decideOn(batch: Batch, entry: LoadedLicense, command: LicenseCommand): Decision {
  return decide(command, loadView(batch, entry, command), batch.now);
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
  const view = loadView(batch, entry, command);
  return write(batch, entry, decideAddLicense(command, view, batch.now));
}

export function write(batch: Batch, entry: LoadedLicense, decision: Decision): Executed {
  const { changes, events, outcome, history } = decision;
  const { statements, licenses, now, answers } = batch;
  // First: an event that cannot be written must fail the command before it has changed anything.
  for (const event of events) entry.events.push(eventText(event));
  if (!isOneRow(changes)) batch.savepoint.set();
  const target = { statements, licenses, entry, now, answers };
  for (const change of changes) applyChange(target, change);
  for (const happening of history ?? []) entry.history.push(happening);
  if (changes.length > 0 || events.length > 0) {
    batch.isChanged = true;
    entry.isTouched = true;
  }
  if (outcome.kind !== 'granted') return outcome;
  const { license, registration, inUse } = outcome;
  const standing = standingOf(statements, entry, now);
  return { kind: 'granted', license, registration, inUse, now: outcome.now, standing };
}

function locate({ licenses }: Batch, command: LicenseCommand): readonly LoadedLicense[] | Refused {
  const module = moduleOf(command);
  const target = module.target(command);
  const candidates = listCandidates(licenses, target, module.mayBeRemoved(command));
  return listMeant(target, { products: licenses.productCount, licenses: candidates });
}

function listCandidates(licenses: LoadedLicenses, { product, licenseId }: Target, mayBeRemoved: boolean) {
  if (product !== null) return licenses.listByProduct(product);
  if (licenseId === null) return licenses.listOnlyProduct();
  const entry = licenses.find(licenseId) ?? (mayBeRemoved ? licenses.findRemoved(licenseId) : undefined);
  return entry === undefined ? [] : [entry];
}
