import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { writeAirgapPublicKey } from '@berth/protocol/carried/airgap-codes';
import { HARDWARE_ID, openOfflineApp, register } from '../support/cloud/offline-app.ts';
import { TEST_VENDOR as vendor, vendorLicense } from '../support/cloud/test-vendor.ts';
import { openTestApp, readTraces, type TestApp } from '../support/test-app.ts';

describe('the air gap', () => {
  const KEY = 'AAAA-BBBB-CCCC-DDDD';
  const POLICY = { license_key: KEY, policy_id: '4711' };

  function install(app: TestApp, fields: object) {
    return app.post('/api/v4/airgap/license', fields);
  }

  /** Each code that is made is another one. */
  const confirmation_code = vendor.confirm(HARDWARE_ID, KEY, '4711');

  async function confirmed(app: TestApp, fields: object = {}) {
    return install(app, { ...POLICY, license_policy: vendor.policy(), confirmation_code, ...fields });
  }

  test('an initialization code becomes an activation code of this server', async (t) => {
    const app = await openOfflineApp(t);
    const wish = { license_key: KEY, signing_key: vendor.initializationCode };
    const { status, body } = await app.post('/api/v4/airgap/generate', wish);
    assert.deepEqual([status, body.hardware_id, body.status], [200, HARDWARE_ID, 'ok']);
    assert.ok(vendor.isActivation(body.activation_code as string, HARDWARE_ID, KEY));
    assert.ok(!vendor.isActivation(body.activation_code as string, 'other', KEY));
    const listOpen = async () => (await app.get('/api/admin/license-requests')).body.requests;
    const [open, ...others] = (await listOpen()) as readonly Record<string, unknown>[];
    assert.deepEqual([open?.request, open?.key_end, others], ['airgap', 'DDDD', []]);
    assert.equal((await confirmed(app)).status, 200);
    assert.deepEqual(await listOpen(), [], 'the license is here');
    for (const signing_key of [
      'AAAA',
      '!',
      Buffer.alloc(32).toString('base64'),
      Buffer.alloc(32, 255).toString('base64'),
    ]) {
      const wrong = await app.post('/api/v4/airgap/generate', { license_key: KEY, signing_key });
      assert.equal(wrong.body.code, 'airgap_code_invalid');
    }
    assert.equal((await app.post('/api/v4/airgap/generate', {})).body.code, 'missing_parameters');
  });

  test('a policy with its confirmation is added; the same call again leaves one license', async (t) => {
    const app = await openOfflineApp(t);
    assert.equal((await confirmed(app)).status, 200);
    assert.equal(await register(app, 'ada'), 200);
    const before = await readTraces(app.store);
    assert.equal((await confirmed(app)).status, 200);
    assert.deepEqual(await readTraces(app.store), before);
    assert.equal(before.licenses[0]?.license.source, 'airgap');
  });

  test('removed and added again, its total continues', async (t) => {
    const app = await openOfflineApp(t);
    await confirmed(app);
    await app.post('/api/v4/add_consumption', { product: 'cad', consumptions: 8 });
    assert.equal((await app.get('/api/v4/removeProduct?product=cad')).status, 200);
    assert.equal((await confirmed(app)).body.total_consumptions, 8);
  });

  const REFUSED: Readonly<Record<string, readonly [string, () => object]>> = {
    'a code for another server': [
      'airgap_confirmation_invalid',
      () => ({ confirmation_code: vendor.confirm('other', KEY, '4711') }),
    ],
    'a code for another key': ['airgap_confirmation_invalid', () => ({ license_key: 'OTHER' })],
    'a code for another policy': [
      'airgap_confirmation_invalid',
      () => ({ policy_id: '4712', license_policy: vendor.policy({ id: 4712 }) }),
    ],
    'a swapped policy': ['airgap_policy_mismatch', () => ({ license_policy: vendor.policy({ id: 4712 }) })],
    'a policy of another key': [
      'airgap_policy_mismatch',
      () => ({ license_policy: vendor.policy({ license_key: 'OTHER' }) }),
    ],
    'a code whose text is split elsewhere: the policy id': [
      'airgap_policy_mismatch',
      () => ({ license_key: `${KEY}4`, policy_id: '711', license_policy: vendor.policy({ id: 711 }) }),
    ],
    'a code whose text is split elsewhere: a policy without a key': [
      'airgap_policy_mismatch',
      () => ({
        license_key: `${KEY}4`,
        policy_id: '711',
        license_policy: vendor.policy({ id: 711, license_key: '' }),
      }),
    ],
    'a policy id that is only numerically equal': [
      'airgap_policy_mismatch',
      () => ({ policy_id: '04711', confirmation_code: vendor.confirm(HARDWARE_ID, KEY, '04711') }),
    ],
    'a policy id with a sign': [
      'airgap_policy_mismatch',
      () => ({ policy_id: '+4711', confirmation_code: vendor.confirm(HARDWARE_ID, KEY, '+4711') }),
    ],
    'a license key in another case': [
      'airgap_policy_mismatch',
      () => {
        const license_key = KEY.toLowerCase();
        return { license_key, confirmation_code: vendor.confirm(HARDWARE_ID, license_key, '4711') };
      },
    ],
    'a license key with a blank': [
      'airgap_policy_mismatch',
      () => ({ license_key: `${KEY} `, confirmation_code: vendor.confirm(HARDWARE_ID, `${KEY} `, '4711') }),
    ],
    'a policy without a signature': [
      'airgap_policy_invalid',
      () => ({ license_policy: unsigned({ floating_users: 1000 }) }),
    ],
    'a policy with a term of newer servers': [
      'airgap_policy_invalid',
      () => ({ license_policy: vendor.policy({ requires: ['seats'] }) }),
    ],
    'a policy that is not floating': [
      'airgap_policy_invalid',
      () => ({ license_policy: vendor.policy({ is_floating: false }) }),
    ],
    'no policy at all': ['missing_parameters', () => ({ license_policy: null })],
    'zeros for a code': [
      'airgap_confirmation_invalid',
      () => ({ confirmation_code: Buffer.alloc(64).toString('base64') }),
    ],
  };

  function unsigned(fields: object): string {
    const { license_type, ...rest } = vendorLicense({ date: '2030-01-10T00:00:00Z', ...fields });
    const license = { ...rest, default_license_type: license_type };
    return Buffer.from(JSON.stringify(license)).toString('base64');
  }

  for (const [title, [code, change]] of Object.entries(REFUSED)) {
    test(`${title} is refused, and nothing is stored`, async (t) => {
      const app = await openOfflineApp(t);
      const before = await readTraces(app.store);
      const { status, body } = await confirmed(app, change());
      assert.deepEqual([status, body.code], [400, code]);
      assert.deepEqual(await readTraces(app.store), before);
    });
  }

  test('an unsigned policy is accepted only if that is allowed', async (t) => {
    const app = await openOfflineApp(t, { acceptUnsignedPolicies: true });
    assert.equal((await confirmed(app, { license_policy: unsigned({}) })).status, 200);
  });

  test('without a key to check codes with, nothing is accepted; the running server takes it', async (t) => {
    const app = await openTestApp(t, { licenses: [], vendorKey: vendor.publicKey });
    await app.identity.bind();
    assert.equal((await confirmed(app)).body.code, 'airgap_key_not_configured');
    const set = (key: string) => app.post('/api/admin/settings', { changes: { 'airgap.publicKey': key } });
    assert.equal((await set('AAAA')).body.field, 'airgap.publicKey');
    assert.equal((await set(writeAirgapPublicKey(vendor.airgapKey))).status, 200);
    assert.equal((await confirmed(app)).status, 200);
  });

  test('an older policy is refused, a newer one changes the license', async (t) => {
    const app = await openOfflineApp(t);
    await confirmed(app);
    const newer = vendor.policy({ date: '2030-02-01T00:00:00Z', floating_users: 9 });
    assert.equal((await confirmed(app, { license_policy: newer })).body.floating_users, 9);
    assert.equal((await confirmed(app)).body.code, 'offline_file_outdated');
  });
});
