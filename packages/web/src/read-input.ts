import { findMisspelt, hasDecidingField, otherSpellings } from '@berth/protocol/api/spelling';
import { FieldError, isBlank, listReaders } from '@berth/protocol/fields';
import { JsonTextError, parseJsonObject } from '@berth/protocol/json-text';
import { RequestError } from '@berth/protocol/request-error';
import { suggest } from '@berth/protocol/suggest';
import { z } from 'zod';
import type { HeaderFields, HttpRequest } from './http-request.ts';
import { HTTP_LIMITS } from './limits.ts';

type Fields = Record<string, unknown>;

/** What a request may contain. */
export interface InputRules {
  readonly query: z.ZodObject | undefined;
  readonly body: z.ZodObject | undefined;
  /** Refuses unknown and empty fields. */
  readonly isStrict: boolean;
  readonly bodyBytes: number;
}

interface Input {
  readonly query: Fields;
  readonly body: Fields;
  /** Called after the body was read, which may take a while. */
  readonly hasBody: boolean;
}

const NO_FIELDS = z.object({});

/**
 * Reads the input of a request and validates it with these schemas. No promise if the body is here
 * already, because that takes time where clients call all day.
 */
export function readInput(rules: InputRules, request: HttpRequest): Input | Promise<Input> {
  const { checkQuery, checkBody, takesBody } = rules.isStrict ? STRICT : LENIENT;
  const query = checkQuery(rules.query, request.url);
  if (!takesBody(rules.body, request.method)) return { query, body: {}, hasBody: false };
  const check = (bytes: Uint8Array | null): Input => {
    const sent = parseBody(requireWithin(bytes, rules.bodyBytes), request.headers);
    return { query, body: checkBody(rules.body, sent, request.url), hasBody: true };
  };
  const bytes = request.readBody(rules.bodyBytes);
  return bytes instanceof Promise ? bytes.catch(refuseBroken).then(check) : check(bytes);
}

interface InputMode {
  checkQuery(schema: z.ZodObject | undefined, url: string): Fields;
  checkBody(schema: z.ZodObject | undefined, sent: Fields, url: string): Fields;
  takesBody(schema: z.ZodObject | undefined, method: string): boolean;
}

/** Also for a route without fields: a sent field is probably a mistake. */
const STRICT: InputMode = {
  checkQuery: (schema = NO_FIELDS, url) => validate(schema, requireKnown(schema, readParameters(url))),
  checkBody: (schema = NO_FIELDS, sent) => validate(schema, requireKnown(schema, sent, otherSpellings)),
  takesBody: (_, method) => method === 'POST',
};

/** Unknown keys are ignored. */
const LENIENT: InputMode = {
  checkQuery: (schema, url) => (schema === undefined ? {} : validate(schema, readSpelled(schema, url))),
  checkBody: (schema = NO_FIELDS, sent, url) => validate(schema, sent, url),
  takesBody: (schema) => schema !== undefined,
};

/** Longer field names are not repeated in messages. */
const MAX_SHOWN = 64;

