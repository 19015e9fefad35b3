import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connect, DeniedError } from '../../../packages/client/src/main.ts';
import { ServerUnderTest } from '../../support/server-under-test.ts';
import { testLicense } from '../../support/test-license.ts';

test('an application hears when a slot may be free, and when to ask again', async (t) => {
  const server = await ServerUnderTest.start(t, { licenses: [testLicense(1, { slots: 1 })], isHere: true });
  const open = (user: string) => connect({ server: server.url, product: 'cad', user });
  await using slot = await open('ada').acquire();
  const denied = await open('bob')
    .acquire()
    .catch((error: unknown) => error);
  assert.ok(slot.isHeld && denied instanceof DeniedError);
  assert.equal(denied.code, 'floating_not_available');
  assert.equal(denied.retryAfterMs, 1000);
  assert.ok((denied.nextFreeInMs ?? 0) > 590_000);
});
