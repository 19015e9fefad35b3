import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { CertifiedServer } from './certified-server.ts';
import { changeBorrow, openSite } from './certified-site.ts';

const WEEK_MS = 7 * 86_400_000;

describe('with the key of the vendor, a slot', () => {
  test('is proven, and so are those of its features', async () => {
    const { server, make, pass } = openSite();
    const slot = await make().acquire();
    assert.equal(slot.grant?.license_id, 7);
    const render = await slot.feature('render');
    await pass(3600);
    assert.deepEqual([slot.isHeld, render.isHeld, server.grants], [true, true, 2]);
    assert.ok(server.heartbeats > 30, `${server.heartbeats} heartbeats`);
  });

  const REFUSED: readonly [what: string, change: (server: CertifiedServer) => void, reason: RegExp][] = [
    ['a fake server', (server) => server.becomeFake(), /not signed by the vendor/],
    ['a server without grants', (server) => Object.assign(server, { hides: ['grant'] }), /no grant/],
    [
      'a server without certificate',
      (server) => Object.assign(server, { hides: ['certificate'] }),
      /no certificate.*only that it is the same server as before/,
    ],
    ['an expired certificate', lieIn('certificate', { expires_at: '2030-01-15T11:59:59Z' }), /expired/],
    ['another license', lieIn('certificate', { license_ids: [8] }), /not for this license/],
    ['another machine', lieIn('certificate', { hardware_id: 'copy' }), /another server/],
    [
      'another key',
      lieIn('certificate', { cnf: { jwk: { crv: 'Ed25519', x: 'A'.repeat(43) } } }),
      /not signed/,
    ],
    ['an old answer', lieIn('grant', { nonce: 'of-another-request' }), /another nonce/],
    ['another product', lieIn('grant', { product: 'cam' }), /another product/],
    ['another user', lieIn('grant', { user: 'bob' }), /another user/],
    ['a feature', lieIn('grant', { feature: 'render' }), /another feature/],
  ];

  for (const [what, change, reason] of REFUSED) {
    test(`is refused from or for ${what}`, async () => {
      const { server, make } = openSite();
      change(server);
      await assert.rejects(make().acquire(), { code: 'not_proven', message: reason });
      assert.equal(server.lastPath, 'unregister', 'it is given back');
    });
  }

  test('is proven again after a borrow that could not be', async () => {
    const { server, make, pass } = openSite();
    const slot = await make().acquire();
    server.lies = { grant: { nonce: 'of-another-request' } };
    await assert.rejects(slot.borrow(), { code: 'not_proven' });
    server.lies = {};
    await pass(220);
    assert.deepEqual([slot.isHeld, server.grants], [true, 3]);
  });

  test('needs a server that signs grants', async () => {
    const { server, make } = openSite();
    server.hides = ['grant'];
    await assert.rejects(make().acquire(), { message: /does not sign grants/, advice: /upgrade/ });
  });
});

describe('with the key of the vendor, a borrow', () => {
  test('is proven without the server, and ends when the server has said', async () => {
    const { world, machine, make } = openSite();
    await make().borrow();
    const borrow = await make().resume();
    assert.equal(borrow.grant?.borrowed, true);
    await changeBorrow(machine, (record) => ({ ...record, untilMs: record.untilMs + WEEK_MS }));
    await world.run(25 * 3_600_000);
    assert.equal(borrow.isValid, false);
    await assert.rejects(make().resume(), { code: 'not_proven', message: /else than its grant/ });
  });

  test('is refused if the clock is set back, whatever the file says', async () => {
    const { world, machine, make } = openSite();
    await make().borrow();
    await world.run(3_600_000);
    machine.setWallClock(-WEEK_MS);
    await assert.rejects(make().resume(), { code: 'clock_set_back' });
    await changeBorrow(machine, (record) => ({ ...record, seenMs: 0 }));
    await assert.rejects(make().resume(), { code: 'clock_set_back' });
    machine.setWallClock(WEEK_MS);
    assert.equal((await make().resume()).isValid, true);
  });

  test('is refused if it is of another user or product, or not of a borrow', async () => {
    const { server, machine, make } = openSite();
    await make().borrow();
    await changeBorrow(machine, (record) => ({ ...record, user: 'bob' }));
    await assert.rejects(make().resume(), { code: 'not_proven', message: /another user/ });
    await changeBorrow(machine, (record) => ({ ...record, user: 'Ada', proof: null }));
    await assert.rejects(make().resume(), { code: 'not_proven', message: /without a grant/ });
    const { storage } = machine.environment;
    await make().borrow();
    await storage.write('borrow@cam@', (await storage.read('borrow@cad@')) as string);
    await assert.rejects(make({ product: 'cam' }).resume(), {
      code: 'not_proven',
      message: /another product/,
    });
    server.lies = { grant: { borrowed: false } };
    await make().borrow();
    await assert.rejects(make().resume(), { code: 'not_proven', message: /not for a borrow/ });
  });

  test('is refused if any bit of its proof is changed', async () => {
    const { machine, make } = openSite();
    await make().borrow();
    const client = make();
    const { storage } = machine.environment;
    const text = (await storage.read('borrow@cad@')) as string;
    const { proof } = JSON.parse(text) as { proof: Record<string, string> };
    let changed = 0;
    for (const [name, value] of Object.entries(proof)) {
      for (let index = 0; index < value.length; index++) {
        const flipped = value.charCodeAt(index) ^ (1 << (index % 7));
        const altered = value.slice(0, index) + String.fromCharCode(flipped) + value.slice(index + 1);
        await changeBorrow(machine, (record) => ({ ...record, proof: { ...proof, [name]: altered } }));
        await assert.rejects(client.resume(), { code: 'not_proven' }, `${name}, ${index}`);
        changed += 1;
      }
    }
    assert.ok(changed > 1000);
    await storage.write('borrow@cad@', text);
    assert.equal((await make().resume()).isValid, true);
  });
});

function lieIn(where: 'grant' | 'certificate', claims: object) {
  return (server: CertifiedServer) => {
    server.lies = { [where]: claims };
  };
}
