import { unchanged } from '../decision.ts';
import { nameOf } from '../nouns/actor.ts';
import { findSameBar, MAX_BARS } from '../nouns/bar.ts';
import { refuse } from '../outcome.ts';
import { isSameRules } from '../rules/rules.ts';
import type { AddBar, RemoveBar, SetRules } from '../system-command.ts';
import { ON_SERVER, type SystemFacts, type SystemModule } from '../system-module.ts';

/** The audit log has the number of rules and their digest, because there may be many names. */
export const setRules = {
  ...ON_SERVER,

  decide({ rules, digest, by }, facts: Pick<SystemFacts, 'rules'>) {
    if (isSameRules(rules, facts.rules)) return unchanged();
    const { users, hosts, addresses } = rules.deny;
    const counts = { users: users.length, hosts: hosts.length, addresses: addresses.length };
    return {
      outcome: { kind: 'done', count: 1 },
      changes: [{ kind: 'put_rules', rules }],
      events: [{ kind: 'rules_changed', ...counts, digest, by }],
    };
  },
} satisfies SystemModule<SetRules>;

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
