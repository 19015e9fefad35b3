import { z } from 'zod';
import { NEW_PASSWORD, secondFactorCode } from '../api/passwords.ts';
import { described, name, secret } from '../fields.ts';
import { ROLES } from './choices.ts';
import type { Operations } from './operation.ts';

/** One of the roles; `undefined`: the caller gave none. */
export const roleField = described(
  z.enum(ROLES, { error: `must be one of ${ROLES.join(', ')}` }).optional(),
  `What it may do: ${ROLES.join(', ')}.`,
);

export const productList = z
  .array(z.string())
  .nullable()
  .meta({ id: 'Products', description: 'What an operator is limited to; null: nothing.' });

export const productsField = described(
  z.array(z.string(), { error: 'must be a list of texts' }).optional(),
  'Limits an operator to these products.',
);

const account = described(name, 'The name of the account.');

const userObject = z
  .object({
    name: described(z.string(), 'The name of the account.'),
    role: described(z.enum(ROLES), 'What it may do.'),
    products: productList,
    one_time_password: described(z.boolean(), 'Whether it has a one-time password, which must be replaced.'),
    one_time_until: described(z.string().nullable(), 'When a one-time password expires, UTC.'),
    second_factor: described(z.boolean(), 'Whether it has a second factor.'),
    created_at: described(z.string(), 'When the account was created, UTC.'),
  })
  .meta({ id: 'Account', description: 'An account.' });

const passwordSet = z
  .object({
    name: described(z.string(), 'The name of the account.'),
    password: described(z.string().nullable(), 'The generated password, which is returned only once.'),
  })
  .meta({ id: 'AccountPassword', description: 'An account whose password was set.' });

export type Account = z.output<typeof userObject>;
export type Role = Account['role'];
export type AccountPassword = z.output<typeof passwordSet>;

export const USER_API = {
  'GET /api/admin/users': { answer: z.object({ users: described(z.array(userObject), 'All of them.') }) },
  'POST /api/admin/users/add': {
    body: z.object({
      name: account,
      role: roleField,
      products: productsField,
      password: secret.meta({ ...NEW_PASSWORD, description: 'Its password.' }),
    }),
    required: ['name', 'role'],
    answer: passwordSet,
  },
  'POST /api/admin/users/password': {
    body: z.object({
      name: account,
      password: secret.meta({ ...NEW_PASSWORD, description: 'If missing, the server generates one.' }),
    }),
    required: ['name'],
    answer: passwordSet,
  },
  'POST /api/admin/users/role': {
    body: z.object({ name: account, role: roleField, products: productsField }),
    required: ['name', 'role'],
    answer: z.object({ changed: described(z.int(), 'How many accounts.') }),
  },
  'POST /api/admin/users/remove': {
    body: z.object({ name: account }),
    required: ['name'],
    answer: z.object({ removed: described(z.int(), 'How many accounts.') }),
  },
  'POST /api/admin/users/remove-second-factor': {
    body: z.object({ name: account }),
    required: ['name'],
    answer: z.object({ removed: described(z.int(), 'How many second factors: 0 if there was none.') }),
  },
} as const satisfies Operations;

/** Of the caller's own account. */
export const SECOND_FACTOR_API = {
  'POST /api/admin/second-factor/offer': {
    answer: z.object({
      secret: described(z.string(), 'For an authenticator app, in base32. It is not stored yet.'),
      url: described(z.string(), 'The same as an otpauth:// address, for a QR code.'),
    }),
  },
  'POST /api/admin/second-factor/confirm': {
    body: z.object({
      password: described(secret, 'The password of the account.'),
      secret: described(secret, 'From /api/admin/second-factor/offer.'),
      code: described(secret, 'What the authenticator app shows for it.'),
    }),
    required: ['password', 'secret', 'code'],
    answer: z.object({
      recovery_codes: described(z.array(z.string()), 'Each replaces a code once. Returned only here.'),
    }),
  },
  'POST /api/admin/second-factor/remove': {
    body: z.object({ password: described(secret, 'The password of the account.'), code: secondFactorCode }),
    required: ['password', 'code'],
    answer: z.object({ removed: described(z.int(), 'How many: 0 if there was none.') }),
  },
} as const satisfies Operations;
