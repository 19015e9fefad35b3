import type { Rules } from '../core/rules/rules.ts';
import type { RuleBook, RulesNotice } from '../services/access/rule-book.ts';
import type { Log } from '../telemetry/log.ts';
import { createLoop, type Loop } from './loop.ts';

/** A new version is taken at the second look that finds it: after half a second at the latest. */
const LOOK_INTERVAL_MS = 250;

/** Takes the rules file whenever somebody has changed it. Nobody who is being served notices. */
export function createRulesLoop(ruleBook: RuleBook, log: Log): Loop {
  let isFailing = false;
  return createLoop({
    intervalMs: LOOK_INTERVAL_MS,
    async work() {
      const notice = await ruleBook.refresh();
      isFailing = false;
      if (notice !== null) describeRules(log, notice);
    },
    onError(error) {
      // Twice a second is too often to say the same.
      if (!isFailing) log.warn({ error: String(error) }, 'the rules could not be stored; it is tried again');
      isFailing = true;
    },
  });
}

/** Says what became of the file; the names of those who are barred are not for the log. */
export function describeRules(log: Log, notice: RulesNotice): void {
  if (notice.kind === 'taken') log.info(countOf(notice.rules), 'other rules are in force now');
  if (notice.kind === 'refused') {
    log.error({ reason: notice.reason }, 'the rules file was not taken; the rules in force stay');
  }
}

function countOf({ deny: { users, hosts, addresses } }: Rules) {
  return { users: users.length, hosts: hosts.length, addresses: addresses.length };
}
