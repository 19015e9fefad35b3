import { BAR_API } from '@berth/protocol/admin/bars';
import type { Bars } from '../../../services/rules/bars.ts';
import { adminRoutes } from '../../admin-route.ts';
import { toWire } from '../../reply/to-wire.ts';
import type { Route } from '../../route.ts';

export function barRoutes(bars: Bars): readonly Route[] {
  return adminRoutes(BAR_API, {
    'GET /api/admin/bars': {
      name: 'admin_bars',
      access: 'viewer',
      summary: 'Who is barred besides the rules file',
      handle: async (_, send) => send({ bars: (await bars.list()).map(toWire) }),
    },
    'POST /api/admin/bars': {
      name: 'admin_bar_add',
      access: 'admin',
      summary: 'Bar a user, a host or an address; they keep slots that they hold until those end',
      errors: ['too_many_bars'],
      handle: ({ body, caller }) => bars.add({ ...body, note: body.note ?? null }, caller.actor),
    },
    'POST /api/admin/bars/remove': {
      name: 'admin_bar_remove',
      access: 'admin',
      summary: 'Lift a bar; the rules file and other patterns may still bar them',
      handle: async ({ body: bar, caller }, send) => {
        const outcome = await bars.remove(bar, caller.actor);
        if (outcome.kind === 'refused') return outcome;
        const still = await bars.explain({ [bar.kind]: bar.pattern });
        return send({ removed: outcome.kind === 'done' ? outcome.count : 0, still_barred_by: still });
      },
    },
    'GET /api/admin/rules/why': {
      name: 'admin_rules_why',
      access: 'viewer',
      summary: 'Which bars, and entries of "deny" for all products, match a user, a host or an address',
      handle: async ({ query }, send) => send({ barred_by: await bars.explain(query) }),
    },
  });
}
