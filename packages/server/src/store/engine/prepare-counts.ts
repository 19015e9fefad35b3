import type { LicenseCommand, Register } from '../../core/command.ts';
import { collectEnded, subjectOf } from '../../core/decide.ts';
import {
  holderFacts,
  isSameHolder,
  orNoSlot,
  type Registration,
  slotOf,
} from '../../core/nouns/registration.ts';
import { refuseRenewal } from '../../core/refusals.ts';
import type { LicenseView } from '../../core/view.ts';
import { applyDecision } from './apply/apply.ts';
import type { Batch, Undo } from './batch.ts';
import { countAll, forgetCounts, hasCounts, isCounted } from './counts/count-slots.ts';
import { findRegistration, loadView } from './load/load-view.ts';
import { type LoadedLicense, rememberEntry } from './loaded-licenses.ts';

/**
 * Under rules that count slots, all slots are counted and whatever has ended is collected before a slot is
 * lent: on all licenses of the product, also those that the command does not name. Otherwise slots that are
 * reserved would be given away. Housekeeping counts anew after a change of rules, so that requests seldom
 * have to.
 */
export function prepareCounts(
  batch: Batch,
  entries: readonly LoadedLicense[],
  command: LicenseCommand,
  undo: Undo[],
): void {
  const [first] = entries as [LoadedLicense];
  const counts = isCounted(batch, first);
  if (command.kind === 'collect') {
    if (counts) recount(batch, first, undo);
    else dropCounts(batch, first, undo);
    return;
  }
  if (!counts || !TAKING.has(command.kind)) return;
  const { product } = first.license;
  const isLate = batch.licenses.listByProduct(product).some((entry) => isBehind(batch, entry));
  if (!isLate || (command.kind === 'register' && isPlainRenewal(batch, entries, command))) return;
  countPool(batch, product, undo);
}

function isBehind(batch: Batch, entry: LoadedLicense): boolean {
  return isCounted(batch, entry) && (isDue(batch, entry) || !hasCounts(batch, entry));
}

export function countPool(batch: Batch, product: string, undo: Undo[]): void {
  for (const entry of batch.licenses.listByProduct(product).filter((one) => isBehind(batch, one))) {
    undo.push(rememberEntry(batch.licenses, entry));
    collectAll(batch, entry);
    recount(batch, entry, undo);
  }
}

export function collectAll(batch: Batch, entry: LoadedLicense): void {
  while (isDue(batch, entry)) {
    const view = loadCollected(batch, entry);
    if (view.ended.length === 0 && view.endedFeatureSlots.length === 0) break;
    batch.savepoint.set();
    applyDecision(batch, entry, collectEnded(view, batch.now));
  }
}

/** Counts anew if the rules have changed. */
function recount(batch: Batch, entry: LoadedLicense, undo: Undo[]): void {
  if (hasCounts(batch, entry)) return;
  undo.push(rememberEntry(batch.licenses, entry));
  countAll(batch, entry);
}

/** Returns whether something may have ended. */
function isDue({ now }: Batch, { noEndBefore, noFeatureEndBefore }: LoadedLicense): boolean {
  return now >= noEndBefore || now >= noFeatureEndBefore;
}

/** The rules count nothing here any more. */
function dropCounts(batch: Batch, entry: LoadedLicense, undo: Undo[]): void {
  if (entry.counts === null) return;
  batch.savepoint.set();
  undo.push(rememberEntry(batch.licenses, entry));
  forgetCounts(entry);
  entry.isTouched = true;
  batch.isChanged = true;
}

const TAKING: ReadonlySet<LicenseCommand['kind']> = new Set(['register', 'borrow', 'register_feature']);

export function loadCollected(batch: Batch, entry: LoadedLicense): LicenseView {
  const command = { kind: 'collect', licenseId: entry.license.id } as const;
  return loadView(batch, entry, command, subjectOf(command));
}

/** A heartbeat from where the slot is counted changes no count. */
function isPlainRenewal(
  { statements, now }: Batch,
  entries: readonly LoadedLicense[],
  command: Register,
): boolean {
  const renewable = entries.flatMap(({ license }) => {
    if (refuseRenewal(license, now) !== null) return [];
    return orNoSlot(findRegistration(statements, license.id, command.user), now) ?? [];
  });
  const isSame = (held: Registration) => isSameHolder(slotOf(held, holderFacts(command, held), held), held);
  return renewable.length > 0 && renewable.every(isSame);
}
