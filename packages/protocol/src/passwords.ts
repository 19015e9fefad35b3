import { z } from 'zod';
import { secret } from './fields.ts';

/** The old password and the new one, in a body: `passwordOld` and `passwordNew` are aliases of these. */
export const setPasswordRequest = z.object({ password_old: secret, password_new: secret });

/** The same in a URL. */
export const setPasswordQuery = z.object({ passwordOld: secret, passwordNew: secret });

export const setPasswordAnswer = z.object({ message: z.string() });
