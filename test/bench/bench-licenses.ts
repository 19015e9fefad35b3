import type { License } from '../../packages/server/src/core/nouns/license.ts';
import { testLicense } from '../support/test-license.ts';
import { USER_MARK, userDigits } from './load/load-plan.ts';
import { OWN_PRODUCT } from './requests.ts';
import type { Seed } from './seed-store.ts';

export function benchLicense(id: number, product: string, slots: number): License {
  return testLicense(id, { product, slots, timeoutMinutes: 120 });
}

/** The products of the server that most scenarios share, each for one purpose. */
export const PRODUCTS = {
  renew: 'renew',
  shared: 'shared',
  half10: 'half-10',
  half1000: 'half-1000',
  half50000: 'half-50000',
  half100000: 'half-100000',
  full: 'full',
  open: 'open',
  borrow: 'borrow',
  herd: 'herd',
  count: 'count',
  waited: 'waited',
  certified: 'certified',
} as const;

/** A license of 10 slots for each of so many users: over as many connections none gets in another's way. */
export const OWN_LICENSES = 64;

export function ownProduct(user: number): string {
  return OWN_PRODUCT.replace(USER_MARK, userDigits(user));
}

export function seed(id: number, product: string, slots: number, held: number): Seed {
  return { license: benchLicense(id, product, slots), held };
}

/** What the server that most scenarios share has at its start. */
export const SEEDS: readonly Seed[] = [
  seed(1, PRODUCTS.renew, 2000, 1000),
  seed(2, PRODUCTS.shared, 10, 0),
  seed(3, PRODUCTS.half10, 10, 5),
  seed(4, PRODUCTS.half1000, 1000, 500),
  seed(5, PRODUCTS.half100000, 100_000, 50_000),
  seed(11, PRODUCTS.half50000, 50_000, 25_000),
  seed(6, PRODUCTS.full, 100, 100),
  seed(7, PRODUCTS.open, 1_000_000, 0),
  seed(8, PRODUCTS.borrow, 1000, 0),
  seed(9, PRODUCTS.herd, 5000, 0),
  { license: countingLicense(10), held: 0 },
  { license: { ...benchLicense(12, PRODUCTS.waited, 5), timeoutMinutes: 1 }, held: 0 },
  { ...seed(13, PRODUCTS.certified, 2000, 1000), isCertified: true },
  ...Array.from({ length: OWN_LICENSES }, (_, index) => seed(100 + index, ownProduct(2 * index + 1), 10, 5)),
];

/** Counts without end, so that a benchmark is never refused. */
export function countingLicense(id: number): License {
  const license = benchLicense(id, PRODUCTS.count, 10);
  return { ...license, type: 'consumption', consumption: { ...license.consumption, unlimited: true } };
}
