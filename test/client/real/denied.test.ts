import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connect, DeniedError } from '../../../packages/client/src/main.ts';
import { pollUntil } from '../../support/poll.ts';
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

test('an application that waits gets the slot when it is returned, and hears where it stands', async (t) => {
  const server = await ServerUnderTest.start(t, { licenses: [testLicense(1, { slots: 1 })], isHere: true });
  const open = (user: string) => connect({ server: server.url, product: 'cad', user });
  const slot = await open('ada').acquire();
  const heard = Promise.withResolvers<unknown>();
  const waiting = open('bob').acquire({ wait: '5m', onWait: ({ error }) => heard.resolve(error) });
  const error = await heard.promise;
  assert.ok(error instanceof DeniedError && error.hasWaited);
  assert.deepEqual([error.details.position, error.details.waiting], [1, 1]);
  await slot.release();
  await using next = await waiting;
  assert.ok(next.isHeld);
});

test('a wait that is called off gives the place up', async (t) => {
  const server = await ServerUnderTest.start(t, { licenses: [testLicense(1, { slots: 1 })], isHere: true });
  const open = (user: string) => connect({ server: server.url, product: 'cad', user });
  await using slot = await open('ada').acquire();
  const ending = new AbortController();
  const waiting = open('bob').acquire({ wait: '5m', signal: ending.signal });
  const isConnected = async () => {
    const { body } = await server.api.get('/api/admin/line');
    return (body.line as readonly { is_connected: boolean }[])[0]?.is_connected;
  };
  await pollUntil('a waiting client', async () => ((await isConnected()) === true ? true : undefined));
  ending.abort();
  await assert.rejects(waiting, { name: 'AbortError' });
  await pollUntil('a client that is gone', async () => ((await isConnected()) === false ? true : undefined));
  assert.ok(slot.isHeld);
});
