import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Fleet } from '../../faults/fleet/fleet.ts';
import { ServerUnderTest } from '../../support/server-under-test.ts';
import { hasPostgres, sharedPostgres } from '../../support/stores/postgres.ts';
import { testLicense } from '../../support/test-license.ts';
import { watchSlot } from './watched-slot.ts';

const LICENSE = testLicense(1, { slots: 1, timeoutMinutes: 10 });

describe('an application whose server', () => {
  for (const [what, signal] of [
    ['is restarted', 'SIGTERM'],
    ['is killed', 'SIGKILL'],
  ] as const) {
    test(`${what} keeps its slot, or loses it and gets it back`, async (t) => {
      const server = await ServerUnderTest.start(t, { licenses: [LICENSE], isHere: signal === 'SIGTERM' });
      let { url } = server;
      const { slot, pass } = await watchSlot(['berth.test'], () => url);

      await server.stop(signal);
      assert.deepEqual(await pass(400), ['unreachable']);
      assert.equal(slot.isHeld, true);
      await server.start();
      url = server.url;
      assert.deepEqual(await pass(30), ['reachable']);

      await server.stop(signal);
      assert.deepEqual(await pass(610), ['unreachable', 'lost']);
      assert.throws(() => slot.assertHeld(), { code: 'slot_lost' });
      await server.start();
      url = server.url;
      assert.deepEqual(await pass(30), ['reachable', 'restored']);
      assert.equal(slot.isHeld, true);
      const holders = await server.api.holders();
      assert.deepEqual(
        holders.map(({ user }) => user),
        ['ada'],
      );
    });
  }
});

const skip = hasPostgres ? false : 'optional: needs PostgreSQL for this platform';
const getPostgres = sharedPostgres();

describe('an application with two servers on one database', { skip }, () => {
  test('goes on with the other when one is killed, and never has two slots', async (t) => {
    const fleet = await Fleet.start(t, { postgres: await getPostgres(), size: 2, licenses: [LICENSE] });
    const [first, second] = fleet.servers as [ServerUnderTest, ServerUnderTest];
    const urls = new Map([
      ['first.test', first.url],
      ['second.test', second.url],
    ]);
    const { slot, pass } = await watchSlot([...urls.keys()], (name) => urls.get(name) as string);

    await first.stop('SIGKILL');
    assert.deepEqual(await pass(3600), []);
    assert.equal(slot.isHeld, true);
    const holders = await second.api.holders();
    assert.deepEqual(
      holders.map(({ user }) => user),
      ['ada'],
    );
    const released = slot.release();
    await pass(1);
    assert.equal(await released, true);
    assert.deepEqual(await second.api.holders(), []);
  });
});
