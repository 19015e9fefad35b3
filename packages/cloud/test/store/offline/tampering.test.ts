import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { readOfflineRequest } from '@berth/protocol/carried/offline-request';
import { readUsageFile } from '@berth/protocol/carried/usage-file';
import { createCarriedServer } from '../../../../../test/support/cloud/carried-server.ts';
import { createTestPortal, given, refused, told } from '../../../../../test/support/cloud/test-portal.ts';
import { damage } from '../../../../../test/support/damage.ts';

describe('no flipped bit and no truncation is accepted, and nothing is stored', () => {
  for (const [name, byKeys] of [
    ['of a request by the server itself', false],
    ['of a request with the keys', true],
  ] as const) {
    test(name, (t) => {
      const portal = createTestPortal(t);
      const keys = byKeys ? portal.cloud.keys : undefined;
      const file = createCarriedServer().request({ licenseKey: portal.key, product: 'cad' }, keys);
      const before = portal.dump();
      for (const damaged of damage(file)) {
        if (readOfflineRequest(damaged) !== null) refused(portal.activate(damaged));
      }
      assert.equal(portal.dump(), before);
      given(portal.activate(file));
    });
  }

  test('of a deactivation request with usage', (t) => {
    const portal = createTestPortal(t);
    const server = createCarriedServer();
    given(portal.activate(server.request({ licenseKey: portal.key })));
    const usage = server.usageContent(told(portal.licenseId, portal.key, 10));
    const file = server.request({ request: 'deactivation', licenseKey: portal.key, usage });
    const before = portal.dump();
    for (const damaged of damage(file)) {
      if (readOfflineRequest(damaged) !== null) refused(portal.deactivate(damaged));
    }
    assert.equal(portal.dump(), before);
    given(portal.deactivate(file));
  });

  test('of a usage file', (t) => {
    const portal = createTestPortal(t);
    const server = createCarriedServer();
    given(portal.activate(server.request({ licenseKey: portal.key })));
    const file = server.usage(told(portal.licenseId, portal.key, 10));
    const before = portal.dump();
    for (const damaged of damage(file)) {
      if (readUsageFile(damaged) !== null) assert.equal(refused(portal.usage(damaged)), 'usage_file_invalid');
    }
    assert.equal(portal.dump(), before);
    given(portal.usage(file));
  });
});
