/** The part of JSON Schema that our API document uses. Everything else in a schema is an error. */
interface Schema {
  readonly $ref?: string;
  readonly allOf?: readonly Schema[];
  readonly anyOf?: readonly Schema[];
  readonly not?: Schema;
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean;
  readonly items?: Schema;
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly format?: string;
}

const KNOWN = new Set([
  ...[
    '$ref',
    'allOf',
    'anyOf',
    'not',
    'type',
    'const',
    'enum',
    'properties',
    'required',
    'additionalProperties',
  ],
  ...[
    'items',
    'pattern',
    'minLength',
    'maxLength',
    'minimum',
    'maximum',
    'format',
    'description',
    'examples',
  ],
]);

/** Resolves a reference inside a document. */
export function resolve(document: unknown, reference: string): unknown {
  if (!reference.startsWith('#/'))
    throw new Error(`A reference that leads out of the document: ${reference}`);
  const steps = reference.slice(2).split('/');
  return steps.reduce<unknown>((value, step) => (value as Record<string, unknown>)?.[step], document);
}

/** Why a value does not match a schema of the document; `null` if it does. */
export function whyNot(document: unknown, schema: Schema, value: unknown, at = '$'): string | null {
  const stranger = Object.keys(schema).find((keyword) => !KNOWN.has(keyword));
  if (stranger !== undefined) throw new Error(`A keyword that is not known here: ${stranger}`);
  if (schema.$ref !== undefined) {
    const found = resolve(document, schema.$ref) as Schema | undefined;
    if (found === undefined) throw new Error(`A reference that leads nowhere: ${schema.$ref}`);
    return whyNot(document, found, value, at);
  }
  return (
    whyNotPlain(schema, value, at) ??
    firstOf(schema.allOf ?? [], (one) => whyNot(document, one, value, at)) ??
    whyNotAny(document, schema, value, at) ??
    whyNotObject(document, schema, value, at) ??
    whyNotList(document, schema, value, at)
  );
}

function firstOf<T>(list: readonly T[], judge: (one: T) => string | null): string | null {
  for (const one of list) {
    const why = judge(one);
    if (why !== null) return why;
  }
  return null;
}

function whyNotPlain(schema: Schema, value: unknown, at: string): string | null {
  const {
    type,
    enum: values,
    pattern,
    maxLength = Infinity,
    minimum = -Infinity,
    maximum = Infinity,
  } = schema;
  if (type !== undefined && ![type].flat().some((one) => isOf(one, value))) return `${at} is no ${type}`;
  if ('const' in schema && value !== schema.const) return `${at} is not ${schema.const}`;
  if (values !== undefined && !values.includes(value)) return `${at} is none of ${values}`;
  if (typeof value === 'string') {
    const { length } = [...value];
    if (length < (schema.minLength ?? 0) || length > maxLength) return `${at} has not the right length`;
    if (pattern !== undefined && !new RegExp(pattern, 'u').test(value))
      return `${at} does not match ${pattern}`;
    if (schema.format === 'date-time' && Number.isNaN(Date.parse(value))) return `${at} is no date`;
  }
  if (typeof value === 'number' && !(value >= minimum && value <= maximum)) return `${at} is out of bounds`;
  return null;
}

function isOf(type: string, value: unknown): boolean {
  if (type === 'null') return value === null;
  if (type === 'array') return Array.isArray(value);
  if (type === 'integer') return Number.isInteger(value);
  if (type === 'object') return typeof value === 'object' && value !== null && !Array.isArray(value);
  return typeof value === type;
}

function whyNotAny(document: unknown, { anyOf, not }: Schema, value: unknown, at: string): string | null {
  const fits = (one: Schema) => whyNot(document, one, value, at) === null;
  if (not !== undefined && fits(not)) return `${at} is what it must not be`;
  if (anyOf === undefined || anyOf.some(fits)) return null;
  return `${at} is none of what it may be`;
}

function whyNotObject(document: unknown, schema: Schema, value: unknown, at: string): string | null {
  if (!isOf('object', value)) return null;
  const { properties = {}, required = [], additionalProperties: more = true } = schema;
  const fields = value as Readonly<Record<string, unknown>>;
  const missing = required.find((name) => !Object.hasOwn(fields, name));
  if (missing !== undefined) return `${at}.${missing} is missing`;
  return firstOf(Object.entries(fields), ([name, item]) => {
    const property = properties[name];
    if (property !== undefined) return whyNot(document, property, item, `${at}.${name}`);
    return more ? null : `${at}.${name} is unknown`;
  });
}

function whyNotList(document: unknown, { items }: Schema, value: unknown, at: string): string | null {
  if (items === undefined || !Array.isArray(value)) return null;
  return firstOf([...value.entries()], ([index, item]) => whyNot(document, items, item, `${at}[${index}]`));
}