function requireKnown(
  schema: z.ZodObject,
  fields: Fields,
  others: (field: string) => readonly string[] = () => [],
): Fields {
  const known = Object.keys(schema.shape);
  for (const [name, value] of Object.entries(fields)) {
    const field = name.slice(0, MAX_SHOWN);
    if (!known.some((one) => one === name || others(one).includes(name))) {
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

function namesInUrl(url: string): readonly string[] {
  const start = url.indexOf('?');
  return start < 0 ? [] : [...new URLSearchParams(url.slice(start + 1)).keys()];
}

/** The parameters of a URL by the names of the schema, in whichever case and spelling they are written. */
function readSpelled({ shape }: z.ZodObject, url: string): Fields {
  const spelled = Object.keys(shape).flatMap((field) => otherSpellings(field).map((other) => [other, field]));
  const names: ReadonlyMap<string, string> = new Map(spelled as [string, string][]);
  return readParameters(url, (key) => names.get(key.toLowerCase()) ?? key.toLowerCase());
}

/** A repeated parameter is refused, because it is ambiguous. */
export function readParameters(url: string, spell = (name: string) => name): Fields {
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

interface Reading {
  /** How each field is read, and what else it may be called; `null` if zod has to read them. */
  readonly readers: readonly FieldReader[] | null;
  readonly isDeciding: boolean;
}

type FieldReader = readonly [
  ...reader: NonNullable<ReturnType<typeof listReaders>>[number],
  others: readonly string[],
];

/** A cache, by schema. */
const readings = new WeakMap<z.ZodObject, Reading>();

/** `url`: of a request with a body, which has its fields there. */
export function validate(schema: z.ZodObject, fields: Fields, url = ''): Fields {
  let reading = readings.get(schema);
  if (reading === undefined) {
    reading = prepareReading(schema);
    readings.set(schema, reading);
  }
  if (reading.isDeciding) refuseMisspelt(schema, fields, url);
  return reading.readers === null ? parseWith(schema, fields) : readEach(reading.readers, fields);
}

function prepareReading(schema: z.ZodObject): Reading {
  const readers = listReaders(schema)?.map((one): FieldReader => [...one, otherSpellings(one[0])]);
  return { readers: readers ?? null, isDeciding: hasDecidingField(schema) };
}

function refuseMisspelt(schema: z.ZodObject, fields: Fields, url: string): void {
  const misspelt = findMisspelt(schema, fields, namesInUrl(url));
  if (misspelt === null) return;
  throw new RequestError('validation_error', misspelt.message, { field: misspelt.field });
}

function readEach(readers: readonly FieldReader[], sent: Fields): Fields {
  const fields: Fields = {};
  for (const [field, read, others] of readers) {
    let value = sent[field];
    for (const other of others) value ??= sent[other];
    const found = read(value);
    if (found instanceof FieldError)
      throw new RequestError('validation_error', `"${field}" ${found.why}.`, { field });
    if (found !== undefined) fields[field] = found;
  }
  return fields;
}

function parseWith(schema: z.ZodObject, sent: Fields): Fields {
  const fields = { ...sent };
  for (const field of Object.keys(schema.shape)) {
    for (const other of otherSpellings(field)) if (other in sent) fields[field] ??= sent[other];
  }
  const result = schema.safeParse(fields);
  if (result.success) return result.data;
  const issue = result.error.issues[0];
  const field = issue?.path.join('.') ?? '';
  throw new RequestError('validation_error', `"${field}" ${issue?.message}.`, { field });
}

const decoder = new TextDecoder('utf-8', { fatal: true });

/** The headers only matter for a body that cannot be read: many clients send JSON under another name. */
export function parseBody(bytes: Uint8Array, headers: HeaderFields): Fields {
  try {
    return parseJsonObject(decoder.decode(bytes));
  } catch (error) {
    if (error instanceof JsonTextError && error.code !== 'invalid_json') throw error;
    if (isForeign(headers)) throw new RequestError('unsupported_media_type', FOREIGN);
    if (error instanceof JsonTextError) throw error;
    throw new RequestError('invalid_json', 'The body is not valid UTF-8.');
  }
}

/** What JSON in UTF-8 is called, and any text. */
const FAMILIAR = /^(?:|text\/plain|application\/octet-stream|[^;]*[/+]json) *(?:; *charset="?utf-?8"? *)?$/i;
const FOREIGN = 'The body is not JSON, as its Content-Type or Content-Encoding says. Send one JSON object.';

function isForeign(headers: HeaderFields): boolean {
  const isCoded = !/^(?:identity)?$/i.test(headers.get('content-encoding') ?? '');
  return isCoded || !FAMILIAR.test(headers.get('content-type') ?? '');
}

/**
 * The text of an uploaded file: the first file of a form, whatever its field name, or the whole body. A form
 * without a file may contain the text in its first field.
 */
export async function readUploadText(request: HttpRequest): Promise<string> {
  const bytes = await readBytes(request, HTTP_LIMITS.fileBodyBytes);
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

export async function readBytes(request: HttpRequest, limit: number): Promise<Uint8Array> {
  return requireWithin(await Promise.resolve(request.readBody(limit)).catch(refuseBroken), limit);
}

function requireWithin(bytes: Uint8Array | null, limit: number): Uint8Array {
  if (bytes !== null) return bytes;
  throw new RequestError('payload_too_large', `The body is larger than ${limit} bytes.`);
}

/** The client disconnected, or was too slow. This is not a bug. */
function refuseBroken(error: unknown): never {
  if (error instanceof RequestError) throw error;
  throw new RequestError('bad_request', 'The connection was closed before the end of the body.');
}
