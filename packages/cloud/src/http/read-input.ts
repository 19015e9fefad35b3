import type { HttpRequest } from '@berth/web/http-request';
import { HTTP_LIMITS } from '@berth/web/limits';
import { parseBody, readBytes, readParameters, refuseMisspelt, validate } from '@berth/web/read-input';
import type { z } from 'zod';

/** Reads and validates the body. Ignores unknown fields, unless they look like a misspelled count. */
export async function readBody<S extends z.ZodObject>(request: HttpRequest, schema: S): Promise<z.output<S>> {
  const fields = parseBody(await readBytes(request, HTTP_LIMITS.bodyBytes));
  refuseMisspelt(schema, fields);
  return validate(schema, fields) as z.output<S>;
}

export function readQuery<S extends z.ZodObject>({ url }: HttpRequest, schema: S): z.output<S> {
  return validate(schema, readParameters(url)) as z.output<S>;
}
