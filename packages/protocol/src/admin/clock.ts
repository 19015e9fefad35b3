import { z } from 'zod';
import { described } from '../fields.ts';
import type { Operations } from './operation.ts';

const clockJump = z.object({
  direction: described(z.enum(['ahead', 'behind']), 'Which way the wall clock went.'),
  seen_at: described(z.string(), 'When it was seen, UTC.'),
  gap_ms: described(z.number(), 'How far it went.'),
});

const restJump = z.object({
  from: described(z.string(), 'When the server was stopped, UTC.'),
  to: described(z.string(), 'When it was started, UTC.'),
});

const endedBorrow = z
  .object({
    license_id: described(z.int(), 'The license.'),
    product: described(z.string(), 'Its product.'),
    feature: described(z.string().nullable(), "The feature; null for the license's own slot."),
    user: described(z.string(), 'Who borrowed it.'),
    borrowed_until: described(z.string(), 'Until when, UTC.'),
  })
  .meta({ id: 'EndedBorrow', description: 'A borrow that a wrong clock ended.' });

const lostBorrow = endedBorrow
  .extend({
    code: described(z.string(), 'The error code of the reason.'),
    reason: described(z.string(), 'Why it cannot be restored.'),
  })
  .meta({ id: 'LostBorrow', description: 'A borrow that a wrong clock ended and that cannot be restored.' });

const consent = z.boolean({ error: 'must be true or false' }).optional();

export const clockStatus = z
  .object({
    server_at: described(z.string(), "The server's time, UTC."),
    wall_at: described(z.string(), 'The time of the wall clock, UTC.'),
    ahead_ms: described(z.number(), "How far the server's time is ahead of the wall clock."),
    jump: described(clockJump.nullable(), 'A jump of the wall clock that has not been accepted.'),
    jump_at_start: described(restJump.nullable(), 'The time went far ahead while the server was stopped.'),
  })
  .meta({ id: 'Clock', description: "The server's time and the wall clock." });

export const CLOCK_API = {
  'GET /api/admin/clock': { answer: clockStatus },
  'POST /api/admin/clock/accept': { answer: clockStatus },
  'POST /api/admin/clock/reset': {
    body: z.object({
      dry_run: described(consent, 'Change nothing; only report what would happen.'),
      accept_losses: described(consent, 'Continue even if some borrows cannot be restored.'),
    }),
    answer: clockStatus.extend({
      restored: described(z.array(endedBorrow), 'Restored borrows.'),
      lost: described(z.array(lostBorrow), 'Borrows that cannot be restored, and why.'),
    }),
  },
} as const satisfies Operations;
