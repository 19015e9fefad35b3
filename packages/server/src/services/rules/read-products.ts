import {
  type BorrowRules,
  type Limit,
  MAX_RESERVATIONS,
  type Priority,
  type ProductRules,
  type Reservation,
  type SlotRules,
} from '../../core/rules/rule-set.ts';
import type { Cursor } from './cursor.ts';
import { readGroupName, readGroupNames, readNames } from './read-groups.ts';
import { refuseName } from './refuse-entry.ts';

/** The names that rules refer to. */
export interface Known {
  readonly groups: ReadonlySet<string>;
  readonly times: readonly string[];
}

/** Each decision looks at all lines of its product. */
export const MAX_LINES = 100;
export const MAX_SECTIONS = 1000;
const MAX_SLOTS = 1_000_000;
/** Ten years. */
export const MAX_HOURS = 87_600;
const MAX_LEVEL = 1000;

const SLOT_FIELDS = ['allow', 'deny', 'reserve', 'limit'] as const;

export function readProducts(
  section: Cursor | undefined,
  known: Known,
): Readonly<Record<string, ProductRules>> {
  return readSections(section, (product) => readProduct(product, known));
}

/** Sections whose names are those of products or features. */
function readSections<Rules>(
  section: Cursor | undefined,
  read: (one: Cursor) => Rules,
): Readonly<Record<string, Rules>> {
  const entries = section?.entries() ?? [];
  if (entries.length > MAX_SECTIONS) {
    section?.fail(`has ${entries.length} entries; at most ${MAX_SECTIONS} are allowed.`);
  }
  return Object.fromEntries(
    entries.map(([name, one]) => {
      const problem = refuseName(name);
      if (problem !== null) one.fail(`${problem}.`, one.at);
      return [name, read(one)];
    }),
  );
}

function readProduct(product: Cursor, known: Known): ProductRules {
  const fields = product.fields([...SLOT_FIELDS, 'borrow', 'priority', 'features']);
  return {
    ...readSlotRules(fields, known),
    borrow: fields.borrow === undefined ? null : readBorrow(fields.borrow, known),
    priority: (fields.priority?.items(MAX_LINES) ?? []).map((item) => readPriority(item, known)),
    features: readSections(fields.features, (feature) => readSlotRules(feature.fields(SLOT_FIELDS), known)),
  };
}

function readSlotRules(
  { allow, deny, reserve, limit }: Partial<Record<(typeof SLOT_FIELDS)[number], Cursor>>,
  known: Known,
): SlotRules {
  return {
    allow: readAllow(allow, known),
    deny: readNames(deny, known.groups),
    reserve: readReservations(reserve, known),
    limit: (limit?.items(MAX_LINES) ?? []).map((item) => readLimit(item, known)),
    lines: linesOf({ allow, deny }),
  };
}

/** Where sections begin, as far as they are there. */
export function linesOf(
  sections: Readonly<Record<string, Cursor | undefined>>,
): Readonly<Record<string, number>> {
  const given = Object.entries(sections).filter(([, section]) => section !== undefined);
  return Object.fromEntries(given.map(([name, section]) => [name, (section as Cursor).at.line]));
}

/** Nobody gets a slot if the list is empty, so it has to say so. */
function readAllow(allow: Cursor | undefined, { groups }: Known): readonly string[] | null {
  if (allow === undefined) return null;
  if (allow.isEmpty) allow.fail('is empty. List groups, write [] to allow nobody, or remove it.', allow.at);
  return readGroupNames(allow, groups);
}

function readReservations(reserve: Cursor | undefined, known: Known): readonly Reservation[] {
  const items = reserve?.items(MAX_RESERVATIONS) ?? [];
  return items.map((item) => {
    const { slots, for: group, during } = item.fields(['slots', 'for', 'during']);
    return {
      ...lineOf(item, during, known),
      slots: readNumber(item, 'slots', slots, 1, MAX_SLOTS),
      for: readFor(item, group, known),
    };
  });
}

function readLimit(item: Cursor, known: Known): Limit {
  const { slots, for: group, each, during } = item.fields(['slots', 'for', 'each', 'during']);
  if (group !== undefined && each !== undefined) item.fail('has both "for" and "each". Write two lines.');
  const place = each?.choice(['host', 'address'], 'kind of place');
  return {
    ...lineOf(item, during, known),
    slots: readNumber(item, 'slots', slots, 0, MAX_SLOTS),
    of: place == null ? { group: readLimited(item, group, each, known) } : { each: place },
  };
}

function readLimited(
  item: Cursor,
  group: Cursor | undefined,
  each: Cursor | undefined,
  known: Known,
): string {
  if (group === undefined && each !== undefined) return '';
  return readFor(item, group, known, ', or "each: host"');
}

function readBorrow(borrow: Cursor, known: Known): BorrowRules {
  const { allow, hours, keep, perAddress, during } = borrow.fields([
    'allow',
    'hours',
    'keep',
    'perAddress',
    'during',
  ]);
  return {
    ...lineOf(borrow, during, known),
    allow: readAllow(allow, known),
    hours: hours?.wholeNumber(1, MAX_HOURS) ?? null,
    keep: keep?.wholeNumber(0, MAX_SLOTS) ?? 0,
    perAddress: perAddress?.wholeNumber(0, MAX_SLOTS) ?? null,
  };
}

function readPriority(item: Cursor, known: Known): Priority {
  const { for: group, level, during } = item.fields(['for', 'level', 'during']);
  return {
    ...lineOf(item, during, known),
    for: readFor(item, group, known),
    level: readNumber(item, 'level', level, -MAX_LEVEL, MAX_LEVEL),
  };
}

function lineOf({ at }: Cursor, during: Cursor | undefined, { times }: Known) {
  return { line: at.line, during: during?.choice(times, 'name in "times"') ?? null };
}

function readNumber(item: Cursor, name: string, value: Cursor | undefined, min: number, max: number): number {
  if (value !== undefined) return value.wholeNumber(min, max) ?? min;
  item.fail(`has no "${name}".`);
  return min;
}

function readFor(item: Cursor, group: Cursor | undefined, { groups }: Known, others = ''): string {
  if (group !== undefined) return readGroupName(group, groups);
  item.fail(`does not say for whom. Add "for" with a group${others}.`);
  return '';
}
