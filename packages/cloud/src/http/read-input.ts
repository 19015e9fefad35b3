import type { HttpRequest } from '@berth/web/http-request';
import { HTTP_LIMITS } from '@berth/web/limits';
import { parseBody, readBytes, readParameters, validate } from '@berth/web/read-input';
import type { z } from 'zod';

/** Reads and validates the body. Ignores unknown fields. */
export async function readBody<S extends z.ZodObject>(request: HttpRequest, schema: S): Promise<z.output<S>> {
  const bytes = await readBytes(request, HTTP_LIMITS.bodyBytes);
  return validate(schema, parseBody(bytes, request.headers)) as z.output<S>;
}

export function readQuery<S extends z.ZodObject>({ url }: HttpRequest, schema: S): z.output<S> {
  return validate(schema, readParameters(url)) as z.output<S>;
}
