import { z } from 'zod';
import { described } from '../fields.ts';
import { WAIT_REASONS } from './choices.ts';
import type { Operations } from './operation.ts';

const text = z.string().nullable();

const waitingUser = z
  .object({
    product: described(z.string(), 'The product code.'),
    feature: described(text, 'The feature; null for the license itself.'),
    user: described(z.string(), 'Who waits.'),
    os_hostname: described(text, 'The name of the host, as it was sent.'),
    address: described(text, 'The address of the connection.'),
    since: described(z.string(), 'Since when, UTC.'),
    waited_seconds: described(z.int(), 'For how long.'),
    position: described(z.int(), 'In the line for the same product or feature; 1 is next.'),
    why: described(
      z.enum(WAIT_REASONS),
      'What keeps the user from a slot, as of the last try: all are in use, reserved, or a limit is reached.',
    ),
    rule: described(text, 'The rule that reserves or limits; null if there is none.'),
    is_connected: described(z.boolean(), 'If not, the place is kept for a moment.'),
  })
  .meta({ id: 'WaitingUser', description: 'Somebody who waits for a slot.' });

export const LINE_API = {
  'GET /api/admin/line': {
    answer: z.object({
      waiting: described(z.int(), 'How many wait.'),
      line: described(z.array(waitingUser), 'The first 1000 of them, in the order of their turns.'),
    }),
  },
} as const satisfies Operations;
