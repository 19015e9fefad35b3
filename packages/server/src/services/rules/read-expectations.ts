import { suggest } from '@berth/protocol/suggest';
import { type Instant, instant } from '../../core/nouns/instant.ts';
import { type Expectation, REFUSING_RULES } from '../../core/rules/expectation.ts';
import type { Cursor } from './cursor.ts';
import { readGroupNames } from './read-groups.ts';
import type { Known } from './read-products.ts';
import { refuseEntry } from './refuse-entry.ts';
import type { Place } from './yaml-tree.ts';

/** They are run whenever the text is checked. */
const MAX_EXPECTATIONS = 1000;
const MAX_SLOTS = 1_000_000;

interface PlacedExpectation extends Expectation {
  readonly place: Place;
}

const FIELDS = [
  'user',
  'host',
  'address',
  'groups',
  'product',
  'feature',
  'held',
  'heldByHost',
  'heldByAddress',
  'free',
  'at',
  'answer',
  'rule',
] as const;

export function readExpectations(list: Cursor | undefined, known: Known): readonly PlacedExpectation[] {
  return (list?.items(MAX_EXPECTATIONS) ?? []).map((item) => readExpectation(item, known));
}

function readExpectation(item: Cursor, { groups }: Known): PlacedExpectation {
  const fields = item.fields(FIELDS);
  for (const name of ['user', 'product', 'answer'] as const) {
    if (fields[name] === undefined) item.fail(`has no "${name}".`);
  }
  const answer = fields.answer?.choice(['served', 'refused'], 'answer') ?? 'served';
  if (fields.rule !== undefined && answer === 'served') {
    fields.rule.fail('can only be expected with "answer: refused".', fields.rule.at);
  }
  return {
    place: item.at,
    user: fields.user?.text() ?? '',
    hostname: fields.host?.text() ?? null,
    address: readAddress(fields.address),
    groups: readGroupNames(fields.groups, groups),
    product: fields.product?.text() ?? '',
    feature: fields.feature?.text() ?? null,
    held: readHeld(fields.held, groups),
    heldAt: {
      host: fields.heldByHost?.wholeNumber(0, MAX_SLOTS) ?? 0,
      address: fields.heldByAddress?.wholeNumber(0, MAX_SLOTS) ?? 0,
    },
    free: fields.free?.wholeNumber(0, MAX_SLOTS) ?? null,
    at: readInstant(fields.at),
    answer,
    rule: readRule(fields.rule),
  };
}

function readAddress(address: Cursor | undefined): string | null {
  const text = address?.text() ?? null;
  if (text === null) return null;
  const problem = text.includes('/') ? `is "${text}"; write one address` : refuseEntry('address', text);
  if (problem !== null) address?.fail(`${problem}.`);
  return text;
}

function readHeld(held: Cursor | undefined, groups: ReadonlySet<string>): Readonly<Record<string, number>> {
  const entries = held?.entries('must contain groups with numbers: { cad-team: 2 }.') ?? [];
  return Object.fromEntries(
    entries.map(([group, slots]) => {
      if (!groups.has(group)) {
        slots.fail('names no group in "groups".', slots.at, () => suggest(group, [...groups]));
      }
      return [group, slots.wholeNumber(0, MAX_SLOTS) ?? 0];
    }),
  );
}

/** With a zone: the rules may have several. */
const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d)?(Z|[+-]\d\d:\d\d)$/;

function readInstant(at: Cursor | undefined): Instant | null {
  const text = at?.text() ?? null;
  if (text === null) return null;
  const time = INSTANT.test(text) ? Date.parse(text) : Number.NaN;
  if (!Number.isNaN(time)) return instant(time);
  at?.fail(`is "${text}"; write a time with its zone, such as 2026-03-02T09:00+01:00.`);
  return null;
}

/** A kind of rule, or the text of a rule, which begins with its kind. */
function readRule(rule: Cursor | undefined): string | null {
  const text = rule?.text() ?? null;
  const [kind = ''] = text?.split(' ') ?? [];
  if (text === null || REFUSING_RULES.includes(kind as (typeof REFUSING_RULES)[number])) return text;
  const example =
    suggest(kind, REFUSING_RULES) || ` Use ${REFUSING_RULES.join(', ')}, or the text of a rule.`;
  rule?.fail(`is "${text}", which is no rule that refuses.${example}`);
  return null;
}
