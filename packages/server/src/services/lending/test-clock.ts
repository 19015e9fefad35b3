import { DEMO_LICENSE } from '../../core/nouns/demo-license.ts';
import { type License, type LicenseId, licenseId } from '../../core/nouns/license.ts';
import type { Refused } from '../../core/outcome.ts';
import { refuseUntested } from '../../core/system/test-clock.ts';
import type { Executed, Store } from '../../store/store.ts';

type Wish = Partial<Pick<License, 'slots' | 'timeoutMinutes' | 'maxBorrowHours'>>;

/** For those who test applications: lets time pass, and makes licenses up. */
export interface TestClock {
  /** Resolves when the background work that was due by then is done. */
  advance(millis: number): Promise<Executed>;
  /** The license of a product, as wished; a later wish changes it. */
  makeLicense(product: string, wish: Wish): Promise<LicenseId | Refused>;
  /** What else follows the time. */
  onPassed(follow: (millis: number) => Promise<void>): void;
}

export function createTestClock(store: Store): TestClock {
  let pass = async (_millis: number) => {};
  /** One license is made after the other, so that each gets an id of its own. */
  let making: Promise<unknown> = Promise.resolve();

  async function makeOne(product: string, wish: Wish): Promise<LicenseId | Refused> {
    const { hasTestClock } = await store.read({ kind: 'describe_store' });
    if (!hasTestClock) return refuseUntested();
    const records = await store.read({ kind: 'list_licenses', product: null });
    const known = records.find(({ license }) => license.product === product)?.license;
    const newest = Math.max(DEMO_LICENSE.id, ...records.map(({ license }) => license.id));
    const id = known?.id ?? licenseId(newest + 1);
    const license = { ...DEMO_LICENSE, ...known, ...wish, id, product };
    const outcome = await store.execute({ kind: 'install_license', license, by: 'demo' });
    return outcome.kind === 'refused' ? outcome : id;
  }

  return {
    async advance(millis) {
      const outcome = await store.execute({ kind: 'advance_test_clock', millis });
      if (outcome.kind !== 'refused') await pass(millis);
      return outcome;
    },
    makeLicense(product, wish) {
      const made = making.then(() => makeOne(product, wish));
      making = made.catch(() => {});
      return made;
    },
    onPassed(follow) {
      pass = follow;
    },
  };
}
