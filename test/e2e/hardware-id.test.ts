import assert from 'node:assert/strict';
import { test } from 'node:test';
import { askBerth } from '../support/berth-command.ts';
import { ServerUnderTest } from '../support/server-under-test.ts';

const read = async (data: string, env = {}) =>
  (await askBerth<{ hardware_id: string }>(data, ['status'], env)).hardware_id;

test('the hardware id stays over restarts and addresses, unless it is set', async (t) => {
  const server = await ServerUnderTest.start(t, { licenses: [], isHere: true });
  const first = await read(server.data);
  assert.match(first, /^[0-9a-f]{64}$/);
  await server.stop();
  assert.equal(await read(server.data), first, 'of a stopped server');
  assert.equal(await read(server.data, { BERTH_HARDWARE_ID: 'chosen' }), 'chosen');
  await server.start({ args: ['--host', '127.0.0.2'] });
  assert.equal(await read(server.data), first, 'at another address');
  const other = await ServerUnderTest.start(t, { licenses: [], isHere: true });
  assert.notEqual(await read(other.data), first, 'other data is another server');
});
