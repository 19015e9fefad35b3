import { decideRestore, type Restoration } from '../../core/clock/decide-restore.ts';
import type { Actor } from '../../core/nouns/actor.ts';
import { WHOLE_LICENSE } from '../../core/nouns/consumption.ts';
import type { EndedBorrow } from '../../core/nouns/ended-borrow.ts';
import type { Instant } from '../../core/nouns/instant.ts';
import type { LicenseId } from '../../core/nouns/license.ts';
import type { Registration } from '../../core/nouns/registration.ts';
import type { Batch } from './execute-command.ts';
import { endedBorrowFromRow, featureSlotFromRow, registrationFromRow } from './rows.ts';
import type { ShelfEntry } from './shelf.ts';
import type { RowOf } from './tables.ts';

/** What becomes of the ended borrows of one license. */
export interface RestoredLicense {
  readonly entry: ShelfEntry;
  readonly restoration: Restoration;
}

/**
 * Decides which borrows come back when the clock goes back to `to`; nothing is written yet. Three questions
 * for all licenses together: on PostgreSQL each one is a way to the database and back.
 */
export function planRestoration(batch: Batch, to: Instant, by: Actor): readonly RestoredLicense[] {
  const { statements, shelf, rules, now } = batch;
  const ended = groupByLicense(statements.listEndedBorrows.all(to));
  if (ended.size === 0) return [];
  const holders = groupByLicense(statements.listBorrowHolders.all(to));
  const featureSlots = groupByLicense(statements.listBorrowFeatureSlots.all(to));
  return [...shelf.entries()].flatMap((entry) => {
    const { license, storedInUse: inUse, removedAt } = entry;
    const borrows = (ended.get(license.id) ?? []).map(endedBorrowFromRow);
    if (borrows.length === 0) return [];
    const elsewhere = listElsewhere(batch, entry, holders);
    const restoration = decideRestore(
      {
        license,
        isRemoved: removedAt !== null,
        rules,
        inUse,
        borrows: borrows.filter((borrow) => !isReplaced(borrow, elsewhere, now)),
        registrations: (holders.get(license.id) ?? []).map(registrationFromRow),
        featureSlots: (featureSlots.get(license.id) ?? []).map(featureSlotFromRow),
        featuresInUse: countFeatures(batch, entry, borrows),
      },
      to,
      by,
    );
    return [{ entry, restoration }];
  });
}

function groupByLicense<R extends { readonly license_id: LicenseId }>(
  rows: readonly R[],
): Map<LicenseId, R[]> {
  return Map.groupBy(rows, (row) => row.license_id);
}

/** What the same users hold of other licenses of the product. */
function listElsewhere(
  { shelf }: Batch,
  { license }: ShelfEntry,
  holders: ReadonlyMap<LicenseId, readonly RowOf<'registration'>[]>,
): readonly Registration[] {
  const others = shelf.listByProduct(license.product).filter((other) => other.license.id !== license.id);
  return others.flatMap((other) => (holders.get(other.license.id) ?? []).map(registrationFromRow));
}

/** After it had ended, the user borrowed another license of the product instead. */
function isReplaced(borrow: EndedBorrow, elsewhere: readonly Registration[], now: Instant): boolean {
  return elsewhere.some(
    ({ user, borrowedUntil, registeredAt }) =>
      user === borrow.user &&
      borrowedUntil !== null &&
      borrowedUntil > now &&
      registeredAt >= borrow.borrowedUntil,
  );
}

function countFeatures({ statements }: Batch, { meters }: ShelfEntry, borrows: readonly EndedBorrow[]) {
  const codes = new Set(borrows.map(({ feature }) => feature).filter((code) => code !== WHOLE_LICENSE));
  return new Map([...codes].map((code) => [code, meters.countInUse(statements, code)]));
}
