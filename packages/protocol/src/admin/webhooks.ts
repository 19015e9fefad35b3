import { z } from 'zod';
import { described } from '../fields.ts';
import type { Operations } from './operation.ts';

export const WEBHOOK_API = {
  'POST /api/admin/webhooks/test': {
    answer: z.object({
      delivered: described(z.boolean(), 'Whether the receiver has taken the event.'),
      status: described(z.int().nullable(), 'The HTTP status of its answer; null: there was none.'),
      duration_ms: described(z.int(), 'How long it took.'),
      error: described(z.string().nullable(), 'What went wrong, in a sentence.'),
    }),
  },
  'POST /api/admin/webhooks/secret': {
    answer: z.object({ secret: described(z.string(), 'The new secret. It is not shown again.') }),
  },
} as const satisfies Operations;
