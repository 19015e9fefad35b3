import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Client } from '../../../packages/client/src/client.ts';
import { BerthError } from '../../../packages/client/src/errors.ts';
import { tamper } from '../../support/damage.ts';
import type { Machine } from '../simulation/machine.ts';
import { changeBorrow, nameOf, openSite } from './certified-site.ts';

const PLAIN = { server: 'http://berth.test', product: 'cad' };
const OF_ANOTHER = { code: 'no_borrow', message: /borrowed here by/, advice: /always give a "user"/ };

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
    const users = (await connect(machine).borrows()).map(({ user }) => user);
    assert.deepEqual(users.sort(), ['ada@ws-7', slot.user].sort());
    await connect(machine, { user: 'ada@ws-77' }).borrow();
    assert.equal((await connect(machine).borrows()).length, 2);
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
    await changeBorrow(machine, (record) => ({ ...record, product: 'cam' }), 'ada@ws-7');
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

  test('that is given back while it is checked does not come back', async () => {
    const { machine } = openSite();
    const { storage } = machine.environment;
    let letWrite = () => {};
    const slow = { ...storage, write: storage.write };
    const borrow = await new Client(machine.environment, { ...PLAIN, storage: slow }).borrow();
    slow.write = async (name, text) => {
      await new Promise<void>((resolve) => {
        letWrite = resolve;
      });
      await storage.write(name, text);
    };
    const checked = borrow.check();
    await borrow.giveBack();
    letWrite();
    await checked;
    assert.deepEqual(await storage.list('borrow@'), []);
  });

  test('of a computer that nothing identifies belongs to its storage', async () => {
    const { machine } = openSite();
    const environment = { ...machine.environment, findDevice: async () => null };
    await new Client(environment, PLAIN).borrow();
    assert.equal((await new Client(environment, PLAIN).resume()).isValid, true);
    const { storage } = machine.environment;
    const device = await storage.read('device');
    await storage.remove('device');
    await assert.rejects(new Client(environment, PLAIN).resume(), {
      code: 'not_proven',
      message: /borrowed on another computer/,
      advice: /on this computer/,
    });
    assert.notEqual(await storage.read('device'), device);
  });

  const DAMAGED: readonly ((record: Record<string, unknown>) => unknown)[] = [
    ...['product', 'user', 'licenseId', 'mark', 'binding', 'asked', 'lent', 'seenMs', 'version'].map(
      (key) => (record: Record<string, unknown>) => ({ ...record, [key]: undefined }),
    ),
    ...['licenseId', 'untilMs', 'proof'].map((key) => inLent({ [key]: undefined })),
    () => null,
    () => 7,
    (record) => ({ ...record, version: 0 }),
    (record) => ({ ...record, version: '2' }),
    (record) => ({ ...record, user: 7 }),
    (record) => ({ ...record, product: ['cad'] }),
    (record) => ({ ...record, mark: 7 }),
    (record) => ({ ...record, asked: 'a' }),
    (record) => ({ ...record, asked: null, lent: null }),
    (record) => ({ ...record, seenMs: -1e300 }),
    inLent({ licenseId: '7' }),
    inLent({ untilMs: '2040' }),
    inLent({ untilMs: 1e300 }),
    inLent({ proof: 'a' }),
    inLent({ proof: { grant: 'a', certificate: 'b' } }),
    (record) => ({ ...record, more: '\uFFFD' }),
  ];

  test('that is damaged is unreadable, with a sentence', async () => {
    const { machine, make } = openSite();
    await make().borrow();
    const { storage } = machine.environment;
    const text = (await storage.read(nameOf('Ada'))) as string;
    for (const [index, damage] of DAMAGED.entries()) {
      for (const client of [make(), connect(machine, { user: 'Ada' })]) {
        await storage.write(nameOf('Ada'), text);
        await changeBorrow(machine, damage);
        await assert.rejects(client.resume(), { code: 'borrow_unreadable' }, `${index}`);
      }
    }
  });

  test('by a newer version of the client is refused, with a sentence', async () => {
    const { machine, make } = openSite();
    await make().borrow();
    await changeBorrow(machine, ({ version }) => ({ version: Number(version) + 1 }));
    const message = 'The borrow was stored by a newer version of the client.';
    await assert.rejects(make().resume(), { code: 'borrow_unreadable', message });
  });

  test('with any flipped bit, or a part missing, is refused or says what its grant says', async () => {
    const { machine, make } = openSite();
    await make().borrow();
    const { storage } = machine.environment;
    const text = (await storage.read(nameOf('Ada'))) as string;
    const { product, user, licenseId, until } = await make().resume();
    const before = text.slice(0, text.indexOf('"grant"'));
    for (const bytes of tamper(Buffer.from(before))) {
      const altered = bytes.toString('latin1');
      await storage.write(nameOf('Ada'), altered + text.slice(before.length));
      const resumed = await make()
        .resume()
        .catch((error) => error);
      if (resumed instanceof BerthError) continue;
      assert.ok(!(resumed instanceof Error), `${altered}: ${resumed}`);
      const facts = [resumed.product, resumed.user, resumed.licenseId, resumed.until];
      assert.deepEqual(facts, [product, user, licenseId, until], altered);
    }
  });

  test('says of its own that it cannot be trusted, and blames no server', async () => {
    const { machine, make } = openSite();
    await make().borrow();
    for (const change of [{ licenseId: 8 }, { untilMs: 1.9e12 }, { proof: null }].map(inLent)) {
      const { storage } = machine.environment;
      const text = (await storage.read(nameOf('Ada'))) as string;
      await changeBorrow(machine, change);
      await assert.rejects(make().resume(), {
        code: 'not_proven',
        message: /^The stored borrow cannot be trusted\./,
        advice: 'Connect to the license server, and borrow again.',
      });
      await storage.write(nameOf('Ada'), text);
    }
    assert.equal((await make().resume()).licenseId, 7);
  });
});

function inLent(change: object) {
  return (record: Record<string, unknown>) => ({
    ...record,
    lent: { ...(record.lent as object), ...change },
  });
}
