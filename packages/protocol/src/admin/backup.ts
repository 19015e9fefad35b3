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
    is_key_kept: described(
      z.boolean(),
      'Whether the master key is kept outside the data folder: in its own place, an export or a backup.',
    ),
  })
  .meta({ id: 'BackupStatus', description: 'The last backup.' });

const keptBackup = z
  .object({
    file: described(z.string(), 'Its path.'),
    bytes: described(z.int(), 'Its size.'),
    made_at: described(date, 'When it was made, UTC.'),
    with_key: described(
      z.boolean().nullable(),
      'Whether a passphrase restores it on its own; otherwise it needs the master key; null: it is damaged.',
    ),
  })
  .meta({ id: 'KeptBackup', description: 'A backup of the schedule.' });

export const BACKUP_API = {
  'GET /api/admin/backups': {
    answer: z.object({
      folder: described(z.string(), 'Where scheduled backups are.'),
      backups: described(z.array(keptBackup), 'The newest 50 of the schedule on this server, newest first.'),
    }),
  },
  'POST /api/admin/backup': {
    body: z.object({
      passphrase: described(secret, 'Includes the master key, sealed with this; at least 12 characters.'),
    }),
  },
} as const satisfies Operations;
