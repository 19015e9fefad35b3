import { z } from 'zod';

/** Bounds of single fields, in characters. */
export const MAX_NAME_LENGTH = 256;
export const MAX_USER_INFO_LENGTH = 4096;
export const MAX_SECRET_LENGTH = 512;

const CONTROL_CHARACTER = /\p{Cc}/u;
const CONTROL_CHARACTERS = /\p{Cc}/gu;

/**
 * A name that identifies something: kept as sent, compared exactly. Control characters and lone surrogates
 * are refused, since they would make two names that look alike or that a database stores as one.
 */
function isPlainText(text: string): boolean {
  return !CONTROL_CHARACTER.test(text) && text.isWellFormed();
}

/** A field, and what the API document says about it. */
export function described<T extends z.ZodType>(schema: T, description: string): T {
  return schema.meta({ description }) as T;
}

/** What is wrong with a value, as the rest of a sentence. */
export class FieldError {
  readonly why: string;

  constructor(why: string) {
    this.why = why;
  }
}

type ReadField<T> = (value: unknown) => T | FieldError;

/** By the function that zod calls. */
const readers = new WeakMap<object, ReadField<unknown>>();

/** A field that is read by one function, with zod or without. */
export function field<T>(read: ReadField<T>) {
  const transform = (value: unknown, context: z.core.ParsePayload): T => {
    const found = read(value);
    if (!(found instanceof FieldError)) return found;
    context.issues.push({ code: 'custom', message: found.why, input: value });
    return z.NEVER;
  };
  readers.set(transform, read);
  return z.transform(transform);
}

/**
 * The functions that read the fields of an object; `null` unless all of them have one. Zod does the same with
 * them, but takes several times as long, and these fields are in every request of every client.
 */
export function listReaders({
  shape,
}: z.ZodObject): readonly (readonly [string, ReadField<unknown>])[] | null {
  const found = Object.entries(shape).map(([name, schema]) => {
    const read = schema instanceof z.ZodTransform ? readers.get(schema.def.transform) : undefined;
    return [name, read] as const;
  });
  return found.every((entry): entry is [string, ReadField<unknown>] => entry[1] !== undefined) ? found : null;
}

/**
 * What JSON a field takes beside `null` and blank text, for the API document: `z.preprocess` hides it there.
 * A pattern matches everything that the server accepts, and means the same in every language: it has no
 * look-ahead.
 */
export const NAME_JSON = {
  type: 'string',
  maxLength: MAX_NAME_LENGTH,
  pattern: '^ *[^\\x00- \\x7f-\\x9f][^\\x00-\\x1f\\x7f-\\x9f]*$',
};
const INTEGER_JSON = {
  type: ['integer', 'string'],
  minimum: 1,
  maximum: Number.MAX_SAFE_INTEGER,
  pattern: '^0{0,15}[1-9]\\d{0,15}$',
};

/** Nothing, or text that says nothing. */
export function isBlank(value: unknown): boolean {
  return value === null || (typeof value === 'string' && value.trim() === '');
}

const NOT_TEXT = new FieldError('must be text');

/** `null`, a missing field and blank text all mean "not given". */
function readText(value: unknown, maxLength: number): string | undefined | FieldError {
  if (value === undefined || isBlank(value)) return undefined;
  if (typeof value !== 'string') return NOT_TEXT;
  return value.length > maxLength ? new FieldError(`must not be longer than ${maxLength} characters`) : value;
}

function nameReader(maxLength: number): ReadField<string | undefined> {
  return (value) => {
    const text = readText(value, maxLength);
    const isFit = typeof text !== 'string' || isPlainText(text);
    return isFit ? text : new FieldError('must not contain control characters');
  };
}

const readName = nameReader(MAX_NAME_LENGTH);

/** `product`, `feature`: identifies something. */
export const name = field(readName).meta(NAME_JSON);

/**
 * `user`: in Unicode NFC, as it is kept. Some characters become three in it, and two become one, so a bound
 * on the text as sent would let in names that are too long to be named again, and refuse others.
 */
export const userName = field((value) =>
  readName(typeof value === 'string' ? value.normalize('NFC') : value),
).meta({ type: NAME_JSON.type, pattern: NAME_JSON.pattern });

