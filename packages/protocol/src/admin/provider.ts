import { z } from 'zod';
import { described } from '../fields.ts';
import type { Operations } from './operation.ts';

/** Signing in with the provider of the company. */
export const PROVIDER_API = {
  'POST /api/admin/session/provider': {
    body: z.object({
      page: described(z.string().optional(), 'The address of the page, to which the browser comes back.'),
      answer: described(z.string().optional(), 'The query with which it came back; without it, it leaves.'),
      anew: described(
        z.boolean({ error: 'must be true or false' }).optional(),
        'Whether the provider has to ask who it is, even if it still knows, to confirm an operation.',
      ),
    }),
    required: ['page'],
    answer: z.object({
      url: described(z.string().nullable(), 'Where the browser goes; null: it is signed in.'),
    }),
  },
} as const satisfies Operations;
