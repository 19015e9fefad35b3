import { z } from 'zod';
import type { Operations } from './operation.ts';

export const NO_ID = 'must be the id of an event, such as 12.0, or the number of a link, such as 12';

const eventsQuery = z.object({
  after: z
    .string({ error: NO_ID })
    .regex(/^\d{1,15}(\.\d{1,15})?$/, { error: NO_ID })
    .optional()
    .meta({
      pattern: '^\\d{1,15}(\\.\\d{1,15})?$',
      description: 'Continue after this event or link; by default only new events are sent.',
    }),
});

export const EVENT_API = {
  'GET /api/admin/events': { query: eventsQuery },
} as const satisfies Operations;
