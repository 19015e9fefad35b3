import type { AuditEvent } from '@berth/protocol/admin/audit';
import type { Denial, UserHistory } from '@berth/protocol/admin/history';
import { countWord } from './numbers.ts';
import { DAY_MS, formatSpan } from './time.ts';

/** So many days the server keeps apart. */
export const USE_DAYS = 31;

/** What a person holds, in a sentence. */
export function sayHolding(held: number, borrowed: number): string {
  if (held === 0 && borrowed === 0) return 'Holds no slot.';
  if (borrowed === 0) return `Holds ${slots(held)}.`;
  if (held === 0) return `Has borrowed ${slots(borrowed)}.`;
  return `Holds ${slots(held)} and has borrowed ${countWord(borrowed).toLowerCase()} more.`;
}

/** For what a person waits, after what they hold; empty: for nothing. */
export function sayWaiting(names: readonly string[]): string {
  return names.length === 0 ? '' : ` Waits for a slot of ${names.join(' and of ')}.`;
}

function slots(count: number): string {
  return `${countWord(count).toLowerCase()} ${count === 1 ? 'slot' : 'slots'}`;
}

const MATCHES: Readonly<Record<string, string>> = {
  users: 'by name',
  hosts: 'by computer',
  addresses: 'by address',
  groups: 'as a member of',
  directory: 'in the directory as a member of',
};

/** What makes somebody a member of a group, from the server's words: "users: cad-*". */
export function sayMembership(by: string): string {
  const [list = '', ...entry] = by.split(': ');
  return `${MATCHES[list] ?? list} ${entry.join(': ')}`;
}

/** What a person used on a day. */
export interface DayUse {
  /** Noon, UTC: the same day nearly everywhere. */
  readonly at: number;
  readonly heldMs: number;
  readonly denials: number;
}

/** The last days up to today, also those without use. */
export function listDays(rows: readonly UserHistory[], now: number): readonly DayUse[] {
  const today = Math.floor(now / DAY_MS) * DAY_MS;
  const byDay = Map.groupBy(rows, ({ day }) => Date.parse(day ?? ''));
  return Array.from({ length: USE_DAYS }, (_, index) => {
    const day = today - (USE_DAYS - 1 - index) * DAY_MS;
    const found = byDay.get(day) ?? [];
    const own = found.filter(({ feature }) => feature === null);
    return {
      at: day + DAY_MS / 2,
      heldMs: own.reduce((sum, { held_ms }) => sum + held_ms, 0),
      denials: found.reduce((sum, { denials }) => sum + denials, 0),
    };
  });
}

/** What the audit log knows of a person after a denial. */
export interface Later {
  /** When they took slots. */
  readonly events: readonly AuditEvent[];
  /** Whether the log was searched to the end. */
  readonly isComplete: boolean;
  /** Licenses of one product lend for each other. */
  readonly products: ReadonlyMap<number, string>;
}

/** What happened after a denial; null if it is not known. */
export function sayAfter(denial: Denial, denials: readonly Denial[], later: Later): string | null {
  const deniedAt = Date.parse(denial.last_at);
  const grants = later.events
    .filter(
      ({ license_id, feature }) =>
        later.products.get(license_id ?? 0) === denial.product && (feature ?? null) === denial.feature,
    )
    .map(({ at }) => Date.parse(at));
  const got = firstAfter(grants, deniedAt);
  const again = firstAfter(
    denials
      .filter(({ product, feature }) => product === denial.product && feature === denial.feature)
      .map(({ first_at }) => Date.parse(first_at)),
    deniedAt,
  );
  if (got !== null && got <= (again ?? got)) return `Got a slot ${formatSpan(got - deniedAt)} later.`;
  if (again !== null) return `Was refused again ${formatSpan(again - deniedAt)} later.`;
  return later.isComplete ? 'Did not ask again.' : null;
}

function firstAfter(times: readonly number[], at: number): number | null {
  const after = times.filter((time) => time > at);
  return after.length === 0 ? null : Math.min(...after);
}
