import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Client } from '../../../packages/client/src/client.ts';
import { BerthError } from '../../../packages/client/src/errors.ts';
import type { Machine } from '../simulation/machine.ts';
import { changeBorrow, openSite } from './certified-site.ts';

const PLAIN = { server: 'http://berth.test', product: 'cad' };
const OF_ANOTHER = {
  code: 'not_proven',
  message: /^The stored borrow .*another user/,
  advice: /Give "user"/,
};

function connect(machine: Machine, options: { readonly user?: string } = {}): Client {
  return new Client(machine.environment, { ...PLAIN, ...options });
}

describe('a stored borrow', () => {
  test('belongs to its user', async () => {
    const { machine } = openSite();
    await connect(machine, { user: 'bob' }).borrow();
    assert.equal((await connect(machine, { user: 'bob' }).resume()).user, 'bob');
    await assert.rejects(connect(machine, { user: 'ada' }).resume(), OF_ANOTHER);
    await assert.rejects(connect(machine).resume(), OF_ANOTHER);
  });

  test('belongs to the account and the host if there is no user', async () => {
    const { machine } = openSite();
    await connect(machine).borrow();
    assert.equal((await connect(machine).resume()).user, 'ada@ws-7');
    await assert.rejects(connect(machine, { user: 'ada' }).resume(), OF_ANOTHER);
    const slot = await connect(machine).acquire();
    await slot.borrow();
    assert.equal((await connect(machine).resume()).user, slot.user);
    await changeBorrow(machine, (record) => ({ ...record, user: 'ada@ws-77' }));
    await assert.rejects(connect(machine).resume(), OF_ANOTHER);
  });

  test('of a browser without a user belongs to the next page', async () => {
    const { machine } = openSite();
    const host = { hostname: null, osUser: null, instance: null };
    const open = () => new Client({ ...machine.environment, host }, PLAIN);
    const { user } = await open().borrow();
    assert.equal((await open().resume()).user, user);
  });

  test('of another product is refused', async () => {
    const { machine } = openSite();
    await connect(machine).borrow();
    await changeBorrow(machine, (record) => ({ ...record, product: 'cam' }));
    await assert.rejects(connect(machine).resume(), {
      code: 'not_proven',
      message: /another product, "cam"/,
    });
  });

  test('that was given back is over, and is not stored again', async () => {
    const { machine } = openSite();
    const borrow = await connect(machine).borrow();
    await borrow.giveBack();
    assert.equal(borrow.isValid, false);
    await assert.rejects(borrow.check(), { code: 'borrow_ended', message: /given back/ });
    await assert.rejects(connect(machine).resume(), { code: 'no_borrow' });
  });

  const DAMAGED: readonly ((record: Record<string, unknown>) => unknown)[] = [
    ...['product', 'user', 'licenseId', 'untilMs', 'seenMs', 'proof'].map(
      (key) => (record: Record<string, unknown>) => ({ ...record, [key]: undefined }),
    ),
    () => null,
    () => 7,
    (record) => ({ ...record, user: 7 }),
    (record) => ({ ...record, product: ['cad'] }),
    (record) => ({ ...record, licenseId: '7' }),
    (record) => ({ ...record, untilMs: '2040' }),
    (record) => ({ ...record, untilMs: 1e300 }),
    (record) => ({ ...record, seenMs: -1e300 }),
    (record) => ({ ...record, proof: 'a' }),
    (record) => ({ ...record, proof: { grant: 'a', certificate: 'b' } }),
    (record) => ({ ...record, more: '\uFFFD' }),
  ];

  test('that is damaged is unreadable, with a sentence', async () => {
    const { machine, make } = openSite();
    await make().borrow();
    const { storage } = machine.environment;
    const text = (await storage.read('borrow@cad@')) as string;
    for (const [index, damage] of DAMAGED.entries()) {
      for (const client of [make(), connect(machine, { user: 'Ada' })]) {
        await storage.write('borrow@cad@', text);
        await changeBorrow(machine, damage);
        await assert.rejects(client.resume(), { code: 'borrow_unreadable' }, `${index}`);
      }
    }
  });

  test('with any bit flipped is refused, or says what its grant says', async () => {
    const { machine, make } = openSite();
    await make().borrow();
    const { storage } = machine.environment;
    const text = (await storage.read('borrow@cad@')) as string;
    const { product, user, licenseId, until } = await make().resume();
    const before = text.slice(0, text.indexOf('"grant"'));
    for (let bit = 0; bit < before.length * 7; bit++) {
      const index = Math.trunc(bit / 7);
      const flipped = String.fromCharCode(text.charCodeAt(index) ^ (1 << (bit % 7)));
      await storage.write('borrow@cad@', text.slice(0, index) + flipped + text.slice(index + 1));
      const resumed = await make()
        .resume()
        .catch((error) => error);
      if (resumed instanceof BerthError) continue;
      assert.ok(!(resumed instanceof Error), `bit ${bit}: ${resumed}`);
      const facts = [resumed.product, resumed.user, resumed.licenseId, resumed.until];
      assert.deepEqual(facts, [product, user, licenseId, until], `bit ${bit}`);
    }
  });

  test('says of its own that it cannot be trusted, and blames no server', async () => {
    const { machine, make } = openSite();
    await make().borrow();
    for (const change of [{ licenseId: 8 }, { untilMs: 1.9e12 }, { proof: null }]) {
      const { storage } = machine.environment;
      const text = (await storage.read('borrow@cad@')) as string;
      await changeBorrow(machine, (record) => ({ ...record, ...change }));
      await assert.rejects(make().resume(), {
        code: 'not_proven',
        message: /^The stored borrow cannot be trusted\./,
        advice: 'Connect to the license server, and borrow again.',
      });
      await storage.write('borrow@cad@', text);
    }
    assert.equal((await make().resume()).licenseId, 7);
  });
});
