import type { SystemDecision } from '../decision.ts';
import { isSameRules, type Rules } from '../rules/rules.ts';
import type { SetRules } from '../system-command.ts';

/** The audit tells how many are denied, and by the digest which rules they were: names may be many. */
export function decideSetRules({ rules, digest, by }: SetRules, inForce: Rules): SystemDecision {
  if (isSameRules(rules, inForce)) return { outcome: { kind: 'done', count: 0 }, changes: [], events: [] };
  const { users, hosts, addresses } = rules.deny;
  const counts = { users: users.length, hosts: hosts.length, addresses: addresses.length };
  return {
    outcome: { kind: 'done', count: 1 },
    changes: [{ kind: 'put_rules', rules }],
    events: [{ kind: 'rules_changed', ...counts, digest, by }],
  };
}
