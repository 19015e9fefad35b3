import { diffLines } from '@berth/protocol/diff-lines';
import { unchanged } from '../decision.ts';
import { nameOf } from '../nouns/actor.ts';
import type { SystemEventOf } from '../nouns/audit-event.ts';
import { findSameBar, MAX_BARS } from '../nouns/bar.ts';
import { refuse } from '../outcome.ts';
import { listDirectoryGroups, listMemberChanges, membersOf, withMembers } from '../rules/directory-groups.ts';
import type { RuleSet } from '../rules/rule-set.ts';
import type { AddBar, RefreshGroups, RemoveBar, SampleReservations, SetRules } from '../system-command.ts';
import { ON_SERVER, type SystemFacts, type SystemModule } from '../system-module.ts';

/** `count` of the outcome is the new revision; 0: the text was in force already. */
export const setRules = {
  ...ON_SERVER,
  needs: () => ({ written: true }) as const,

  decide({ text, rules: given, basedOn, by }, { rules, written }: WrittenFacts, now) {
    const { set, revision: before } = rules;
    const { text: earlier, writtenIn, ages: known } = written ?? NEVER_WRITTEN;
    if (text === written?.text) return unchanged();
    if (basedOn !== undefined && (basedOn < writtenIn || basedOn > before)) {
      return unchanged(refuseChanged(basedOn, before));
    }
    const revision = before + 1;
    // Those in force may have been refreshed since the directory was asked.
    const filled = withMembers(given, membersOf(set));
    const ages = listDirectoryGroups(filled).map(
      (dn) => known.find((one) => one.dn === dn) ?? { dn, answeredAt: now, problem: null },
    );
    const diff = cutDiff(diffLines(earlier, text));
    return {
      outcome: { kind: 'done', count: revision },
      changes: [
        { kind: 'put_rules', rules: filled, revision, text, writtenIn: revision, ages, by: nameOf(by) },
      ],
      events: [{ kind: 'rules_changed', revision, diff, by }, ...describeMembers(set, filled, revision)],
    };
  },
} satisfies SystemModule<SetRules>;

type WrittenFacts = Pick<SystemFacts, 'rules' | 'written'>;

const NEVER_WRITTEN = { text: '', writtenIn: 0, ages: [] } as const;

const DIRECTORY = 'directory';

function describeMembers(
  before: RuleSet,
  after: RuleSet,
  revision: number,
): readonly SystemEventOf<'group_changed'>[] {
  const by = DIRECTORY;
  return listMemberChanges(before, after).map((one) => ({ kind: 'group_changed', revision, ...one, by }));
}

/**
 * Other members are another revision, so that every server decides with the same ones. What was asked for an
 * earlier revision is dropped, and asked again soon. `count` of the outcome is the new revision; 0: none.
 */
export const refreshGroups = {
  ...ON_SERVER,
  needs: () => ({ written: true }) as const,

  decide({ basedOn, answers }, { rules, written }: WrittenFacts, now) {
    const { set, revision: before } = rules;
    if (basedOn !== before || written === null) return unchanged();
    const found = new Map(answers.map((one) => [one.dn, one]));
    const ages = written.ages.map((age) => {
      const answer = found.get(age.dn);
      if (answer === undefined) return age;
      if ('problem' in answer) return { ...age, problem: answer.problem };
      return { ...age, answeredAt: now, problem: null };
    });
    const told = answers.flatMap((one) => ('members' in one ? [[one.dn, one.members] as const] : []));
    const filled = withMembers(set, new Map(told));
    const revision = before + 1;
    const events = describeMembers(set, filled, revision);
    if (events.length > 0) {
      const { text, writtenIn } = written;
      return {
        outcome: { kind: 'done', count: revision },
        changes: [{ kind: 'put_rules', rules: filled, revision, text, writtenIn, ages, by: DIRECTORY }],
        events,
      };
    }
    const isSame = JSON.stringify(ages) === JSON.stringify(written.ages);
    return {
      outcome: { kind: 'done', count: 0 },
      changes: isSame ? [] : [{ kind: 'put_group_ages', revision: before, ages }],
      events: [],
    };
  },
} satisfies SystemModule<RefreshGroups>;

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
