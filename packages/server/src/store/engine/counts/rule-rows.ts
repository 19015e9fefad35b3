import type { GroupAge, WrittenRules } from '../../../core/rules/directory-groups.ts';
import type { RuleSet } from '../../../core/rules/rule-set.ts';
import { NO_RULES, orNoRules, type Rules } from '../../../core/rules/rules.ts';
import type { BarRecord, RulesRevision } from '../../rules-record.ts';
import type { RowOf } from '../tables.ts';

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

export function revisionFromRow(row: Omit<RowOf<'rules_revision'>, 'rules'>): RulesRevision {
  const { revision, text, written_in: writtenIn, applied_by: by, applied_at: at } = row;
  return { revision, text, writtenIn, ages: JSON.parse(row.group_ages) as readonly GroupAge[], by, at };
}

export function writtenFromRow(row: RowOf<'rules_revision'> | undefined): WrittenRules | null {
  return row === undefined ? null : revisionFromRow(row);
}

export function barFromRow({ kind, pattern, note, added_by: by, added_at: at }: RowOf<'bar'>): BarRecord {
  return { kind, pattern, note, by, at };
}
