import { USAGE_API } from '@berth/protocol/admin/usage';
import { fileReply } from '@berth/web/reply';
import type { Offline } from '../../../services/offline/offline.ts';
import { actorOf } from '../../access/caller.ts';
import { adminRoutes } from '../../admin-route.ts';
import { toWire } from '../../reply/to-wire.ts';
import type { Route } from '../../route.ts';
import { wantsText } from '../v4/offline.ts';

export function usageRoutes(offline: Offline): readonly Route[] {
  return adminRoutes(USAGE_API, {
    'POST /api/admin/usage': {
      name: 'admin_usage',
      access: 'admin',
      summary: 'Create a file for the vendor with the consumption of licenses installed from files',
      textToo: 'the file',
      handle: async ({ request, caller }, send) => {
        const made = await offline.writeUsage(actorOf(caller));
        return wantsText(request) ? fileReply(made.usageData, made.fileName) : send(toWire(made));
      },
    },
  });
}
