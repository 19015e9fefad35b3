import type { z } from 'zod';
import { secondFactorCode } from '../api/passwords.ts';
import { described, secret } from '../fields.ts';

/** With these, somebody who has signed in confirms what a stolen session must not be enough for. */
export const CONFIRMATION = {
  own_password: described(secret, "The password of the caller's account, to confirm it."),
  code: secondFactorCode,
} as const;

/** What an operation of the admin API takes and answers; without `answer` it is a stream or a file. */
export interface Operation {
  readonly query?: z.ZodObject;
  readonly body?: z.ZodObject;
  /** The fields that must be there, of the query or of the body. */
  readonly required?: readonly string[];
  readonly answer?: z.ZodType;
}

/** The operations of a subject, by method and path. */
export type Operations = Readonly<Record<`${'GET' | 'POST'} /${string}`, Operation>>;
