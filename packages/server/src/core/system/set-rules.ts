import { unchanged } from '../decision.ts';
import { isSameRules } from '../rules/rules.ts';
import type { SetRules } from '../system-command.ts';
import { ON_SERVER, type SystemFacts, type SystemModule } from '../system-module.ts';

/** The audit log tells how many are denied, and which rules by their digest: there may be many names. */
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
