import { findMisspeltCount } from '@berth/protocol/api/misspelt-count';
import { parseJsonObject } from '@berth/protocol/json-text';
import type { z } from 'zod';
import { RequestError } from './problem.ts';

/** Bodies have a few hundred bytes. */
export const MOST_BODY_BYTES = 64 * 1024;

const decoder = new TextDecoder('utf-8', { fatal: true });

/** Reads and validates the body. Ignores unknown fields, unless they look like a misspelled count. */
export async function readBody<S extends z.ZodObject>(request: Request, schema: S): Promise<z.output<S>> {
  const fields = parseJsonObject(decode(await readBytes(request, MOST_BODY_BYTES)));
  const misspelt = findMisspeltCount(schema, fields);
  if (misspelt === null) return validate(schema, fields);
  throw new RequestError('validation_error', misspelt.message, { field: misspelt.field });
}

function decode(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes);
  } catch {
    throw new RequestError('invalid_json', 'The body is not valid UTF-8.');
  }
}

export async function readBytes({ body }: Request, most: number): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const chunk of body ?? []) {
      size += chunk.length;
      // Reads and discards an oversized body, so that the client receives the response; the HTTP server stops
      // it if it takes too long.
      if (size <= most) chunks.push(chunk);
    }
  } catch {
    throw new RequestError('bad_request', 'The connection was closed before the end of the body.');
  }
  if (size <= most) return Buffer.concat(chunks);
  throw new RequestError('payload_too_large', `The body is larger than ${most} bytes.`);
}

/** Refuses a repeated parameter, because it is ambiguous. */
export function readQuery<S extends z.ZodObject>(url: string, schema: S): z.output<S> {
  const fields: Record<string, unknown> = {};
  for (const [name, value] of new URL(url).searchParams) {
    if (Object.hasOwn(fields, name)) {
      throw new RequestError('validation_error', `The parameter "${name}" is given twice.`);
    }
    fields[name] = value;
  }
  return validate(schema, fields);
}

function validate<S extends z.ZodObject>(schema: S, fields: Record<string, unknown>): z.output<S> {
  const result = schema.safeParse(fields);
  if (result.success) return result.data;
  const issue = result.error.issues[0];
  const field = issue?.path.join('.') ?? '';
  throw new RequestError('validation_error', `"${field}" ${issue?.message}.`, { field });
}
