import { WHOLE_LICENSE } from '../../../core/nouns/consumption.ts';
import type { Instant } from '../../../core/nouns/instant.ts';
import { isUsable } from '../../../core/nouns/license.ts';
import type { RuleCounts } from '../../rules-record.ts';
import { licenseFromRow } from '../rows.ts';
import type { RowOf } from '../tables.ts';
import type { CountedKind } from './slot-counts.ts';

/** What the rules count, as the row of a license stores it. */
export interface StoredCounts {
  readonly revision: number;
  /** By feature, then by groups. */
  readonly groups: readonly (readonly [string, readonly (readonly [string, number])[]])[];
  /** What is counted by place; see `PlaceCounts`. */
  readonly places: readonly CountedKind[];
}

/** Nothing of a license that cannot be used now. */
export function countsFromRow(row: RowOf<'license'>, now: Instant): readonly RuleCounts[] {
  const license = licenseFromRow(row);
  if (row.counts === null || !isUsable(license, now)) return [];
  const { revision, groups } = JSON.parse(row.counts) as StoredCounts;
  const held = new Map(groups.map(([feature, slots]) => [feature, new Map(slots)]));
  const slots = new Map([
    [WHOLE_LICENSE, license.slots] as const,
    ...license.features.map(({ code, floating }) => [code, floating?.slots ?? 0] as const),
  ]);
  return [{ product: row.product, revision, slots, held }];
}
