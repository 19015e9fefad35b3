import { z } from 'zod';
import { described, name, positiveInteger } from '../fields.ts';
import { ROLES } from './choices.ts';
import type { Operations } from './operation.ts';
import { productList, productsField, roleField } from './users.ts';

export const DEFAULT_TOKEN_DAYS = 365;

/** Ten years: longer than a token should live. */
const MAX_DAYS = 3650;

const days = z
  .union(
    [
      z.literal('never'),
      positiveInteger.refine((count) => count === undefined || count <= MAX_DAYS, {
        error: `must not be more than ${MAX_DAYS}`,
      }),
    ],
    { error: `must be "never", or a number of days from 1 to ${MAX_DAYS}` },
  )
  .optional()
  .meta({
    type: ['integer', 'string'],
    minimum: 1,
    maximum: MAX_DAYS,
    pattern: '^(never|0*([1-9]\\d{0,2}|[12]\\d{3}|3[0-5]\\d{2}|36[0-4]\\d|3650))$',
    description: `Days until it expires, or "never"; ${DEFAULT_TOKEN_DAYS} by default.`,
  });

const tokenObject = z
  .object({
    id: described(z.string(), 'The id of the token, which is not secret.'),
    kind: described(
      z.enum(['auth', 'session', 'api']),
      'From `/auth`, of a browser, or created by an administrator.',
    ),
    account: described(z.string().nullable(), 'The account it belongs to.'),
    name: described(z.string().nullable(), 'What it is for.'),
    role: described(z.enum(ROLES), 'What it may do.'),
    products: productList,
    issued_at: described(z.string(), 'When the token was created, UTC.'),
    used_at: described(z.string().nullable(), 'When it was last used, to the hour, UTC; null if never.'),
    expires_at: described(z.string().nullable(), 'When it expires, UTC; null if never.'),
    restriction: described(
      z.enum(['until_set_up', 'password_only']).nullable(),
      'It expires at the end of setup, or can only replace the one-time password.',
    ),
    is_alive: described(z.boolean(), 'Whether it is still valid.'),
  })
  .meta({ id: 'Token', description: 'A token of a person or a program, without its value.' });

const createdObject = tokenObject.pick({ id: true, expires_at: true, restriction: true }).extend({
  token: described(z.string(), 'The token itself, which is returned only once.'),
});

export type Token = z.output<typeof tokenObject>;

export const TOKEN_API = {
  'GET /api/admin/tokens': {
    answer: z.object({ tokens: described(z.array(tokenObject), 'The newest of them.') }),
  },
  'POST /api/admin/tokens/create': {
    body: z
      .object({ name: described(name, 'What it is for.'), role: roleField, products: productsField, days })
      .meta({ examples: [{ name: 'build server', role: 'user', days: 90 }] }),
    required: ['name', 'role'],
    answer: createdObject,
  },
  'POST /api/admin/tokens/revoke': {
    body: z.object({ id: described(name, 'Its id or its name.') }),
    required: ['id'],
    answer: z.object({ revoked: described(z.int(), 'How many tokens.') }),
  },
} as const satisfies Operations;
