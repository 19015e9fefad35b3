import type { Bar } from '../core/nouns/bar.ts';
import type { Instant } from '../core/nouns/instant.ts';
import type { WrittenRules } from '../core/rules/directory-groups.ts';
import type { Rules } from '../core/rules/rules.ts';

export interface BarRecord extends Bar {
  readonly by: string;
  readonly at: Instant;
}

/** The rules in force. */
export interface RulesRecord {
  readonly rules: Rules;
  /** `null`: there have never been any. */
  readonly applied: RulesRevision | null;
}

/** What the rules count of a license. */
export interface RuleCounts {
  readonly product: string;
  /** Of the rules that it was counted for. */
  readonly revision: number;
  /** Slots that there are, by feature. */
  readonly slots: ReadonlyMap<string, number>;
  /** Those that are held, by feature and groups; the feature is empty for the license itself. */
  readonly held: ReadonlyMap<string, ReadonlyMap<string, number>>;
}

/** What a rule has done. */
export interface RuleHistory {
  readonly product: string;
  readonly feature: string;
  readonly rule: string;
  readonly refused: number;
  /** Of a reservation: for how many minutes it applied, and in their sum, slots reserved and unused. */
  readonly minutes: number;
  readonly reserved: number;
  readonly unused: number;
  /** Of a reservation: the first day of that time on which it applied; `null`: none. */
  readonly firstAt: Instant | null;
}

/** A version of the rules. */
export interface RulesRevision extends WrittenRules {
  readonly revision: number;
  readonly by: string;
  readonly at: Instant;
}
