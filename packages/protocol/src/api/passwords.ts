import { z } from 'zod';
import { described, secret } from '../fields.ts';

/** The length of a new password, for the API document; the service checks it. */
export const NEW_PASSWORD = { minLength: 12, maxLength: 256 };

export const secondFactorCode = described(
  secret,
  'The code of the authenticator app, or a recovery code; only if the account has a second factor.',
);

export const setPasswordRequest = z
  .object({
    password_old: described(secret, 'The password now.'),
    code: secondFactorCode,
    password_new: secret.meta({ ...NEW_PASSWORD, description: 'The password from now on.' }),
  })
  .meta({
    required: ['password_old', 'password_new'],
    examples: [{ password_old: 'the old one', password_new: 'a password of my own' }],
  });

export const setPasswordAnswer = z.object({ message: described(z.string(), 'Whose password was replaced.') });
