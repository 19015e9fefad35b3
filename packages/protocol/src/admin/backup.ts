import { z } from 'zod';
import { described, secret } from '../fields.ts';
import type { Operations } from './operation.ts';

const date = z.string().nullable();

export const backupStatus = z
  .object({
    last_at: described(date, 'When the last backup was made, UTC.'),
    last_file: described(z.string().nullable(), 'The newest file of the schedule.'),
    due_at: described(
      date,
      'When the next one is due, UTC; null without a schedule, or if none was made yet.',
    ),
    failing_at: described(date, 'Since when the schedule fails, UTC.'),
    error: described(z.string().nullable(), 'Why, if it failed since the start of the server.'),
  })
  .meta({ id: 'BackupStatus', description: 'The last backup.' });

export const BACKUP_API = {
  'POST /api/admin/backup': {
    body: z.object({
      passphrase: described(secret, 'Includes the master key, sealed with this; at least 12 characters.'),
    }),
  },
} as const satisfies Operations;
