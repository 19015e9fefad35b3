import type { RestoreView } from '../../core/clock/decide-restore.ts';
import { WHOLE_LICENSE } from '../../core/nouns/consumption.ts';
import type { EndedBorrow } from '../../core/nouns/ended-borrow.ts';
import type { Instant } from '../../core/nouns/instant.ts';
import type { LicenseId } from '../../core/nouns/license.ts';
import type { Registration } from '../../core/nouns/registration.ts';
import type { Batch } from './batch.ts';
import type { LoadedLicense } from './loaded-licenses.ts';
import { endedBorrowFromRow, featureSlotFromRow, registrationFromRow } from './rows.ts';
import type { RowOf } from './tables.ts';

/**
 * The licenses with ended borrows that may come back when the clock goes back to `to`. Three questions for
 * all licenses together: on PostgreSQL each one is a round trip to the database.
 */
export function listRestorable(batch: Batch, to: Instant): readonly RestoreView[] {
  const { statements, licenses, rules } = batch;
  const ended = groupByLicense(statements.listEndedBorrows.all(to));
  if (ended.size === 0) return [];
  const holders = groupByLicense(statements.listBorrowHolders.all(to));
  const featureSlots = groupByLicense(statements.listBorrowFeatureSlots.all(to));
  return [...licenses.entries()].flatMap((entry) => {
    const { license, storedInUse: inUse, removedAt } = entry;
    const borrows = (ended.get(license.id) ?? []).map(endedBorrowFromRow);
    if (borrows.length === 0) return [];
    const view: RestoreView = {
      license,
      isRemoved: removedAt !== null,
      rules,
      inUse,
      borrows,
      registrations: (holders.get(license.id) ?? []).map(registrationFromRow),
      featureSlots: (featureSlots.get(license.id) ?? []).map(featureSlotFromRow),
      elsewhere: listElsewhere(batch, entry, holders),
      featuresInUse: countFeatures(batch, entry, borrows),
    };
    return [view];
  });
}

function groupByLicense<R extends { readonly license_id: LicenseId }>(
  rows: readonly R[],
): Map<LicenseId, R[]> {
  return Map.groupBy(rows, (row) => row.license_id);
}

/** What the same users hold of other licenses of the product. */
function listElsewhere(
  { licenses }: Batch,
  { license }: LoadedLicense,
  holders: ReadonlyMap<LicenseId, readonly RowOf<'registration'>[]>,
): readonly Registration[] {
  const others = licenses.listByProduct(license.product).filter((other) => other.license.id !== license.id);
  return others.flatMap((other) => (holders.get(other.license.id) ?? []).map(registrationFromRow));
}

function countFeatures({ statements }: Batch, { meters }: LoadedLicense, borrows: readonly EndedBorrow[]) {
  const codes = new Set(borrows.map(({ feature }) => feature).filter((code) => code !== WHOLE_LICENSE));
  return new Map([...codes].map((code) => [code, meters.countInUse(statements, code)]));
}
