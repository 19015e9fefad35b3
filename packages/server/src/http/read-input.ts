import { parseJsonObject } from '@berth/protocol/json-text';
import { FIELD_ALIASES } from '@berth/protocol/lending';
import type { z } from 'zod';
import { RequestError } from '../services/request-error.ts';
import { readBodyText } from './read-body.ts';

/** Reads and checks the body against the route's schema. Unknown keys are ignored. */
export async function readBody(request: Request, schema: z.ZodObject): Promise<Record<string, unknown>> {
  return validate(schema, withoutAliases(parseJsonObject(await readBodyText(request))));
}

function withoutAliases(fields: Record<string, unknown>): Record<string, unknown> {
  for (const [alias, name] of Object.entries(FIELD_ALIASES)) {
    if (!Object.hasOwn(fields, alias)) continue;
    if (Object.hasOwn(fields, name)) {
      throw new RequestError('validation_error', `"${alias}" and "${name}" are the same field: send one.`);
    }
    fields[name] = fields[alias];
  }
  return fields;
}

/**
 * Reads and checks the query string. A parameter that is given twice is refused: either reading would be a
 * guess.
 */
export function readQuery(url: string, schema: z.ZodObject): Record<string, unknown> {
  const start = url.indexOf('?');
  const fields: Record<string, unknown> = {};
  if (start >= 0) {
    for (const [name, value] of new URLSearchParams(url.slice(start + 1))) {
      if (Object.hasOwn(fields, name))
        throw new RequestError('validation_error', `The parameter "${name}" is given twice.`);
      fields[name] = value;
    }
  }
  return validate(schema, fields);
}

function validate(schema: z.ZodObject, fields: Record<string, unknown>): Record<string, unknown> {
  const result = schema.safeParse(fields);
  if (result.success) return result.data;
  const issue = result.error.issues[0];
  const field = issue?.path.join('.') ?? '';
  throw new RequestError('validation_error', `"${field}" ${issue?.message}.`, { field });
}
