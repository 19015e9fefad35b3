import { BACKUP_API } from '@berth/protocol/admin/backup';
import type { Backups } from '../../../services/backups/backups.ts';
import { adminRoutes } from '../../admin-route.ts';
import { toWire } from '../../reply/to-wire.ts';
import type { Route } from '../../route.ts';

const MAX_LISTED = 50;

export function backupRoutes({ backups }: { readonly backups: Backups }): readonly Route[] {
  return adminRoutes(BACKUP_API, {
    'GET /api/admin/backups': {
      name: 'admin_backups',
      access: 'viewer',
      summary: 'The scheduled backups that are kept, and what restoring them takes',
      handle: (_, send) => send(toWire(backups.list(MAX_LISTED))),
    },
    'POST /api/admin/backup': {
      name: 'admin_backup',
      access: 'admin',
      takesPassword: true,
      // Without a passphrase, it is worth nothing to whoever lacks the master key.
      mustConfirm: ({ body }) => body.passphrase !== undefined,
      summary: 'A backup of all data, made while the server works',
      answer: { kind: 'bytes', about: 'One file, for "berth restore". It ends with its own checksum.' },
      errors: ['too_many_requests'],
      handle: async ({ body, caller, request }) => ({
        status: 200,
        type: 'bytes',
        body: await backups.send(body.passphrase ?? null, caller.actor, request.signal),
      }),
    },
  });
}
