import { LINE_API } from '@berth/protocol/admin/line';
import { WHOLE_LICENSE } from '../../../core/nouns/consumption.ts';
import { SECOND_MS, say } from '../../../core/nouns/instant.ts';
import type { Lending } from '../../../services/lending/lending.ts';
import { adminRoutes } from '../../admin-route.ts';
import type { Route } from '../../route.ts';

export function lineRoutes(lending: Lending): readonly Route[] {
  return adminRoutes(LINE_API, {
    'GET /api/admin/line': {
      name: 'admin_line',
      access: 'viewer',
      isForProducts: true,
      summary: 'Who waits for a slot, in the order of their turns',
      handle: async (_, send) => {
        const { waiting, places, now } = await lending.listWaiting();
        return send({ waiting, line: places.map((place) => presentWaiting(place, now)) });
      },
    },
  });
}

type Line = Awaited<ReturnType<Lending['listWaiting']>>;

function presentWaiting({ since, ...place }: Line['places'][number], now: Line['now']) {
  const { product, feature, user, hostname, address, position, why, rule, isConnected } = place;
  return {
    product,
    feature: feature === WHOLE_LICENSE ? null : feature,
    user,
    os_hostname: hostname,
    address,
    since: say(since),
    waited_seconds: Math.floor((now - since) / SECOND_MS),
    position,
    why,
    rule,
    is_connected: isConnected,
  };
}
