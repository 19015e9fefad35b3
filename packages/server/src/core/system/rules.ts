import { diffLines } from '@berth/protocol/diff-lines';
import { unchanged } from '../decision.ts';
import { nameOf } from '../nouns/actor.ts';
import { findSameBar, MAX_BARS } from '../nouns/bar.ts';
import { refuse } from '../outcome.ts';
import type { AddBar, RemoveBar, SampleReservations, SetRules } from '../system-command.ts';
import { ON_SERVER, type SystemFacts, type SystemModule } from '../system-module.ts';

/** `count` of the outcome is the new revision; 0: the text was in force already. */
export const setRules = {
  ...ON_SERVER,
  needs: () => ({ rulesText: true }) as const,

  decide({ text, rules, basedOn, by }, facts: Pick<SystemFacts, 'rules' | 'rulesText'>) {
    const { revision: before } = facts.rules;
    if (text === facts.rulesText) return unchanged();
    if (basedOn !== undefined && basedOn !== before) return unchanged(refuseChanged(basedOn, before));
    const revision = before + 1;
    const diff = cutDiff(diffLines(facts.rulesText ?? '', text));
    return {
      outcome: { kind: 'done', count: revision },
      changes: [{ kind: 'put_rules', rules, revision, text, by: nameOf(by) }],
      events: [{ kind: 'rules_changed', revision, diff, by }],
    };
  },
} satisfies SystemModule<SetRules>;

function refuseChanged(basedOn: number, revision: number) {
  return refuse(
    'rules_changed',
    `Revision ${basedOn} was edited, but meanwhile revision ${revision} was applied. Nothing was changed. ` +
      'Compare both, and apply again.',
    { revision },
  );
}

export const sampleReservations = {
  ...ON_SERVER,
  decide: ({ samples }) => ({
    outcome: { kind: 'done', count: samples.length },
    changes: [{ kind: 'add_reservation_samples', samples }],
    events: [],
  }),
} satisfies SystemModule<SampleReservations>;

type BarFacts = Pick<SystemFacts, 'rules'>;

/** The same bar again changes nothing, unless it comes with another note. */
export const addBar = {
  ...ON_SERVER,

  decide({ bar, by }, { rules: { bars } }: BarFacts) {
    const known = findSameBar(bars, bar);
    if (known !== undefined && (bar.note === null || bar.note === known.note)) return unchanged();
    if (known === undefined && bars.length >= MAX_BARS) return unchanged(refuseMore());
    const kept = { ...bar, pattern: known?.pattern ?? bar.pattern };
    return {
      outcome: { kind: 'done', count: 1 },
      changes: [{ kind: 'put_bar', bar: kept, by: nameOf(by) }],
      events: [{ kind: 'bar_added', ...describe(kept), note: kept.note, by }],
    };
  },
} satisfies SystemModule<AddBar>;

/** Removing an unknown bar changes nothing. */
export const removeBar = {
  ...ON_SERVER,

  decide({ bar, by }, { rules: { bars } }: BarFacts) {
    const known = findSameBar(bars, bar);
    if (known === undefined) return unchanged();
    return {
      outcome: { kind: 'done', count: 1 },
      changes: [{ kind: 'remove_bar', bar: known }],
      events: [{ kind: 'bar_removed', ...describe(known), by }],
    };
  },
} satisfies SystemModule<RemoveBar>;

function describe({ kind, pattern }: RemoveBar['bar']) {
  return { barred: kind, pattern };
}

function refuseMore() {
  return refuse(
    'too_many_bars',
    `There are ${MAX_BARS} bars already, which is the most. Use a pattern with "*", or the rules file.`,
  );
}

/** For the audit log, which need not repeat the whole text: the changed lines, at most this many. */
const MOST_CHANGED = 200;
/** A whole text may be in one line. */
const LONGEST_LINE = 500;

function cutDiff(lines: readonly string[]): readonly string[] {
  const changed = lines.filter((line) => !line.startsWith(' ')).map(cutLine);
  const left = changed.length - MOST_CHANGED;
  return left <= 0 ? changed : [...changed.slice(0, MOST_CHANGED), `… and ${left} more lines`];
}

function cutLine(line: string): string {
  return line.length <= LONGEST_LINE ? line : `${line.slice(0, LONGEST_LINE)}…`;
}
