import type { Instant } from '@berth/server/core/nouns/instant';

/** What a store must answer if it refuses. */
export interface Refusal {
  readonly kind: 'refused';
  readonly code: string;
  readonly details?: Record<string, number | string | null | readonly string[]>;
}

interface FullLicense {
  readonly facts: { readonly slots: number };
  readonly holders: ReadonlyMap<string, { readonly endsAt: Instant }>;
}

export function refuse(code: string): Refusal {
  return { kind: 'refused', code };
}

/** A shrunk license may need more than one end until there is room, so it names no time. */
export function refuseFull({ facts, holders }: FullLicense, isHolder: boolean): Refusal {
  const ends = [...holders.values()].map(({ endsAt }) => endsAt);
  const isRoomNext = ends.length > 0 && ends.length - (isHolder ? 1 : 0) <= facts.slots;
  const nextFreeAt = isRoomNext ? { nextFreeAt: Math.min(...ends) } : {};
  const details = { slots: facts.slots, inUse: holders.size, ...nextFreeAt };
  return { kind: 'refused', code: 'floating_not_available', details };
}

/** What comes later here was nearer to being granted. */
const NEARER: readonly string[] = [
  'license_borrow_not_allowed',
  'borrow_until_not_valid',
  'floating_not_available',
  'address_limit_reached',
];

/** What several licenses have said, as one: those that are full are added up. */
export function sumUp(refusals: readonly Refusal[]): Refusal {
  const [nearest] = refusals.toSorted((a, b) => NEARER.indexOf(b.code) - NEARER.indexOf(a.code)) as [Refusal];
  if (nearest.code !== 'floating_not_available') return nearest;
  const limited = refusals.find(({ details }) => details?.rule !== undefined);
  if (limited !== undefined) return limited;
  const full = refusals.flatMap(({ code, details }) => (code === nearest.code && details ? [details] : []));
  const total = (name: string) => full.reduce((sum, details) => sum + (details[name] as number), 0);
  const ends = full.flatMap(({ nextFreeAt }) => (nextFreeAt as number | undefined) ?? []);
  const nextFreeAt = ends.length === 0 ? {} : { nextFreeAt: Math.min(...ends) };
  const details = { slots: total('slots'), inUse: total('inUse'), ...nextFreeAt, licenses: full.length };
  return { kind: 'refused', code: nearest.code, details };
}
