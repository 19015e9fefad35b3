import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { addConsumptionRequest, addFeatureConsumptionRequest } from '../../src/api/consumption.ts';
import { borrowRequest, registerRequest } from '../../src/api/lending.ts';
import { licenseObject } from '../../src/api/license-object.ts';
import { findMisspelt } from '../../src/api/spelling.ts';

const REQUESTS = [addConsumptionRequest, addFeatureConsumptionRequest];

describe('a count or a date that was probably misspelt', () => {
  const slips: Readonly<Record<string, string>> = {
    consumption: 'consumptions',
    'consumptions ': 'consumptions',
    ' consumptions': 'consumptions',
    consumtions: 'consumptions',
    comsumption: 'consumptions',
    'con-sumptions': 'consumptions',
    num_consumptions: 'consumptions',
    consumption_count: 'consumptions',
    max_overage: 'max_overages',
    max_overrages: 'max_overages',
    'max-overages': 'max_overages',
    allow_overage: 'allow_overages',
    'allow-overages': 'allow_overages',
  };
  for (const [slip, meant] of Object.entries(slips)) {
    test(`${JSON.stringify(slip)} was ${meant}`, () => {
      for (const request of REQUESTS) {
        assert.deepEqual(findMisspelt(request, { product: 'cad', [slip]: 5 }), {
          field: slip,
          message: `This request has no field "${slip}". Did you mean "${meant}"?`,
        });
      }
    });
  }

  test('is not assumed when the count is there, or the slip has no value', () => {
    for (const request of REQUESTS) {
      assert.equal(findMisspelt(request, { consumptions: 1, consumption: 5 }), null);
      assert.equal(findMisspelt(request, { consumption: null }), null);
      assert.notEqual(findMisspelt(request, { consumptions: null, consumption: 5 }), null);
    }
  });

  test('has the name that our clients use', () => {
    const { message } = findMisspelt(borrowRequest, { user: 'ann', until: '2h' }) ?? {};
    assert.equal(message, 'This request has no field "until". Did you mean "borrowed_until"?');
  });

  test('may be in the URL, where such a request takes nothing', () => {
    const inUrl = (name: string) => findMisspelt(addConsumptionRequest, {}, [name])?.message;
    assert.equal(inUrl('Consumptions'), 'Send "consumptions" in the body.');
    assert.match(inUrl('consumption') ?? '', /Did you mean "consumptions"\?$/);
    assert.equal(inUrl('sdk_ver'), undefined);
    assert.equal(findMisspelt(addConsumptionRequest, { consumptions: 1 }, ['consumptions']), null);
  });
});

describe('other fields of clients', () => {
  const common =
    'sdk_ver app_ver os_ver app_version sdk_version registered_at hostname os_hostname ip ip_local ' +
    'user_info hardware_id mac_address license_key license_type username password email company event ' +
    'feature feature_code features metadata device_id id_token customer_account_code bundle_code ' +
    'variables date signature api_key count amount options comments description';
  test('are ignored, including those of answers', () => {
    const keys = [...common.split(' '), ...Object.keys(licenseObject.shape), 'max_consumption'];
    const counted = ['consumptions', 'max_overages', 'allow_overages', 'borrowed_until'];
    const sent = Object.fromEntries(keys.filter((key) => !counted.includes(key)).map((key) => [key, 5]));
    for (const request of [...REQUESTS, borrowRequest])
      assert.equal(findMisspelt(request, sent, keys.slice(0, 20)), null);
  });

  test('are ignored if nothing is counted, and if they are long', () => {
    assert.equal(findMisspelt(registerRequest, { consumption: 5 }), null);
    assert.equal(findMisspelt(addConsumptionRequest, { ['consumption'.repeat(5000)]: 5 }), null);
  });
});
