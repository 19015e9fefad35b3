import { WHOLE_LICENSE } from '../../../core/nouns/consumption.ts';
import type { Instant } from '../../../core/nouns/instant.ts';
import { isUsable } from '../../../core/nouns/license.ts';
import type { RuleCounts } from '../../rules-record.ts';
import { licenseFromRow } from '../rows.ts';
import type { RowOf } from '../tables.ts';
import type { CountedKind } from './place-counts.ts';

/** What the rules count, as the row of a license stores it behind the revision of the rules. */
interface StoredCounts {
  /** By feature, then by groups. */
  readonly groups: readonly (readonly [string, readonly (readonly [string, number])[]])[];
  /** What is counted by place; see `PlaceCounts`. */
  readonly places: readonly CountedKind[];
}

export function writeCounts(revision: number, counts: StoredCounts): string {
  return `${revision} ${JSON.stringify(counts)}`;
}

/** A heartbeat needs only the revision. */
export function readRevision(stored: string): number {
  return Number.parseInt(stored, 10);
}

export function readCounts(stored: string): StoredCounts {
  return JSON.parse(stored.slice(stored.indexOf(' '))) as StoredCounts;
}

/** Nothing of a license that cannot be used now. */
export function countsFromRow(row: RowOf<'license'>, now: Instant): readonly RuleCounts[] {
  const license = licenseFromRow(row);
  if (row.counts === null || !isUsable(license, now)) return [];
  const { groups } = readCounts(row.counts);
  const held = new Map(groups.map(([feature, slots]) => [feature, new Map(slots)]));
  const slots = new Map([
    [WHOLE_LICENSE, license.slots] as const,
    ...license.features.map(({ code, floating }) => [code, floating?.slots ?? 0] as const),
  ]);
  return [{ product: row.product, revision: readRevision(row.counts), slots, held }];
}
