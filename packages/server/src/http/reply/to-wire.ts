import { formatTimestamp } from '@berth/protocol/timestamp';
import type { Instant } from '../../core/nouns/instant.ts';

/** Facts in API format, as a type. */
type Wire<Facts> = Facts extends readonly (infer Item)[]
  ? readonly Wire<Item>[]
  : Facts extends Plain
    ? Facts
    : { readonly [Name in keyof Facts as SnakeCase<Name & string>]: WireValue<Name, Facts[Name]> };

/** Numbers may be branded, and are objects then, too. */
type Plain = string | number | boolean | null | undefined;

type WireValue<Name, Value> = Value extends Instant
  ? Name extends 'at' | 'from' | 'to' | `${string}${'At' | 'Until'}`
    ? string
    : number
  : Wire<Value>;

type SnakeCase<Name extends string> = Name extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${SnakeCase<Rest>}`
  : Name;

/**
 * Facts in API format: `nextFreeAt: 1700000000000` becomes `next_free_at: "2023-…Z"`. Names that end in At or
 * Until are instants.
 */
export function toWire<Facts extends object>(facts: Facts): Wire<Facts> {
  return Object.fromEntries(
    Object.entries(facts).map(([name, value]) => [snakeCase(name), wireValue(name, value)]),
  ) as Wire<Facts>;
}

/** The names of settings, which have dots, stay as they are. */
function snakeCase(name: string): string {
  if (name.includes('.')) return name;
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function wireValue(name: string, value: unknown): unknown {
  if (/(^at|At|Until|^from|^to)$/.test(name) && isDate(value)) return formatTimestamp(value);
  if (Array.isArray(value)) return value.map((item) => (isFacts(item) ? toWire(item) : item));
  return isFacts(value) ? toWire(value) : value;
}

function isFacts(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A tampered audit log may contain invalid numbers. */
function isDate(value: unknown): value is number {
  return typeof value === 'number' && Math.abs(value) <= LAST_DATE_MS;
}

const LAST_DATE_MS = 8.64e15;
