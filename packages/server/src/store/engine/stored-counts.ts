import type { Instant } from '../../core/nouns/instant.ts';
import { isUsable } from '../../core/nouns/license.ts';
import type { RuleCounts } from '../query.ts';
import { licenseFromRow } from './rows.ts';
import type { RowOf } from './tables.ts';

/** What the rules count, as the row of a license stores it. */
export interface StoredCounts {
  readonly revision: number;
  /** By feature, then by groups. */
  readonly groups: readonly (readonly [string, readonly (readonly [string, number])[]])[];
}

/** Nothing of a license that cannot be used now. */
export function countsFromRow(row: RowOf<'license'>, now: Instant): readonly RuleCounts[] {
  if (row.counts === null || !isUsable(licenseFromRow(row), now)) return [];
  const { revision, groups } = JSON.parse(row.counts) as StoredCounts;
  const held = new Map(groups.map(([feature, slots]) => [feature, new Map(slots)]));
  return [{ product: row.product, revision, held }];
}
