import type { GetAnswer } from '@berth/protocol/admin/admin-api';
import type { Waits } from '@berth/protocol/admin/history';
import type { License } from '@berth/protocol/admin/licenses';
import { formatNumber } from './numbers.ts';
import { formatSpan, SECOND_MS } from './time.ts';

export type Line = GetAnswer<'/api/admin/line'>;

export type WaitingUser = Line['line'][number];

/** Those who wait for a product or its features. */
interface ProductLine {
  /** One of those that lend it; `null`: it was removed meanwhile. */
  readonly license: License | null;
  readonly product: string;
  readonly waiting: number;
  readonly longestSeconds: number;
}

/** The line of each product, the longest wait first. */
export function listLines(
  line: readonly WaitingUser[],
  licenses: readonly License[],
): readonly ProductLine[] {
  return [...Map.groupBy(line, ({ product }) => product)]
    .map(([product, own]) => ({
      license: licenses.find((one) => one.product === product) ?? null,
      product,
      waiting: own.length,
      longestSeconds: Math.max(...own.map(({ waited_seconds }) => waited_seconds)),
    }))
    .toSorted((one, other) => other.longestSeconds - one.longestSeconds);
}

/** Such as 40 s or 12 min. */
export function sayWait(seconds: number): string {
  return seconds < 60 ? `${seconds} s` : formatSpan(seconds * SECOND_MS);
}

/** How many wait, and how long users of the license waited in the last 30 days. */
export function sayLineNote(count: number, waits: readonly Waits[]): string {
  const { median_ms: median = null, p90_ms: p90 = null } =
    waits.find(({ feature }) => feature === null) ?? {};
  const now = `${formatNumber(count)} in line`;
  if (median === null || p90 === null) return now;
  const [half, most] = [median, p90].map((ms) => sayWait(Math.round(ms / SECOND_MS)));
  const before = `half of those who got a slot waited up to ${half}, 9 of 10 up to ${most}`;
  return `${now}; in the last 30 days ${before}`;
}

const WORDS = { full: 'Full', reserved: 'Reserved', limit: 'Limit' } as const;

/** From so many on, they are grouped by why they wait. */
const MANY = 50;

/** Those who wait for the same reason. */
interface WaitingGroup {
  /** `null`: all reasons together. */
  readonly title: string | null;
  readonly line: readonly WaitingUser[];
}

/** In the order of their turns; many by reason, the most frequent first. */
export function groupLine(line: readonly WaitingUser[]): readonly WaitingGroup[] {
  const byWhy = [...Map.groupBy(line, ({ why }) => why)];
  if (line.length < MANY || byWhy.length === 1) return [{ title: null, line }];
  return byWhy
    .map(([why, own]) => ({ title: WORDS[why], line: own }))
    .toSorted((one, other) => other.line.length - one.line.length);
}

/** Why somebody waits: a word, and a clause that may be empty. */
export function sayWhy(
  { why, rule, product, feature }: WaitingUser,
  licenses: readonly License[],
): readonly [word: string, clause: string] {
  if (why !== 'full') return [WORDS[why], rule === null ? '' : `Rule: ${rule}`];
  const lenders = licenses.filter((one) => one.product === product).flatMap((one) => lenderOf(one, feature));
  const slots = lenders.reduce((sum, one) => sum + one.slots, 0);
  const inUse = lenders.reduce((sum, one) => sum + one.inUse, 0);
  // A slot may have become free since, or is kept for somebody who comes first.
  if (slots === 0 || inUse < slots) return [WORDS[why], ''];
  return [
    WORDS[why],
    slots === 1 ? 'The only slot is in use' : `All ${formatNumber(slots)} slots are in use`,
  ];
}

function lenderOf(license: License, feature: string | null) {
  if (feature === null) return [{ slots: license.floating_users, inUse: license.floating_in_use }];
  return license.product_features
    .filter(({ code }) => code === feature)
    .map(({ floating_users = 0, floating_in_use_devices = 0 }) => ({
      slots: floating_users,
      inUse: floating_in_use_devices,
    }));
}
