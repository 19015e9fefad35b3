import { DEMO_LICENSE } from '@berth/server/core/nouns/demo-license';
import { DAY_MS, HOUR_MS, plus } from '@berth/server/core/nouns/instant';
import { type License, licenseId, NO_TIE } from '@berth/server/core/nouns/license';
import { START } from '../support/test-app.ts';
import { testLicense } from '../support/test-license.ts';

const { consumption: LIMITS, features: FEATURES } = DEMO_LICENSE;

/** One of each kind that is decided about differently. Of two for one product the later one answers. */
export const FUZZ_LICENSES: readonly License[] = [
  testLicense(2, { key: 'KEY-2', slots: 1, canBorrow: false, features: FEATURES }),
  testLicense(1, { key: 'KEY-1', slots: 3, features: FEATURES }),
  testLicense(3, {
    ...{ key: 'KEY-3', product: 'cam', type: 'perpetual', slots: 2, timeoutMinutes: 1, source: 'airgap' },
    validUntil: plus(START, 2 * HOUR_MS),
    allowGracePeriod: true,
    graceHours: 2,
  }),
  testLicense(4, { key: 'KEY-4', product: 'sim', startsAt: plus(START, DAY_MS) }),
  testLicense(5, { key: 'KEY-5', product: 'sim', enabled: false }),
  testLicense(6, { key: 'KEY-6', product: 'old', validUntil: plus(START, -DAY_MS) }),
  testLicense(7, {
    ...{ key: 'KEY-7', product: 'pay', slots: 4 },
    consumption: { ...LIMITS, unlimited: true, allowNegative: true, period: null },
    features: FEATURES.map((feature) => ({
      ...feature,
      consumption: { ...feature.consumption, allowOverages: true, maxOverages: 5, period: 'daily' as const },
    })),
  }),
  testLicense(8, {
    ...{ key: 'KEY-8', product: 'pay', slots: 0 },
    consumption: { ...LIMITS, max: 10, allowOverages: true, maxOverages: 3, period: 'weekly' },
  }),
  testLicense(9, {
    key: 'KEY-9',
    product: 'net',
    source: 'cloud',
    slots: 2,
    maxOfflineDays: 1,
    tie: { ...NO_TIE, checkedAt: START },
  }),
  { ...DEMO_LICENSE, id: licenseId(999_000_001) },
];
