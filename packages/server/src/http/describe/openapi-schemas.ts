import { z } from 'zod';
import { inputOf, isStrict, type Route } from '../route.ts';

/** The parts of a JSON schema that are used here. */
export interface JsonSchema {
  readonly [keyword: string]: unknown;
  readonly type?: string | readonly string[];
  readonly pattern?: string;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
}

/** The named schemas of the document. */
export type NamedSchemas = Record<string, JsonSchema>;

/** The JSON schema of a schema and of the named ones inside it. */
interface Converted {
  readonly properties: { readonly it: JsonSchema };
  readonly $defs?: NamedSchemas;
}

/** A cache: conversion is slow, and servers in one process share most schemas. */
const converted = { input: new WeakMap<z.ZodType, Converted>(), output: new WeakMap<z.ZodType, Converted>() };

/** Makes a JSON schema. Named schemas inside it (`meta({ id })`) are added to `named` and referenced. */
export function jsonSchema(schema: z.ZodType, io: 'input' | 'output', named: NamedSchemas): JsonSchema {
  // A named schema is only referenced from inside another one.
  const whole =
    converted[io].get(schema) ??
    (z.toJSONSchema(z.object({ it: schema }), { io, unrepresentable: 'any' }) as unknown as Converted);
  converted[io].set(schema, whole);
  for (const [name, definition] of Object.entries(whole.$defs ?? {})) named[name] ??= tidy(definition);
  return tidy(whole.properties.it);
}

/** A schema with a base refers to it instead of repeating its fields. */
export function withBases(named: NamedSchemas): NamedSchemas {
  const entries = Object.entries(named).map(([name, { extends: base, ...schema }]) => {
    const inherited = typeof base === 'string' ? named[base] : undefined;
    return [name, inherited === undefined ? schema : extending(schema, String(base), inherited)] as const;
  });
  return Object.fromEntries(entries);
}

function extending(schema: JsonSchema, base: string, inherited: JsonSchema): JsonSchema {
  const { type, properties = {}, required = [], ...rest } = schema;
  const isOwn = (field: string) => inherited.properties?.[field] === undefined;
  const own = Object.entries(properties).filter(([field]) => isOwn(field));
  const needed = required.filter(isOwn);
  const more = {
    type,
    ...(needed.length === 0 ? {} : { required: needed }),
    properties: Object.fromEntries(own),
  };
  return { ...rest, allOf: [{ $ref: `#/components/schemas/${base}` }, more] };
}

function tidy<T>(value: T): T {
  if (Array.isArray(value)) return value.map(tidy) as T;
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(shorten(value as JsonSchema)).map(([key, item]) =>
    key === '$ref' ? [key, (item as string).replace('#/$defs/', '#/components/schemas/')] : [key, tidy(item)],
  );
  return Object.fromEntries(entries) as T;
}

/** Simplifies a schema and keeps responses open for fields of later versions. */
function shorten(schema: JsonSchema): JsonSchema {
  const { propertyNames: _, additionalProperties: more, ...rest } = schema;
  if (isMap(schema)) return { ...rest, additionalProperties: true };
  if (more !== undefined) return rest;
  if (rest.type === 'integer' && rest.minimum === Number.MIN_SAFE_INTEGER) {
    const { minimum: __, maximum: ___, ...integer } = rest;
    return { ...integer, format: 'int64' };
  }
  if (rest.format === 'date-time') {
    const { pattern: __, ...date } = rest;
    return date;
  }
  return unwrapNull(rest);
}

function isMap(schema: JsonSchema): boolean {
  return schema.propertyNames !== undefined;
}

/** Writes `anyOf` of a plain type and null as a type with two names. */
function unwrapNull(schema: JsonSchema): JsonSchema {
  const { anyOf, ...rest } = schema as { anyOf?: readonly JsonSchema[] };
  const [first, second] = anyOf ?? [];
  const isPlain =
    typeof first?.type === 'string' && first.enum === undefined && first.properties === undefined;
  if (!isPlain || second?.type !== 'null' || anyOf?.length !== 2) return schema;
  return { ...rest, ...shorten(first), type: [first.type as string, 'null'] };
}

/** Where a field is sent, which determines the values it may have. */
type Place = 'body' | 'query' | 'strict body' | 'strict query';

