import type { z } from 'zod';

/** What an operation of the admin API takes and answers; without `answer` it is a stream or a file. */
export interface Operation {
  readonly query?: z.ZodObject;
  readonly body?: z.ZodObject;
  readonly answer?: z.ZodType;
}

/** The operations of a subject, by method and path. */
export type Operations = Readonly<Record<`${'GET' | 'POST'} /${string}`, Operation>>;
