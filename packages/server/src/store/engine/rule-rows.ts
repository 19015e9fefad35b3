import { WHOLE_LICENSE } from '../../core/nouns/consumption.ts';
import type { Instant } from '../../core/nouns/instant.ts';
import { isUsable } from '../../core/nouns/license.ts';
import type { RuleSet } from '../../core/rules/rule-set.ts';
import { NO_RULES, orNoRules, type Rules } from '../../core/rules/rules.ts';
import type { BarRecord, RuleCounts, RulesRevision } from '../rules-record.ts';
import { licenseFromRow } from './rows.ts';
import type { RowOf } from './tables.ts';

/** `current`: the latest revision; left out if there has been none. */
export function rulesFromRows(
  current: Pick<RowOf<'rules_revision'>, 'revision' | 'rules'> | undefined,
  bars: readonly RowOf<'bar'>[],
): Rules {
  return orNoRules({
    set: current === undefined ? NO_RULES.set : (JSON.parse(current.rules) as RuleSet),
    revision: current?.revision ?? 0,
    bars: bars.map(({ kind, pattern, note }) => ({ kind, pattern, note })),
  });
}

/** What the rules count, as the row of a license stores it. */
export interface StoredCounts {
  readonly revision: number;
  /** By feature, then by groups. */
  readonly groups: readonly (readonly [string, readonly (readonly [string, number])[]])[];
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

export function revisionFromRow(row: RowOf<'rules_revision'>): RulesRevision {
  const { revision, text, applied_by: by, applied_at: at } = row;
  return { revision, text, by, at };
}

export function barFromRow({ kind, pattern, note, added_by: by, added_at: at }: RowOf<'bar'>): BarRecord {
  return { kind, pattern, note, by, at };
}
