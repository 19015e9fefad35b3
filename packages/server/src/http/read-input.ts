import { FIELD_ALIASES } from '@berth/protocol/api/lending';
import { findMisspeltCount } from '@berth/protocol/api/misspelt-count';
import { suggest } from '@berth/protocol/console/suggest';
import { isBlank } from '@berth/protocol/fields';
import { parseJsonObject } from '@berth/protocol/json-text';
import { z } from 'zod';
import { LIMITS } from '../config.ts';
import { RequestError } from '../services/request-error.ts';
import type { HttpRequest } from './http-request.ts';
import { inputOf, isStrict, type Route } from './route.ts';

type Fields = Record<string, unknown>;

interface Input {
  readonly query: Fields;
  readonly body: Fields;
  /** Called after the body was read, which may take a while. */
  readonly hasBody: boolean;
}

const NO_FIELDS = z.object({});

/** Reads the input of a request and validates it with the route's schemas. */
export async function readInput(route: Route, request: HttpRequest): Promise<Input> {
  const { query, body } = inputOf(route, request.method);
  if (isStrict(route)) return readStrictly(route, request, { query, body });
  return {
    query: query === undefined ? {} : validate(query, withoutAliases(readQuery(request.url, foldCase))),
    body: body === undefined ? {} : validate(body, await readLeniently(route, body, request)),
    hasBody: body !== undefined,
  };
}

/** Also for a route without fields: a sent field is probably a mistake. */
async function readStrictly(
  route: Route,
  request: HttpRequest,
  { query = NO_FIELDS, body = NO_FIELDS }: ReturnType<typeof inputOf>,
): Promise<Input> {
  const hasBody = request.method === 'POST';
  return {
    query: validate(query, requireKnown(query, readQuery(request.url))),
    body: hasBody ? validate(body, requireKnown(body, await readBody(request, route))) : {},
    hasBody,
  };
}

/** Longer field names are not repeated in messages. */
const MAX_SHOWN = 64;

function requireKnown(schema: z.ZodObject, fields: Fields): Fields {
  const known = Object.keys(schema.shape);
  for (const [name, value] of Object.entries(fields)) {
    const field = name.slice(0, MAX_SHOWN);
    if (!known.includes(name)) {
      const taken = known.length === 0 ? 'It has no fields.' : `Its fields are ${known.join(', ')}.`;
      const message = `This request has no field "${field}".${suggest(field, known)} ${taken}`;
      throw new RequestError('validation_error', message, { field });
    }
    if (isBlank(value)) {
      const message = `"${field}" is empty. Give it a value, or leave it out.`;
      throw new RequestError('validation_error', message, { field });
    }
  }
  return fields;
}

async function readBody(request: HttpRequest, { holdsFile }: Pick<Route, 'holdsFile'>): Promise<Fields> {
  const limit = holdsFile === true ? LIMITS.fileBodyBytes : LIMITS.bodyBytes;
  return parseJsonObject(await readBodyText(request, limit));
}

/** Unknown keys are ignored, unless they look like a misspelt count. */
async function readLeniently(route: Route, schema: z.ZodObject, request: HttpRequest): Promise<Fields> {
  const fields = withoutAliases(await readBody(request, route));
  refuseMisspeltCount(schema, fields, namesInUrl(request.url));
  return fields;
}

function refuseMisspeltCount(schema: z.ZodObject, fields: Fields, inUrl: readonly string[] = []): void {
  const misspelt = findMisspeltCount(schema, fields, inUrl);
  if (misspelt !== null)
    throw new RequestError('validation_error', misspelt.message, { field: misspelt.field });
}

function namesInUrl(url: string): readonly string[] {
  const start = url.indexOf('?');
  return start < 0 ? [] : [...new URLSearchParams(url.slice(start + 1)).keys()];
}

const ALIASES = Object.entries(FIELD_ALIASES).map(([alias, name]) => [foldCase(alias), name] as const);

function foldCase(name: string): string {
  return name.toLowerCase();
}

function withoutAliases(fields: Fields): Fields {
  for (const [alias, name] of ALIASES) {
    if (!Object.hasOwn(fields, alias)) continue;
    if (Object.hasOwn(fields, name)) {
      throw new RequestError(
        'validation_error',
        `"${alias}" and "${name}" are the same field. Send only one of them.`,
      );
    }
    fields[name] = fields[alias];
  }
  return fields;
}

/** A repeated parameter is refused, because it is ambiguous. */
function readQuery(url: string, spell = (name: string) => name): Fields {
  const start = url.indexOf('?');
  const fields: Fields = {};
  if (start >= 0) {
    for (const [key, value] of new URLSearchParams(url.slice(start + 1))) {
      const name = spell(key);
      if (Object.hasOwn(fields, name))
        throw new RequestError('validation_error', `The parameter "${name}" is given twice.`);
      fields[name] = value;
    }
  }
  return fields;
}

function validate(schema: z.ZodObject, fields: Fields): Fields {
  const result = schema.safeParse(fields);
  if (result.success) return result.data;
  const issue = result.error.issues[0];
  const field = issue?.path.join('.') ?? '';
  throw new RequestError('validation_error', `"${field}" ${issue?.message}.`, { field });
}

const decoder = new TextDecoder('utf-8', { fatal: true });

/** Reads the body as text, up to a limit. */
async function readBodyText(request: HttpRequest, limit: number): Promise<string> {
  return decode(await readBytes(request, limit));
}

function decode(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes);
  } catch {
    throw new RequestError('invalid_json', 'The body is not valid UTF-8.');
  }
}

/**
 * The text of an uploaded file: the first file of a form, whatever its field name, or the whole body. A form
 * without a file may contain the text in its first field.
 */
export async function readUploadText(request: HttpRequest): Promise<string> {
  const bytes = await readBytes(request, LIMITS.fileBodyBytes);
  const type = request.headers.get('content-type') ?? '';
  const file = /^multipart\/form-data\b/i.test(type) ? await findFile(bytes, type) : bytes;
  try {
    return decoder.decode(file);
  } catch {
    throw new RequestError('offline_file_invalid', 'The file is not text.');
  }
}

async function findFile(bytes: Uint8Array, type: string): Promise<ArrayBuffer> {
  const form = await new Response(bytes as Uint8Array<ArrayBuffer>, { headers: { 'content-type': type } })
    .formData()
    .catch(() => {
      throw new RequestError('bad_request', 'The form cannot be read.');
    });
  const parts = [...form.values()];
  const first = parts.find((part) => typeof part !== 'string') ?? parts[0];
  if (first === undefined) throw new RequestError('missing_parameters', 'The form does not contain a file.');
  return typeof first === 'string' ? toBuffer(first) : first.arrayBuffer();
}

function toBuffer(text: string): ArrayBuffer {
  return new TextEncoder().encode(text).buffer as ArrayBuffer;
}

async function readBytes(request: HttpRequest, limit: number): Promise<Uint8Array> {
  const bytes = await readWithin(request, limit);
  if (bytes !== null) return bytes;
  throw new RequestError('payload_too_large', `The body is larger than ${limit} bytes.`);
}

async function readWithin(request: HttpRequest, limit: number): Promise<Uint8Array | null> {
  try {
    return await request.readBody(limit);
  } catch {
    // The client disconnected, or was too slow. This is not a bug.
    throw new RequestError('bad_request', 'The connection was closed before the end of the body.');
  }
}
