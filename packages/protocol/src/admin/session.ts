import { z } from 'zod';
import { secondFactorCode } from '../api/passwords.ts';
import { described, name, secret } from '../fields.ts';
import { ROLES } from './choices.ts';
import type { Operations } from './operation.ts';
import { productList } from './users.ts';

const sessionObject = z.object({
  name: described(z.string(), 'The caller.'),
  role: described(z.enum(ROLES).nullable(), 'What they may do.'),
  products: productList,
  operations: described(z.array(z.string()), 'The operations that they may use, by method and path.'),
  csrf_token: described(z.string().nullable(), 'For the header x-berth-csrf; only with a session.'),
  must_set_password: described(z.boolean(), 'Whether the caller can only replace the one-time password.'),
  must_set_second_factor: described(
    z.boolean(),
    'Whether the caller can only set up a second factor, which "auth.secondFactor" requires.',
  ),
  recovery_codes_left: described(
    z.int().nullable(),
    'How many recovery codes are left; null if the caller has no second factor.',
  ),
  is_secure: described(z.boolean(), 'Whether the connection uses TLS.'),
});

export const SESSION_API = {
  'GET /api/admin/welcome': {
    answer: z.object({
      name: described(z.string(), 'The name in the setting "page.name"; empty if there is none.'),
      has_logo: described(z.boolean(), 'Whether "page.logo" is set.'),
      version: described(z.string(), 'The version of the server.'),
      is_set_up: described(
        z.boolean(),
        'Whether an administrator has set a password, or signed in with a provider or a directory.',
      ),
      is_secure: described(z.boolean(), 'Whether the connection uses TLS.'),
      provider: described(z.string().nullable(), 'The provider to sign in with; null: there is none.'),
      takes_accounts: described(z.boolean(), 'Whether "auth.localAccounts" lets accounts sign in from here.'),
    }),
  },
  'POST /api/admin/session/start': {
    body: z.object({
      name: described(name, 'The name of the account.'),
      password: described(secret, 'Its password.'),
      code: secondFactorCode,
    }),
    required: ['name', 'password'],
    answer: z.object({
      name: described(z.string(), 'Who is signed in.'),
      csrf_token: described(z.string(), 'For the header x-berth-csrf.'),
    }),
  },
  'GET /api/admin/session': { answer: sessionObject },
  'POST /api/admin/session/end': {
    answer: z.object({
      ended: described(z.boolean(), 'Whether there was one.'),
      url: described(
        z.string().nullable(),
        'Where to sign out at the provider, too; null if there is no need.',
      ),
    }),
  },
} as const satisfies Operations;

export type Welcome = z.output<(typeof SESSION_API)['GET /api/admin/welcome']['answer']>;
