import { usageAnswer } from '@berth/protocol/api/offline';
import type { Offline } from '../../../services/offline/offline.ts';
import { actorOf } from '../../access/caller.ts';
import { fileReply, json } from '../../reply/reply.ts';
import { toWire } from '../../reply/to-wire.ts';
import { defineRoute, type Route } from '../../route.ts';
import { wantsText } from '../v4/offline.ts';

export function usageRoutes(offline: Offline): readonly Route[] {
  return [
    defineRoute({
      name: 'admin_usage',
      methods: ['POST'],
      paths: ['/api/admin/usage'],
      access: 'admin',
      summary: 'Create a file for the vendor with the consumption of licenses installed from files',
      answer: { kind: 'json', schema: usageAnswer, textToo: 'the file' },
      errors: [],
      handle: async ({ request, caller }) => {
        const made = await offline.writeUsage(actorOf(caller));
        return wantsText(request) ? fileReply(made.usageData, made.fileName) : json(toWire(made));
      },
    }),
  ];
}
