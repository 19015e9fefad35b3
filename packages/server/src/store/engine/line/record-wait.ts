import { endOfPresence, isGone, type Place } from '../../../core/lending/waiting-line.ts';
import { WHOLE_LICENSE } from '../../../core/nouns/consumption.ts';
import { findFeature } from '../../../core/nouns/feature-slot.ts';
import { isUsable, type LicenseId } from '../../../core/nouns/license.ts';
import type { Batch } from '../batch.ts';
import type { LoadedLicense } from '../loaded-licenses.ts';

/**
 * Adds to the history that a user no longer waits. It is called when a place gets its slot or leaves the
 * line, so each wait is recorded once: one that got a slot no longer waits when its place goes. `lender`: the
 * license that has lent the slot; `null`: none has. A wait for a license that was removed is not recorded.
 */
export function recordWait(batch: Batch, place: Place, lender: LicenseId | null): void {
  const { licenses, line, now } = batch;
  if (place.lentBy !== null) return;
  const isServed = lender !== null && !isGone(place, now);
  const at = isServed ? now : endOfPresence(place, now);
  const entry = isServed ? licenses.find(lender) : findAsked(batch, place);
  if (at === null || entry === undefined) return;
  const waitedMs = Math.max(0, at - place.since);
  const { history } = entry;
  const length = history.length;
  line.onUndo(() => {
    history.length = Math.min(history.length, length);
  });
  history.push({ kind: 'waited', feature: place.feature, at, waitedMs, isServed });
  entry.isTouched = true;
  batch.isChanged = true;
}

/** The license that a denial would be recorded on: the newest that can be used, or else the newest. */
function findAsked(
  { licenses, now }: Batch,
  { product, feature, command }: Place,
): LoadedLicense | undefined {
  const { licenseId } = command;
  const wanted = licenses
    .listByProduct(product)
    .filter(({ license }) => licenseId === null || license.id === licenseId)
    .filter(({ license }) => feature === WHOLE_LICENSE || findFeature(license, feature) !== undefined);
  return wanted.find(({ license }) => isUsable(license, now)) ?? wanted[0];
}
