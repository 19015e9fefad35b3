import fc from 'fast-check';
import type { z } from 'zod';
import { date, edgeNumber, oddText, oddValue } from './fuzz-values.ts';

/** What the fuzzed server knows, by the names of fields: a value that means something reaches further. */
export type Known = Readonly<Record<string, readonly unknown[]>>;

interface Definition {
  readonly type: string;
  readonly in?: z.ZodType;
  readonly out?: z.ZodType;
  readonly innerType?: z.ZodType;
  readonly element?: z.ZodType;
  readonly options?: readonly z.ZodType[];
  readonly values?: readonly unknown[];
  readonly entries?: Readonly<Record<string, string>>;
}

function definitionOf(schema: z.ZodType): Definition {
  return schema.def as unknown as Definition;
}

/** The type inside: what a preprocessing step hands on, what a transformation is given. */
function unwrap(schema: z.ZodType): z.ZodType {
  const { type, in: before, out: behind, innerType } = definitionOf(schema);
  if (type === 'pipe' && before !== undefined && behind !== undefined) {
    return unwrap(definitionOf(before).type === 'transform' ? behind : before);
  }
  return innerType === undefined ? schema : unwrap(innerType);
}

const small = fc.integer({ min: 1, max: 20 });

/** Values that a schema takes, as far as its structure tells. */
function fitting(schema: z.ZodType, known: Known): fc.Arbitrary<unknown> {
  const inner = unwrap(schema);
  const { type, entries, element, options, values } = definitionOf(inner);
  switch (type) {
    case 'string':
      return fc.oneof(
        { weight: 3, arbitrary: fc.string({ minLength: 1, maxLength: 20 }) },
        { weight: 1, arbitrary: fittingText(inner as z.ZodString) },
        { weight: 1, arbitrary: date },
      );
    case 'number':
      return fc.oneof(small, small.map(String), edgeNumber);
    case 'boolean':
      return fc.boolean();
    case 'enum':
      return fc.constantFrom(...Object.values(entries ?? {}));
    case 'literal':
      return fc.constantFrom(...(values ?? []));
    case 'array':
      return fc.array(fitting(element as z.ZodType, known), { maxLength: 4 });
    case 'union':
      return fc.oneof(...(options ?? []).map((option) => fitting(option, known)));
    case 'object':
      return fields(inner as z.ZodObject, known);
    default:
      return oddValue;
  }
}

/** As long as it may be, and one more. */
function fittingText({ maxLength }: z.ZodString): fc.Arbitrary<string> {
  const longest = maxLength ?? 64;
  return fc.constantFrom('x', 'x'.repeat(longest), 'x'.repeat(longest + 1), '👍'.repeat(longest / 2));
}

/** Something that means something to the server, where there is such a thing. */
function sensible(name: string, schema: z.ZodType, known: Known): fc.Arbitrary<unknown> {
  const meant = known[name];
  return meant === undefined ? fitting(schema, known) : fc.constantFrom(...meant);
}

/** Anything at all, and what fits elsewhere. */
function odd(name: string, schema: z.ZodType, known: Known): fc.Arbitrary<unknown> {
  return fc.oneof(
    { weight: 6, arbitrary: sensible(name, schema, known) },
    { weight: 2, arbitrary: fitting(schema, known) },
    { weight: 1, arbitrary: fc.constantFrom(...Object.values(known).flat()) },
    { weight: 1, arbitrary: oddText },
    { weight: 1, arbitrary: oddValue },
  );
}

/** An object with fields of the schema, all or some, that make sense together or do not. */
export function fields(schema: z.ZodObject, known: Known): fc.Arbitrary<Record<string, unknown>> {
  const model = (of: typeof sensible) =>
    Object.fromEntries(
      Object.entries(schema.shape).map(([name, one]) => [name, of(name, one as z.ZodType, known)]),
    );
  return fc.oneof(
    { weight: 4, arbitrary: fc.record(model(sensible)) },
    { weight: 3, arbitrary: fc.record(model(sensible), { requiredKeys: [] }) },
    { weight: 2, arbitrary: fc.record(model(odd)) },
    { weight: 2, arbitrary: fc.record(model(odd), { requiredKeys: [] }) },
  );
}

/** Whether the schema has a field by one of these names. */
export function hasField(schema: z.ZodObject | undefined, name: RegExp): boolean {
  return schema !== undefined && Object.keys(schema.shape).some((one) => name.test(one));
}
