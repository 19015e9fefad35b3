import { MINUTE_MS } from '../core/nouns/instant.ts';
import type { RuleBook, RulesNotice } from '../services/rules/rule-book.ts';
import type { Log } from '../telemetry/log.ts';
import { createLoop, type Loop } from './loop.ts';

/** A new version is applied when a second read confirms it: after at most half a second. */
const LOOK_INTERVAL_MS = 250;

/** Applies changes of the rules file without affecting running requests. */
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
      // Do not log the same error twice a second.
      if (!isFailing) log.warn({ error: String(error) }, 'the rules could not be stored; retrying');
      isFailing = true;
    },
  });
}

const SAMPLE_INTERVAL_MS = MINUTE_MS;

/** Notes how much of what is reserved is kept free. */
export function createReservationSampler(ruleBook: RuleBook, log: Log): Loop {
  return createLoop({
    intervalMs: SAMPLE_INTERVAL_MS,
    work: () => ruleBook.sampleReservations(),
    onError: (error) => log.warn({ error: String(error) }, 'the use of reservations could not be noted'),
  });
}

const GROUPS_INTERVAL_MS = MINUTE_MS;

/** Asks the directory who is in the groups of the rules. */
export function createGroupRefresher(ruleBook: RuleBook, log: Log): Loop {
  let told = '';
  return createLoop({
    intervalMs: GROUPS_INTERVAL_MS,
    async work() {
      const { revision, problems } = await ruleBook.refreshGroups();
      if (revision > 0) log.info({ revision }, 'members of groups in the rules have changed');
      // Do not log the same problem every minute.
      if (problems.length > 0 && told !== problems.join())
        log.warn({ problems }, 'the last members of groups stay');
      told = problems.join();
    },
    onError: (error) => log.warn({ error: String(error) }, 'the members of groups could not be refreshed'),
  });
}

/** Logs changes of the file. */
export function describeRules(log: Log, notice: RulesNotice): void {
  if (notice.kind === 'taken') log.info({ revision: notice.revision }, 'the rules have changed');
  if (notice.kind === 'refused') {
    log.error({ reason: notice.reason }, 'the rules file is not valid; the rules in force stay');
  }
}
