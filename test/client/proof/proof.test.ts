import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { judgeTerms } from '../../../packages/client/src/proof/judge-terms.ts';
import { type CertifiedServer, createVendor } from './certified-server.ts';
import { changeBorrow, nameOf, openSite } from './certified-site.ts';

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
    ['another license', lieIn('license', { license_id: 8 }), /not for this license/],
    ['no license', lieIn('certificate', { licenses: null }), /not for this license/],
    ['a certificate for another product', lieIn('license', { product: 'cam' }), /for another product/],
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

  test('of a feature is refused if the certificate does not name it', () => {
    const license = {
      license_id: 7,
      product: 'cad',
      limits: {},
      features: [{ code: 'export' }],
      ends_at: null,
    };
    const claims = { license_id: 7, product: 'cad', limits: {}, features: [] };
    judgeTerms({ ...claims, feature: 'export' }, { licenses: [license] });
    assert.throws(() => judgeTerms({ ...claims, feature: 'render' }, { licenses: [license] }), /"render"/);
  });

  for (const [what, change, reason] of REFUSED) {
    test(`is refused from or for ${what}`, async () => {
      const { server, make } = openSite();
      change(server);
      await assert.rejects(make().acquire(), { code: 'not_proven', message: reason });
      assert.equal(server.lastPath, 'unregister', 'it is given back');
    });
  }

  test('waits for a new certificate if its own has expired', async () => {
    const { server, make, pass } = openSite();
    server.lies = { certificate: { expires_at: '2030-01-15T11:59:59Z' } };
    await assert.rejects(make().acquire(), {
      code: 'certificate_expired',
      isRetryable: true,
      name: 'ProofError',
    });
    assert.equal(server.lastPath, 'unregister', 'it is given back');
    const acquired = make().acquire({ wait: '5m' });
    await pass(10);
    server.lies = {};
    await pass(30);
    assert.equal((await acquired).isHeld, true);
  });

  test('is proven by any of several keys of the vendor', async () => {
    const { server, make } = openSite();
    const [real, next, last] = [server.vendor, createVendor('next vendor'), createVendor('stranger')];
    for (const vendorKey of [[next.pem, real.pem], `${next.pem}\n${real.pem}`]) {
      assert.equal((await make({ vendorKey, user: `${vendorKey.length}` }).acquire()).isHeld, true);
    }
    server.vendor = last;
    server.otherVendors = [next];
    await assert.rejects(make({ user: 'old' }).acquire(), { message: /not signed by the vendor/ });
    assert.equal((await make({ vendorKey: next.pem, user: 'new' }).acquire()).isHeld, true);
    const borrowed = make({ vendorKey: [real.pem, next.pem], user: 'cy' });
    await borrowed.borrow();
    assert.equal((await borrowed.resume()).isValid, true, 'the right one is stored');
  });

  test('does not last beyond the timeout that is certified', async () => {
    const { server, make } = openSite();
    server.lies = { grant: { valid_until: '2040-01-15T12:00:00Z' } };
    const { heldForMs } = await make().acquire();
    assert.ok(heldForMs <= 600_000, `${heldForMs}`);
  });

  test('is proven again after a borrow that could not be', async () => {
    const { server, make, pass } = openSite();
    const slot = await make().acquire();
    server.lies = { grant: { nonce: 'of-another-request' } };
    await assert.rejects(slot.borrow(), { code: 'not_proven' });
    assert.equal(server.lastPath, 'register', 'the borrow is given back, and the slot taken again');
    server.lies = {};
    await pass(220);
    assert.deepEqual([slot.isHeld, server.grants], [true, 4]);
    assert.deepEqual(await make().borrows(), []);
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
    await changeBorrow(machine, (record) => ({
      ...record,
      lent: { ...record.lent, untilMs: record.lent.untilMs + WEEK_MS },
    }));
    await assert.rejects(borrow.check(), { code: 'not_proven', message: /match its signed grant/ });
    await world.run(25 * 3_600_000);
    assert.equal(borrow.isValid, false);
    await assert.rejects(make().resume(), { code: 'not_proven', message: /match its signed grant/ });
  });

  test('is refused if the clock is set back, whatever the file says', async () => {
    const { world, server, machine, make } = openSite();
    await make().borrow();
    server.isAway = true;
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
    const { storage } = machine.environment;
    const text = (await storage.read(nameOf('Ada'))) as string;
    await changeBorrow(machine, (record) => ({ ...record, user: 'bob' }));
    await assert.rejects(make({ user: 'bob' }).resume(), { code: 'not_proven', message: /another user/ });
    await storage.write(nameOf('Ada'), text);
    await changeBorrow(machine, (record) => ({ ...record, lent: { ...record.lent, proof: null } }));
    await assert.rejects(make().resume(), { code: 'not_proven', message: /without a grant/ });
    await storage.write(nameOf('Ada', 'cam'), text);
    await assert.rejects(make({ product: 'cam' }).resume(), {
      code: 'not_proven',
      message: /another product/,
    });
    await storage.remove(nameOf('Ada'));
    for (const [lie, message] of [
      [{ borrowed: false }, /not for a borrow/],
      [{ device_mark: null }, /another computer/],
      [{ device_mark: 'of-another-computer' }, /another computer/],
      [{ valid_until: '2030-01-16T12:00:01Z' }, /longer than the license allows/],
    ] as const) {
      server.lies = { grant: lie };
      await assert.rejects(make().borrow(), { code: 'not_proven', message });
      assert.equal(server.lastPath, 'unregister', 'it is given back');
      assert.deepEqual(await storage.list('borrow@cad@'), []);
    }
  });

  test('is refused if any bit of its proof is changed', async () => {
    const { machine, make } = openSite();
    await make().borrow();
    const client = make();
    const { storage } = machine.environment;
    const text = (await storage.read(nameOf('Ada'))) as string;
    const { lent } = JSON.parse(text) as { lent: { proof: Record<string, string> } };
    const { proof } = lent;
    let count = 0;
    for (const [name, value] of Object.entries(proof)) {
      for (let index = 0; index < value.length; index++) {
        const flipped = value.charCodeAt(index) ^ (1 << (index % 7));
        const altered = value.slice(0, index) + String.fromCharCode(flipped) + value.slice(index + 1);
        const changed = { ...lent, proof: { ...proof, [name]: altered } };
        await changeBorrow(machine, (record) => ({ ...record, lent: changed }));
        await assert.rejects(client.resume(), { code: 'not_proven' }, `${name}, ${index}`);
        count += 1;
      }
    }
    assert.ok(count > 1000);
    await storage.write(nameOf('Ada'), text);
    assert.equal((await make().resume()).isValid, true);
  });
});

function lieIn(where: 'grant' | 'certificate' | 'license', claims: object) {
  return (server: CertifiedServer) => {
    server.lies = { [where]: claims };
  };
}