/** The replacement character: a secret that contains it was not valid text. */
const REPLACEMENT_CHARACTER = '\uFFFD';

/** A key from outside, kept as sent. Errors do not show it. */
export const secret = field((value) => {
  const text = readText(value, MAX_SECRET_LENGTH);
  const isFit = typeof text !== 'string' || (isPlainText(text) && !text.includes(REPLACEMENT_CHARACTER));
  return isFit ? text : new FieldError('must be readable text without control characters');
}).meta({ ...NAME_JSON, maxLength: MAX_SECRET_LENGTH });

const TOKEN = /^[A-Za-z0-9_-]{16,128}$/;
const NO_TOKEN = new FieldError('must be 16 to 128 letters, digits, "-" or "_"');

/** Text that only programs make and compare. */
function token(description: string) {
  return field((value) => {
    if (value === undefined || isBlank(value)) return undefined;
    return typeof value === 'string' && TOKEN.test(value) ? value : NO_TOKEN;
  }).meta({ type: 'string', pattern: TOKEN.source, description });
}

/** `nonce`: what the caller made up for this request; a signed answer repeats it. */
export const nonce = token('Random text, new for each request, for a `grant` in the answer.');

/** `device_mark`: the computer that the slot is for, as a hash; a signed answer repeats it. */
export const deviceMark = token('Stands for the computer of the user; the `grant` repeats it.');

const MAX_INSTANCE_LENGTH = 64;

/** `instance`: tells the programs of one user apart. */
export const instance = field(nameReader(MAX_INSTANCE_LENGTH)).meta({
  ...NAME_JSON,
  maxLength: MAX_INSTANCE_LENGTH,
  description: "Tells the user's programs apart: the slot is free when all that sent one have left it.",
});

/** `store_id`: which store the request is meant for, by its public id. */
export const storeId = token(
  'The `store_id` of `/.well-known/jwks.json`: a server with another one refuses the request.',
);

/** Text that only describes: control characters become spaces instead of being refused. */
function description(maxLength: number) {
  return field((value) => {
    const text = readText(value, maxLength);
    if (typeof text !== 'string') return text;
    const shown = text.toWellFormed().replace(CONTROL_CHARACTERS, ' ');
    // Text of only control characters is empty.
    return shown.trim() === '' ? undefined : shown;
  }).meta({ type: 'string', maxLength });
}

export const hostText = description(MAX_NAME_LENGTH);
export const userInfo = description(MAX_USER_INFO_LENGTH);

const INTEGER_TEXT = /^-?\d{1,16}$/;

/** Digits as a number; anything else as it is, for the schema to judge. */
export function integerOf(value: unknown): unknown {
  return typeof value === 'string' && INTEGER_TEXT.test(value) ? Number(value) : value;
}

function readPositive(value: unknown): number | undefined | FieldError {
  if (value === undefined || isBlank(value)) return undefined;
  const number = integerOf(value);
  if (!Number.isSafeInteger(number)) return new FieldError('must be a whole number below 2^53');
  return (number as number) > 0 ? (number as number) : new FieldError('must be a positive number');
}

/** A positive integer below 2^53, as a number or as digits. */
export const positiveInteger = field(readPositive).meta(INTEGER_JSON);

/** `license_id` of the v4 API: 0 means "none", too, since clients send the default value of a number. */
export const licenseId = field((value) => (integerOf(value) === 0 ? undefined : readPositive(value))).meta({
  ...INTEGER_JSON,
  minimum: 0,
  pattern: '^\\d{1,16}$',
  description: 'The id of a license; 0 means none. Without it, the first license that can answer.',
});

/** The same with 0, which is a number like any other. */
export const wholeNumber = field((value) => (integerOf(value) === 0 ? 0 : readPositive(value))).meta({
  ...INTEGER_JSON,
  minimum: 0,
  pattern: '^\\d{1,16}$',
});

/** `license_id` of an administrator's request, where "none" often means "all", so 0 is not allowed. */
export const strictLicenseId = described(positiveInteger, 'The id of a license.');

/** The fields of most requests. */
export const product = described(
  name,
  'The product code. It may be missing if the server has only one product.',
);
export const feature = described(name, 'The feature code.');
export const user = described(
  userName,
  'The user: any text of up to 256 characters, such as an e-mail address.',
);
export const licenseKey = described(name, 'The license key.');
