import { z } from 'zod';
import { told } from '../fields.ts';
import { barObject } from './bars.ts';
import type { Operations } from './operation.ts';

const denyList = z.object({
  users: told(z.array(z.string()), 'By their names.'),
  hosts: told(z.array(z.string()), 'By the names of their hosts.'),
  addresses: told(z.array(z.string()), 'By their addresses.'),
});

const rulesObject = z.object({
  file: told(z.string(), 'The rules file.'),
  deny: told(denyList, 'Whom the rules of the file bar now.'),
  bars: told(z.array(barObject), 'Who else is barred, by commands.'),
  digest: told(z.string(), 'A digest of the rules of the file, which is also in the audit log.'),
  changed_at: told(z.string().nullable(), 'Since when they apply, UTC; null if there have never been any.'),
  error: told(z.string().nullable(), 'Why the current file is not valid.'),
});

export const RULE_API = {
  'GET /api/admin/rules': { answer: rulesObject },
} as const satisfies Operations;
