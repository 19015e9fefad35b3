import type { LicenseCommand } from '../../../core/command.ts';
import type { Subject } from '../../../core/command-module.ts';
import { countFeatureInUse, countInUse } from '../../../core/lending/collect.ts';
import type { Place } from '../../../core/lending/waiting-line.ts';
import { WHOLE_LICENSE } from '../../../core/nouns/consumption.ts';
import { findFeature, isFeatureExpired, isFloating } from '../../../core/nouns/feature-slot.ts';
import { bucketStart, type Instant, MINUTE_MS, plus } from '../../../core/nouns/instant.ts';
import { isUsable, type LicenseId } from '../../../core/nouns/license.ts';
import type { PlaceKey } from '../../../core/outcome.ts';
import { findProductRules } from '../../../core/rules/find-rules.ts';
import { NO_RULES } from '../../../core/rules/rules.ts';
import type { LicenseView } from '../../../core/view.ts';
import type { Batch } from '../batch.ts';
import { loadView } from '../load/load-view.ts';
import type { LoadedLicense } from '../loaded-licenses.ts';

type Wanted = Omit<PlaceKey, 'user'>;

/** How many slots are free, by license; those without any are left out. */
export type Room = ReadonlyMap<LicenseId, number>;

/** What those in a row of the line can get now, by counts alone. */
export function findRoom(batch: Batch, { product, feature }: Wanted): Room {
  const room = new Map<LicenseId, number>();
  for (const entry of batch.licenses.listByProduct(product)) {
    if (!isUsable(entry.license, batch.now)) continue;
    const free =
      feature === WHOLE_LICENSE ? countFree(batch, entry) : countFreeFeature(batch, entry, feature);
    if (free > 0) room.set(entry.license.id, free);
  }
  return room;
}

/** Whether a slot is free that the user may have. */
export function canBeServed({ command: { licenseId } }: Place, room: Room): boolean {
  return licenseId === null ? room.size > 0 : room.has(licenseId);
}

function countFree(batch: Batch, entry: LoadedLicense): number {
  const { slots } = entry.license;
  // Most commands free nothing, and then there is nothing to read.
  if (entry.storedInUse >= slots && batch.now < entry.noEndBefore) return 0;
  return slots - countInUse(viewOf(batch, entry));
}

function countFreeFeature(batch: Batch, entry: LoadedLicense, code: string): number {
  const { license } = entry;
  const feature = findFeature(license, code);
  if (feature === undefined || !isFloating(feature) || isFeatureExpired(feature, batch.now)) return 0;
  return feature.floating.slots - countFeatureInUse(viewOf(batch, entry, code), code);
}

const NONE: readonly never[] = [];

/** The facts of a license without those of a user. */
function viewOf(batch: Batch, entry: LoadedLicense, feature?: string): LicenseView {
  const { id: licenseId } = entry.license;
  const subject: Subject = { product: null, licenseId, user: null, holder: null, users: NONE, answer: null };
  const command: LicenseCommand =
    feature === undefined
      ? { kind: 'collect', licenseId }
      : { kind: 'register_feature', product: null, licenseId, user: '', feature, until: null };
  return loadView(batch, entry, command, subject);
}

/** What decides who can be served: while it is the same, nobody need be tried again. */
export function describeRoom(batch: Batch, { product, feature }: Wanted, room: Room): string {
  // A feature goes with a slot of its license.
  const lent =
    feature === WHOLE_LICENSE
      ? []
      : batch.licenses.listByProduct(product).map((entry) => countInUse(viewOf(batch, entry)));
  const free = [...room, ...lent];
  if (batch.rules === NO_RULES) return JSON.stringify(free);
  const counts = batch.licenses.listByProduct(product).map((entry) => entry.counts?.describe(feature));
  return JSON.stringify([free, batch.rules.revision, counts, findNextMinute(batch, product)]);
}

/** When rules of the product may begin or end to apply; `null`: all of them always do. */
export function findNextMinute({ rules, now }: Batch, product: string): Instant | null {
  const own = findProductRules(rules.set, product);
  if (own === null) return null;
  const parts = [own, ...Object.values(own.features)];
  const timed = [...own.priority, ...parts.flatMap(({ reserve, limit }) => [...reserve, ...limit])];
  if (timed.every(({ during }) => during === null)) return null;
  return plus(bucketStart(now, MINUTE_MS), MINUTE_MS);
}

/** When the next slot that somebody waits for ends by itself; `null`: none does. */
export function findNextEnd(batch: Batch, { product, feature }: Wanted): Instant | null {
  const ends = batch.licenses.listByProduct(product).flatMap((entry) => {
    const view = viewOf(batch, entry, feature === WHOLE_LICENSE ? undefined : feature);
    const own = feature === WHOLE_LICENSE ? null : view.findNextFeatureEnd();
    return [view.findNextEnd(), own].filter((end) => end !== null);
  });
  return ends.length === 0 ? null : (Math.min(...ends) as Instant);
}
