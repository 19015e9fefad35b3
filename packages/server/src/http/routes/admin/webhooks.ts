import { WEBHOOK_API } from '@berth/protocol/admin/channels';
import type { Webhooks } from '../../../services/events/webhooks.ts';
import { adminRoutes } from '../../admin-route.ts';
import { toWire } from '../../reply/to-wire.ts';
import type { Route } from '../../route.ts';

export function webhookRoutes(webhooks: Webhooks): readonly Route[] {
  return adminRoutes(WEBHOOK_API, {
    'POST /api/admin/webhooks/test': {
      name: 'admin_webhook_test',
      access: 'admin',
      summary: 'Send a test event to the webhook, and say what became of it',
      errors: ['webhook_not_set'],
      handle: async ({ caller }, send) => send(toWire(await webhooks.test(caller.actor))),
    },
    'POST /api/admin/webhooks/secret': {
      name: 'admin_webhook_secret',
      access: 'admin',
      summary: 'Make a new secret that signs events for the webhook; the old one no longer does',
      handle: async ({ caller }, send) => send({ secret: await webhooks.makeSecret(caller.actor) }),
    },
  });
}
