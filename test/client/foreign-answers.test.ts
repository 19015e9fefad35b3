import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Client } from '../../packages/client/src/client.ts';
import type { WireRequest } from '../../packages/client/src/environment.ts';
import { createRandom } from '../support/random.ts';
import { Machine } from './simulation/machine.ts';
import { World } from './simulation/world.ts';

const SLOT = { license_id: 7, slot_ends_in_seconds: 600, renew_in_seconds: 200 };

/** A server whose answers, as text, the test decides on. */
function openClient(answer: (request: WireRequest) => string) {
  const network: ConstructorParameters<typeof Machine>[1]['network'] = (request, done) =>
    done({ status: 200, text: answer(request), date: null });
  const machine = new Machine(new World(), { name: 'ws-7', random: createRandom(1), network });
  return new Client(machine.environment, { server: 'http://berth.test', product: 'cad', licenseId: 7 });
}

const FOREIGN: readonly ((request: WireRequest) => string)[] = [
  () => '',
  () => '<html>Please sign in</html>',
  () => '{}',
  () => '[1]',
  () => 'null',
  () => '"ok"',
  () => '{"status":"ok","code":"ok"}',
  () => JSON.stringify({ license_id: 7, slot_ends_in_seconds: '600', total_consumptions: '1' }),
  () => JSON.stringify({ license_id: 7, slot_ends_in_seconds: -1 }),
  ({ body }) => body,
];

test('an answer with status 200 that is not one of Berth is none', async () => {
  const none = { code: 'unreachable', message: /HTTP status 200, and not from Berth/ };
  for (const answer of FOREIGN) {
    await assert.rejects(openClient(answer).acquire(), none);
    await assert.rejects(openClient(answer).borrow({ until: '1h' }), none);
    await assert.rejects(openClient(answer).consume(1, { retryFor: 0 }), none);
    await assert.rejects(openClient(answer).consume(1, { retryFor: 0, feature: 'export' }), none);
    let isForeign = false;
    const slot = await openClient((request) =>
      isForeign ? answer(request) : JSON.stringify(SLOT),
    ).acquire();
    const render = await slot.feature('render');
    isForeign = true;
    await assert.rejects(slot.feature('export'), none);
    assert.deepEqual([await render.release(), await slot.release()], [false, false]);
  }
});

test('a borrow without a date is none', async () => {
  const client = openClient(() => JSON.stringify({ ...SLOT, borrowed_until: null }));
  await assert.rejects(client.borrow(), { code: 'unreachable' });
});
