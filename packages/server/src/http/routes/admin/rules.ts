import { RULE_API } from '@berth/protocol/admin/rules';
import type { RuleBook } from '../../../services/access/rule-book.ts';
import { adminRoutes } from '../../admin-route.ts';
import { toWire } from '../../reply/to-wire.ts';
import type { Route } from '../../route.ts';

export function ruleRoutes(ruleBook: RuleBook): readonly Route[] {
  return adminRoutes(RULE_API, {
    'GET /api/admin/rules': {
      name: 'admin_rules',
      access: 'operator',
      summary: 'Who is barred, and the state of the rules file',
      handle: async (_, send) => {
        const { rules, ...facts } = await ruleBook.describe();
        return send({ ...toWire(facts), deny: rules.deny });
      },
    },
  });
}
