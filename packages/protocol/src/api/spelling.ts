import { didYouMean, suggest } from '../suggest.ts';
import { featureRegisterAnswer } from './consumption.ts';
import { registerAnswer } from './lending.ts';

/** Names that clients are known to send. */
const FORMER_NAMES: Readonly<Record<string, readonly string[]>> = { borrowed_until: ['borrow_until'] };

/**
 * How the keys of a body may be spelled. They arrive in lower case, so a name without its underscores is its
 * camelCase form. If a field is sent under several names, the documented one counts. Unknown keys are
 * ignored, because clients send more than we know, unless a field that decides how much is lent or counted is
 * missing and a key resembles it.
 */
export function otherSpellings(field: string): readonly string[] {
  const former = FORMER_NAMES[field] ?? [];
  return [field, ...former].flatMap((name) => [name, joined(name)]).filter((name) => name !== field);
}

function joined(name: string): string {
  return name.replaceAll('_', '');
}

/** A misspelt one would change how much is counted, or for how long a slot is borrowed. */
const DECIDING_FIELDS = ['consumptions', 'max_overages', 'allow_overages', 'borrowed_until'].map((field) => ({
  field,
  names: [field, ...otherSpellings(field)],
}));

export function hasDecidingField({ shape }: { readonly shape: Fields }): boolean {
  return DECIDING_FIELDS.some(({ field }) => Object.hasOwn(shape, field));
}

/** Similar names that are valid: clients may send back fields of an answer. */
const ANSWERED = new Set(
  Object.keys({ ...registerAnswer.shape, ...featureRegisterAnswer.shape }).map((name) => joined(name)),
);

/** A longer name is not similar to a deciding field. */
const LONGEST_SLIP = 24;

interface Fields {
  readonly [name: string]: unknown;
}

interface Misspelt {
  readonly field: string;
  readonly message: string;
}

/**
 * A key that is probably a misspelt deciding field; `null` if there is none. `inUrl`: the names of URL
 * parameters, which such a request does not accept.
 */
export function findMisspelt(
  { shape }: { readonly shape: Fields },
  sent: Fields,
  inUrl: readonly string[] = [],
): Misspelt | null {
  const missing = DECIDING_FIELDS.filter(
    ({ field, names }) => Object.hasOwn(shape, field) && names.every((name) => sent[name] == null),
  ).map(({ field }) => field);
  if (missing.length === 0) return null;
  const isMissing = (key: string) => missing.some((field) => joined(field) === joined(key));
  const inBody = Object.keys(sent).filter((key) => !Object.hasOwn(shape, key) && sent[key] !== null);
  for (const field of [...inBody, ...inUrl.map((name) => name.toLowerCase())]) {
    if (field.length > LONGEST_SLIP || (ANSWERED.has(joined(field)) && !isMissing(field))) continue;
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
  const hint =
    suggest(field, missing) || suggest(field.replaceAll(/[_-]/g, ''), missing) || hintAtOther(field, missing);
  if (hints.size >= MAX_HINTS) hints.clear();
  hints.set(key, hint);
  return hint;
}

function hintAtOther(field: string, missing: readonly string[]): string {
  const isMeant = (name: string) =>
    name.split('_').at(-1) === field || suggest(field, otherSpellings(name)) !== '';
  return didYouMean(missing.filter(isMeant).slice(0, 1));
}
