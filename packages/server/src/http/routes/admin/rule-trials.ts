import { RULE_TRIAL_API } from '@berth/protocol/admin/rules';
import { formatTimestamp } from '@berth/protocol/timestamp';
import type { RuleTrials } from '../../../services/rules/rule-trials.ts';
import { adminRoutes } from '../../admin-route.ts';
import { toWire } from '../../reply/to-wire.ts';
import type { Route } from '../../route.ts';

export function ruleTrialRoutes(trials: RuleTrials): readonly Route[] {
  return adminRoutes(RULE_TRIAL_API, {
    'POST /api/admin/rules/try': {
      name: 'admin_rules_try',
      access: 'viewer',
      summary: 'What rules would have answered to the requests of the last days',
      holdsFile: true,
      isLong: true,
      errors: ['rules_not_valid', 'directory_unavailable', 'too_many_requests'],
      handle: async ({ body, request, caller }, send) => {
        const { since, until, ...tried } = await trials.try(body.text, {
          since: body.since,
          signal: request.signal,
          mayAsk: caller.role === 'admin',
        });
        return send({ since: formatTimestamp(since), until: formatTimestamp(until), ...toWire(tried) });
      },
    },
    'GET /api/admin/rules/explain': {
      name: 'admin_rules_explain',
      access: 'viewer',
      summary: 'What somebody who asks for a slot would be answered now, and which rule decides',
      handle: async ({ query }, send) => send(await trials.explain(query)),
    },
  });
}
