import type { ConsumptionLimits, Feature } from './feature.ts';
import { type License, licenseId, NO_TIE } from './license.ts';

const NO_CONSUMPTION: ConsumptionLimits = {
  max: 0,
  unlimited: false,
  allowOverages: false,
  maxOverages: 0,
  allowNegative: false,
  period: null,
};

const EXPORT: Feature = {
  id: 999_000_002,
  code: 'export',
  name: 'Export (demo)',
  type: 'consumption',
  consumption: { ...NO_CONSUMPTION, max: 100 },
  floating: null,
  expiresAt: null,
  metadata: {},
};

const RENDER: Feature = {
  id: 999_000_003,
  code: 'render',
  name: 'Render (demo)',
  type: 'activation',
  consumption: NO_CONSUMPTION,
  floating: { slots: 2, timeoutMinutes: 10, canBorrow: true, maxBorrowHours: 168 },
  expiresAt: null,
  metadata: {},
};

/** What `--demo` adds to an empty store. Its ids are far from those that a vendor's cloud hands out. */
export const DEMO_LICENSE: License = {
  id: licenseId(999_000_001),
  product: 'demo',
  key: 'DEMO-DEMO-DEMO-DEMO',
  source: 'demo',
  type: 'consumption',
  slots: 5,
  timeoutMinutes: 10,
  canBorrow: true,
  maxBorrowHours: 168,
  enabled: true,
  active: true,
  startsAt: null,
  validUntil: null,
  allowGracePeriod: false,
  graceHours: 0,
  maxOfflineDays: null,
  consumption: { ...NO_CONSUMPTION, max: 1000, period: 'monthly' },
  features: [EXPORT, RENDER],
  particulars: {
    isTrial: false,
    maintenanceUntil: null,
    maxActivations: 1,
    timesActivated: 1,
    allowUnlimitedActivations: false,
    maxTransfers: 0,
    transferCount: 0,
    customFields: [],
    metadata: { demo: true },
    customer: { company_name: 'Berth demo' },
    productDetails: {
      id: 999_000_000,
      name: 'Berth demo product',
      authorizationMethod: 'license-key',
      metadata: {},
    },
  },
  tie: NO_TIE,
};
