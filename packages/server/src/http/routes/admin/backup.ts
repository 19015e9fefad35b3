import { secret, told } from '@berth/protocol/fields';
import { z } from 'zod';
import type { Backups } from '../../../services/upkeep/backups.ts';
import { actorOf } from '../../access/caller.ts';
import { defineRoute, type Route } from '../../route.ts';

const date = z.string().nullable();

export const backupStatus = z
  .object({
    last_at: told(date, 'When the last backup was made, UTC.'),
    last_file: told(z.string().nullable(), 'The newest file of the schedule.'),
    due_at: told(date, 'When the next one is due, UTC; null without a schedule, or if none was made yet.'),
    failing_at: told(date, 'Since when the schedule fails, UTC.'),
    error: told(z.string().nullable(), 'Why, if it failed since the start of the server.'),
  })
  .meta({ id: 'BackupStatus', description: 'The last backup.' });

export function backupRoutes({ backups }: { readonly backups: Backups }): readonly Route[] {
  return [
    defineRoute({
      name: 'admin_backup',
      methods: ['POST'],
      paths: ['/api/admin/backup'],
      access: 'admin',
      takesPassword: true,
      summary: 'A backup of all data, made while the server works',
      body: z.object({
        passphrase: told(secret, 'Includes the master key, sealed with this; at least 12 characters.'),
      }),
      answer: { kind: 'bytes', about: 'One file, for "berth restore". It ends with its own checksum.' },
      errors: ['validation_error', 'too_many_requests'],
      handle: async ({ body, caller, request }) => ({
        status: 200,
        type: 'bytes',
        body: await backups.send(body.passphrase ?? null, actorOf(caller), request.signal),
      }),
    }),
  ];
}
