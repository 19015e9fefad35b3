import { OWN_LICENSES, PRODUCTS } from './bench-licenses.ts';
import { HEARTBEATS, type LoadWish } from './bench-run.ts';
import type { UserPlan } from './load/load-plan.ts';
import { consumptionPlan, OWN_PRODUCT, registerPlan, unregisterPlan } from './requests.ts';

/** Users who hold a slot since before the server started, each on connections of their own. */
export function holders(count: number, pick: UserPlan['pick'] = 'own'): UserPlan {
  return { from: 0, step: 2, count, pick };
}

/** Users who hold none yet. */
export function newcomers(count: number, pick: UserPlan['pick']): UserPlan {
  return { from: 1, step: 2, count, pick };
}

export function renewal(label: string, connections: number): LoadWish {
  return { label, connections, ...HEARTBEATS };
}

/** Sizes of license that are compared, and the product that has so many slots. */
export const SIZES = [
  { slots: 10, product: PRODUCTS.shared },
  { slots: 50_000, product: PRODUCTS.half50000 },
  { slots: 100_000, product: PRODUCTS.half100000 },
] as const;

type Size = (typeof SIZES)[number];

/** Ten slots are renewed by ten users, more of them by any of the users who hold half of them. */
export function renewalOf({ product, slots }: Size, connections: number): LoadWish {
  return {
    label: `heartbeat, ${slots.toLocaleString('en')} slots, ${connections} connections`,
    connections,
    requests: [registerPlan(product)],
    users: slots === 10 ? { from: 0, step: 1, count: 10, pick: 'own' } : holders(slots / 2, 'random'),
  };
}

export function churnOf(product: string, slots: number, connections: number): LoadWish {
  return {
    label: `register + unregister, ${slots.toLocaleString('en')} slots, ${connections} connections`,
    connections,
    requests: [registerPlan(product), unregisterPlan(product)],
    users: newcomers(slots / 2, 'random'),
  };
}

/** A license of 10 slots has no room for so many connections, so that each of them has one of its own. */
export function churnOfSize({ product, slots }: Size, connections: number): LoadWish {
  if (slots !== 10) return churnOf(product, slots, connections);
  return {
    label: `register + unregister, ${connections} licenses of 10 slots, ${connections} connections`,
    connections,
    requests: [registerPlan(OWN_PRODUCT), unregisterPlan(OWN_PRODUCT)],
    users: newcomers(OWN_LICENSES, 'own'),
  };
}

export function counting(label: string, connections: number): LoadWish {
  return { label, connections, requests: [consumptionPlan(PRODUCTS.count)], users: holders(1000) };
}
