import { suggest } from '../suggest.ts';
import { FIELD_ALIASES } from './lending.ts';
import { featureObject, licenseObject } from './license-object.ts';

/** The fields that decide how much is counted. A misspelt one would change the count. */
const COUNTED_FIELDS = ['consumptions', 'max_overages', 'allow_overages'] as const;

/** Similar names that are valid: clients may send back fields of an answer. */
const OTHER_WORDS = new Set([
  ...Object.keys(FIELD_ALIASES).map((alias) => alias.toLowerCase()),
  ...Object.keys(licenseObject.shape),
  ...Object.keys(featureObject.shape),
]);

/** A longer name is not similar to a counted field. */
const LONGEST_SLIP = 24;

interface Fields {
  readonly [name: string]: unknown;
}

interface Misspelt {
  readonly field: string;
  readonly message: string;
}

/**
 * A key that is probably a misspelt counted field; `null` if there is none. All other unknown keys are
 * ignored, because clients send more than we know. `inUrl`: the names of URL parameters, which such a request
 * does not accept.
 */
export function findMisspeltCount(
  { shape }: { readonly shape: Fields },
  sent: Fields,
  inUrl: readonly string[] = [],
): Misspelt | null {
  const missing = COUNTED_FIELDS.filter((field) => Object.hasOwn(shape, field) && sent[field] == null);
  if (missing.length === 0) return null;
  const isOther = (key: string) => OTHER_WORDS.has(key) && !missing.some((field) => field === key);
  const inBody = Object.keys(sent).filter((key) => !Object.hasOwn(shape, key) && sent[key] !== null);
  for (const field of [...inBody, ...inUrl.map((name) => name.toLowerCase())]) {
    if (isOther(field) || field.length > LONGEST_SLIP) continue;
    if (missing.some((name) => name === field)) return { field, message: `Send "${field}" in the body.` };
    const hint = hintAt(field, missing);
    if (hint !== '') return { field, message: `This request has no field "${field}".${hint}` };
  }
  return null;
}

/** A cache: clients send the same unknown keys with every request, and comparing names takes long. */
const hints = new Map<string, string>();
const MAX_HINTS = 1000;

function hintAt(field: string, missing: readonly string[]): string {
  const key = `${field} ${missing.join()}`;
  const known = hints.get(key);
  if (known !== undefined) return known;
  const hint = suggest(field, missing) || suggest(field.replaceAll(/[_-]/g, ''), missing);
  if (hints.size >= MAX_HINTS) hints.clear();
  hints.set(key, hint);
  return hint;
}
