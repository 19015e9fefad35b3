import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { readUsageFile } from '@berth/protocol/carried/usage-file';
import { RequestError } from '@berth/protocol/request-error';
import type { Offline } from '../../packages/server/src/services/offline/offline.ts';
import { TEST_VENDOR as vendor } from '../support/cloud/test-vendor.ts';
import { tamper } from '../support/damage.ts';
import { openTestApp, readTraces, type TestApp } from '../support/test-app.ts';

const HARDWARE_ID = 'test-machine';
const KEY = 'AAAA-BBBB-CCCC-DDDD';
const POLICY_ID = '4711';

async function openApp(t: TestContext): Promise<TestApp> {
  const keys = { vendorKey: vendor.publicKey, airgapKey: vendor.airgapKey };
  const app = await openTestApp(t, { licenses: [], ...keys });
  await app.identity.bind();
  return app;
}

/** The code of a refusal, or `null` when it was taken. */
async function codeOf(attempt: ReturnType<Offline['install']>): Promise<string | null> {
  try {
    const result = await attempt;
    return 'code' in result ? result.code : null;
  } catch (error) {
    if (error instanceof RequestError) return error.code;
    throw error;
  }
}

/** Tries every change, and answers how often each refusal was given. None is taken, nothing is stored. */
async function refuseAll(
  app: TestApp,
  original: string,
  attempt: (text: string) => ReturnType<Offline['install']>,
): Promise<ReadonlyMap<string, number>> {
  const before = await readTraces(app.store);
  const counts = new Map<string, number>();
  for (const bytes of tamper(Buffer.from(original))) {
    const text = bytes.toString('latin1');
    const code = await codeOf(attempt(text));
    assert.notEqual(code, null, `taken: ${text}`);
    counts.set(code as string, (counts.get(code as string) ?? 0) + 1);
  }
  assert.deepEqual(await readTraces(app.store), before, 'nothing was stored');
  return counts;
}

function say(t: TestContext, counts: ReadonlyMap<string, number>): void {
  const named = [...counts].map(([code, times]) => [`refused with ${code}`, times]);
  t.diagnostic(JSON.stringify(Object.fromEntries(named)));
}

describe('no change of one bit and no truncation is accepted', () => {
  test('of a license file', async (t) => {
    const app = await openApp(t);
    const { requestData } = await app.offline.requestLicense(
      { product: null, licenseKey: null, username: null },
      'test',
    );
    const file = vendor.answer(requestData);
    const counts = await refuseAll(app, file, (text) => app.offline.install(text, 'test'));
    say(t, counts);
    assert.deepEqual([...counts.keys()].sort(), ['offline_file_invalid', 'offline_signature_mismatch']);
    assert.equal(await codeOf(app.offline.install(file, 'test')), null, 'the original is taken');
  });

  test('of a refresh', async (t) => {
    const app = await openApp(t);
    const { requestData } = await app.offline.requestLicense(
      { product: null, licenseKey: null, username: null },
      'test',
    );
    assert.equal(await codeOf(app.offline.install(vendor.answer(requestData), 'test')), null);
    const file = vendor.refresh(HARDWARE_ID, { date: '2030-02-01T00:00:00Z', floating_users: 7 });
    say(t, await refuseAll(app, file, (text) => app.offline.install(text, 'test')));
    assert.equal(await codeOf(app.offline.install(file, 'test')), null, 'the original is taken');
  });

  test('of a policy file', async (t) => {
    const app = await openApp(t);
    const confirmationCode = vendor.confirm(HARDWARE_ID, KEY, POLICY_ID);
    const wish = { licenseKey: KEY, policyId: POLICY_ID, confirmationCode };
    const attempt = (policy: string) =>
      app.offline.installPolicy({ ...wish, policy: policy === '' ? null : policy }, 'test');
    const counts = await refuseAll(app, vendor.policy(), attempt);
    say(t, counts);
    assert.ok((counts.get('airgap_policy_invalid') ?? 0) > 1000);
    assert.equal(await codeOf(attempt(vendor.policy())), null, 'the original is taken');
  });

  test('of a confirmation code, of the key and of the policy id', async (t) => {
    const app = await openApp(t);
    const right = {
      policy: vendor.policy(),
      licenseKey: KEY,
      policyId: POLICY_ID,
      confirmationCode: vendor.confirm(HARDWARE_ID, KEY, POLICY_ID),
    };
    for (const field of ['confirmationCode', 'licenseKey', 'policyId'] as const) {
      const attempt = (text: string) => app.offline.installPolicy({ ...right, [field]: text }, 'test');
      const counts = await refuseAll(app, right[field], attempt);
      say(t, counts);
      assert.deepEqual([...counts.keys()], ['airgap_confirmation_invalid'], field);
    }
    assert.equal(await codeOf(app.offline.installPolicy(right, 'test')), null, 'the original is taken');
  });

  test('of a usage file', async (t) => {
    const app = await openApp(t);
    const { requestData } = await app.offline.requestLicense(
      { product: null, licenseKey: null, username: null },
      'test',
    );
    await app.offline.install(vendor.answer(requestData), 'test');
    const { usageData } = await app.offline.writeUsage('test');
    for (const bytes of tamper(Buffer.from(usageData))) {
      const text = bytes.toString('latin1');
      assert.notEqual(readUsageFile(text)?.isSigned, true, text);
    }
    assert.equal(readUsageFile(usageData)?.isSigned, true);
  });
});
