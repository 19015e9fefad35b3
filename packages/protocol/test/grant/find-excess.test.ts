import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { findExcess } from '../../src/grant/find-excess.ts';
import type { CertifiedLicense } from '../../src/grant/server-certificate.ts';

const CERTIFIED: CertifiedLicense = {
  license_id: 7,
  product: 'cad',
  limits: {
    license_type: 'time-limited',
    is_trial: false,
    floating_users: 5,
    floating_timeout: 10,
    max_borrow_time: 24,
    validity_period: '2026-12-31T00:00:00.000Z',
    max_consumptions: 100,
    allow_unlimited_consumptions: false,
  },
  features: [
    {
      code: 'render',
      feature_type: 'consumption',
      max_consumptions: 10,
      allow_unlimited_consumptions: false,
      expiry_date: '2026-06-30T00:00:00.000Z',
      floating_users: 2,
    },
    {
      code: 'export',
      feature_type: 'activation',
      max_consumptions: 0,
      allow_unlimited_consumptions: true,
      expiry_date: null,
      floating_users: null,
    },
  ],
  ends_at: '2027-01-02T00:00:00.000Z',
};
const { ends_at: _, ...TERMS } = CERTIFIED;
const CLAIMED = { ...TERMS, valid_until: '2026-05-01T00:00:00.000Z', feature: null };
const [RENDER, EXPORT] = CERTIFIED.features;

const limits = (more: object) => ({ limits: { ...TERMS.limits, ...more } });
const render = (more: object) => ({ features: [{ ...RENDER, ...more }, EXPORT] });

describe('a grant', () => {
  test('may claim what is certified, and less', () => {
    for (const less of [
      {},
      limits({ floating_users: 0, floating_timeout: 1, max_borrow_time: 0, max_consumptions: 99 }),
      limits({ validity_period: '2026-12-30T23:59:59.999Z', license_type: 'perpetual' }),
      { valid_until: '2027-01-02T00:00:00.000Z' },
      { features: [] },
      { feature: 'export' },
      render({ max_consumptions: 9, floating_users: null, expiry_date: '2026-06-29T00:00:00.000Z' }),
      { features: [{ ...EXPORT, max_consumptions: 1_000_000, allow_unlimited_consumptions: false }] },
      { features: [{ ...EXPORT, expiry_date: '2099-01-01T00:00:00.000Z', floating_users: 0 }] },
    ]) {
      assert.equal(findExcess(CERTIFIED, { ...CLAIMED, ...less } as never), null, JSON.stringify(less));
    }
    const endless = { ...CERTIFIED, ends_at: null, ...limits({ validity_period: null }) };
    assert.equal(findExcess(endless, { ...CLAIMED, ...limits({ validity_period: null }) }), null);
  });

  for (const [what, more] of Object.entries({
    license_id: { license_id: 8 },
    product: { product: 'cam' },
    'limits.floating_users': limits({ floating_users: 6 }),
    'limits.floating_timeout': limits({ floating_timeout: 11 }),
    'limits.max_borrow_time': limits({ max_borrow_time: 24.5 }),
    'limits.max_consumptions': limits({ max_consumptions: 101 }),
    'limits.allow_unlimited_consumptions': limits({ allow_unlimited_consumptions: true }),
    'limits.validity_period': limits({ validity_period: '2026-12-31T00:00:00.001Z' }),
    valid_until: { valid_until: '2027-01-02T00:00:00.001Z' },
    feature: { feature: 'simulate' },
    'features.simulate': { features: [{ ...RENDER, code: 'simulate' }] },
    'features.render.max_consumptions': render({ max_consumptions: 11 }),
    'features.render.allow_unlimited_consumptions': render({ allow_unlimited_consumptions: true }),
    'features.render.floating_users': render({ floating_users: 3 }),
    'features.render.expiry_date': render({ expiry_date: null }),
    'features.export.floating_users': { features: [{ ...EXPORT, floating_users: 1 }] },
  })) {
    test(`may not claim more: ${what}`, () => {
      assert.equal(findExcess(CERTIFIED, { ...CLAIMED, ...more } as never), what);
    });
  }

  test('cannot hide a claim behind something that is no number or date', () => {
    for (const odd of [Number.NaN, '1', null, undefined, -Number.NaN, {}, true]) {
      assert.equal(
        findExcess(CERTIFIED, { ...CLAIMED, ...limits({ floating_users: odd }) }),
        USERS,
        `${odd}`,
      );
    }
    for (const odd of [null, '', 'soon', 0, '0001-01-01T00:00:00Z']) {
      const claimed = { ...CLAIMED, ...limits({ validity_period: odd }) };
      assert.equal(findExcess(CERTIFIED, claimed), 'limits.validity_period', `${odd}`);
    }
    const odd = { ...CLAIMED, ...limits({ allow_unlimited_consumptions: 'no' }) };
    assert.equal(findExcess(CERTIFIED, odd), 'limits.allow_unlimited_consumptions');
  });
});

const USERS = 'limits.floating_users';
