import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { openTestApp } from '../../../../test/support/test-app.ts';
import { testLicense } from '../../../../test/support/test-license.ts';
import type { Cloud } from '../cloud/cloud.ts';
import { licenseId } from '../core/license.ts';

const ID = licenseId(1);

describe('what was consumed, while nothing can be reported', () => {
  const CLOUDS = { cloud_not_configured: null, cloud_keys_missing: {} as Cloud };

  for (const [code, cloud] of Object.entries(CLOUDS)) {
    test(`stays pending, and is in no report that was never sent: ${code}`, async (t) => {
      const license = testLicense(1, { source: 'cloud' });
      const app = await openTestApp(t, { licenses: [license], ...(cloud === null ? {} : { cloud }) });
      assert.equal((await app.post('/api/v4/add_consumption', { consumptions: 3 })).status, 200);
      const before = await app.cloudLink.listBacklog();
      assert.equal(before[0]?.pending, 3);
      await assert.rejects(app.cloudLink.sync(null), { code });
      const wish = { product: null, licenseId: ID, licenseKey: null };
      await assert.rejects(app.cloudLink.remove(wish, false, 'test'), { code });
      assert.deepEqual(await app.cloudLink.listBacklog(), before);
    });
  }
});