/** The fields of a request body or query. */
export interface DescribedInput {
  readonly properties: Readonly<Record<string, JsonSchema>>;
  readonly required: readonly string[];
  /** Keywords for the whole object. */
  readonly about: JsonSchema;
}

export function describeInput(
  route: Route,
  method: string,
  part: 'body' | 'query',
  named: NamedSchemas,
): DescribedInput | null {
  const schema = inputOf(route, method)[part];
  if (schema === undefined) return null;
  const place: Place = isStrict(route) ? `strict ${part}` : part;
  const { properties = {} } = jsonSchema(schema, 'input', named);
  const { required: needed = [], ...about } = (schema.meta() ?? {}) as JsonSchema;
  const fields = Object.entries(properties).map(([name, property]) => {
    const field = schema.shape[name] as z.ZodType;
    return [name, fieldIn(needed.includes(name) ? `strict ${part}` : place, property, field)] as const;
  });
  const described = { properties: Object.fromEntries(fields), required: needed, about };
  const isForUrls = part === 'query' && route.body !== undefined;
  return isForUrls ? withUrlNames(described) : described;
}

/** Fields that a POST takes from its body have the names in a URL that clients already use there. */
function withUrlNames({ properties, required, about }: DescribedInput): DescribedInput {
  const spelt = Object.entries(properties).map(([name, property]) => {
    const inUrl = camelCase(name);
    if (inUrl === name) return [name, property] as const;
    return [
      inUrl,
      { ...property, description: `${property.description} Also taken as \`${name}\`.` },
    ] as const;
  });
  return { properties: Object.fromEntries(spelt), required: required.map(camelCase), about };
}

function camelCase(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/** The schema of a field. Tries whether null and blank text mean "not given". */
function fieldIn(place: Place, property: JsonSchema, field: z.ZodType): JsonSchema {
  // If a field declares its JSON type, its internal type does not matter.
  const own = field.meta() as JsonSchema | undefined;
  const value = withoutNull(own?.type === undefined ? property : own);
  if (place === 'strict query') return typeof value.type === 'string' ? notBlank(value) : asNumber(value);
  if (place === 'strict body') return notBlank(value);
  const open = field.safeParse('').success ? orBlank(value) : value;
  return place === 'body' && field.safeParse(null).success ? orNull(open) : open;
}

function withoutNull(schema: JsonSchema): JsonSchema {
  if (!Array.isArray(schema.type)) return schema;
  const types = schema.type.filter((type) => type !== 'null');
  return { ...schema, type: types.length === 1 ? types[0] : types };
}

function orNull(schema: JsonSchema): JsonSchema {
  const values = schema.enum as readonly unknown[] | undefined;
  return {
    ...schema,
    type: [schema.type ?? [], 'null'].flat(),
    ...(values === undefined ? {} : { enum: [...values, null] }),
  };
}

function orBlank(schema: JsonSchema): JsonSchema {
  const { pattern, enum: values } = schema;
  if (values !== undefined) return { ...schema, enum: [...(values as readonly string[]), ''] };
  return pattern === undefined ? schema : { ...schema, pattern: `${pattern}|^\\s*$` };
}

/** A pattern does not match blank text anyway. */
function notBlank(schema: JsonSchema): JsonSchema {
  const { type = [], pattern, enum: values } = schema;
  const isOpen = [type].flat().includes('string') && pattern === undefined && values === undefined;
  return isOpen ? { ...schema, pattern: '\\S' } : schema;
}

/** A URL does not distinguish digits from numbers. */
function asNumber({ pattern: _, ...schema }: JsonSchema): JsonSchema {
  return { ...schema, type: 'integer' };
}

/** Part of the document, with whatever else OpenAPI has there. */
export interface Described {
  readonly [part: string]: unknown;
}

/** The parts of the OpenAPI document that the page about the API is made from. */
export interface ApiDocument extends Described {
  readonly info: Described & { readonly version: string; readonly description: string };
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: Described & {
    readonly schemas: NamedSchemas;
    readonly parameters: Readonly<Record<string, Described>>;
  };
}

export interface Operation extends Described {
  readonly parameters?: readonly Described[];
  readonly requestBody?: RequestBody;
  readonly responses: Readonly<Record<string, Answer>>;
}

export interface RequestBody extends Described {
  readonly content: Content;
}

export interface Answer extends Described {
  readonly description?: string;
  readonly content?: Content;
}

type Content = Readonly<Record<string, Described & { readonly schema: JsonSchema }>>;
