import assert from 'node:assert/strict';
import { plus, SECOND_MS } from '../../../src/core/nouns/instant.ts';
import { type License, licenseId } from '../../../src/core/nouns/license.ts';
import type { Outcome } from '../../../src/core/outcome.ts';
import type { Executed, Store } from '../../../src/store/store.ts';
import { borrow, consume, exampleLimits, NOW, register, unregister } from '../../core/examples.ts';
import { codeOf, type ExamStore, grantedOf, users } from './exam-store.ts';

/** Products with one, two or three licenses, whose ids are mixed: 1, 2, 3, … in turns. */
async function installProducts(exam: ExamStore, count: number, facts: Partial<License> = {}) {
  const licenses: License[] = [];
  for (let n = 0; n < 2 * count; n++) {
    const product = `product-${n < count ? n : (n * 3) % count}`;
    licenses.push(await exam.install({ id: licenseId(n + 1), product, slots: 2, ...facts }));
  }
  return { licenses, products: [...new Set(licenses.map(({ product }) => product))] };
}

/** Every slot of every license is taken once, and nobody holds two slots of one product. */
async function expectFull(exam: ExamStore, licenses: readonly License[]): Promise<void> {
  const holders = new Set<string>();
  for (const { id, product, slots } of licenses) {
    const held = await exam.listSlots(id);
    assert.equal(held.length, slots, `license ${id}`);
    for (const { user } of held) {
      assert.equal(holders.has(`${user} of ${product}`), false, 'one slot of a pool');
      holders.add(`${user} of ${product}`);
    }
  }
}

/** What clients of many products want at the same time. Stores may carry it out in one transaction. */
export const MANY_PRODUCTS = {
  'each has its own slots and totals, in pools too': async (exam: ExamStore) => {
    const { licenses, products } = await installProducts(exam, 6, { consumption: exampleLimits() });
    const asked = users(10).flatMap((user) =>
      products.flatMap((product) => [
        exam.register(user, { product }),
        exam.consume(1, { product, user }),
        exam.borrow(`${user}-b`, 'longest', { product }),
      ]),
    );
    const outcomes = await Promise.all(asked);
    const granted = outcomes.filter(({ kind }) => kind === 'granted').length;
    assert.equal(granted, 2 * licenses.length);
    await expectFull(exam, licenses);
    const counted = outcomes.filter(({ kind }) => kind === 'measured').length;
    let total = 0;
    for (const license of licenses) total += (await exam.readTotals(license)).total;
    assert.equal(total, counted);
    assert.equal(counted, 10 * products.length);
  },

  'one that cannot be stored, or fails, fails alone': async (exam: ExamStore) => {
    const { products } = await installProducts(exam, 5, { slots: 20 });
    const bad = [
      register(Symbol('user') as unknown as string, { product: 'product-1' }),
      register(
        'ada',
        { product: 'product-2' },
        { hostname: {} as unknown as string, address: null, info: null },
      ),
      register(
        'host',
        { product: 'product-3' },
        { hostname: 'a', address: null, info: {} as unknown as string },
      ),
    ];
    const results = await Promise.allSettled(
      bad.flatMap((command, round) => [
        exam.execute(command),
        ...products.map((product) => exam.register(`user-${round}`, { product })),
      ]),
    );
    const failed = results.filter(({ status }) => status === 'rejected');
    assert.equal(failed.length, bad.length);
    assert.equal((await exam.listSlots()).length, bad.length * products.length);
    assert.equal(codeOf(await exam.register('eve', { product: 'unknown' })), 'unknown_product');
  },

  'products that come and go beside the others': async (exam: ExamStore) => {
    const { products } = await installProducts(exam, 3, { slots: 100 });
    const late = { id: licenseId(77), product: 'late', slots: 100 };
    const ask = (user: string) => [...products, 'late'].map((product) => exam.register(user, { product }));
    const outcomes: Promise<Outcome>[] = [];
    for (const user of users(5)) {
      outcomes.push(...ask(user));
      await exam.install(late);
      outcomes.push(...ask(`${user}-2`));
      await exam.execute({ kind: 'remove_license', licenseId: late.id, by: 'admin' });
      outcomes.push(...ask(`${user}-3`));
    }
    for (const outcome of await Promise.all(outcomes))
      assert.ok(['granted', 'unknown_product'].includes(codeOf(outcome)), codeOf(outcome));
  },
};

/** Everything that locks licenses, in an order of its own. */
function disturb(store: Store, round: number, { id }: License): readonly Promise<Executed>[] {
  return [
    store.execute({ kind: 'forget_user', user: `user-000${round}`, by: 'admin' }),
    store.execute({ kind: 'release_all', licenseId: id, by: 'admin' }),
    store.execute({ kind: 'collect', licenseId: id }),
    store.execute({ kind: 'reset_clock', by: 'admin' }),
    store.execute({ kind: 'sign_heads' }),
    store.execute({ kind: 'remove_license', licenseId: id, by: 'admin' }),
  ];
}

/** For stores that several servers share. */
export const MANY_PRODUCTS_OF_TWO = {
  'lend each slot once, whatever order they come in': async (exam: ExamStore) => {
    const other = await exam.openBeside();
    const { licenses, products } = await installProducts(exam, 6);
    const asked = users(30).flatMap((user, index) => {
      const [store, order] = index % 2 ? [exam.store, products] : [other, products.toReversed()];
      return order.map((product) => store.execute(register(user, { product })));
    });
    const outcomes = await Promise.all(asked);
    assert.equal(outcomes.filter(({ kind }) => kind === 'granted').length, 2 * licenses.length);
    await expectFull(exam, licenses);
  },

  'never wait for each other in a circle, whatever else locks licenses': async (exam: ExamStore) => {
    const other = await exam.openBeside();
    const { licenses, products } = await installProducts(exam, 6, { slots: 50 });
    const asked: Promise<Executed>[] = [];
    for (let round = 0; round < 8; round++) {
      for (const [store, order] of [
        [exam.store, products.slice(round % 3)],
        [other, products.toReversed().slice(round % 2)],
      ] as const) {
        for (const product of order) {
          const user = `user-000${round}`;
          asked.push(store.execute(register(user, { product })), store.execute(consume(1, { product })));
          asked.push(store.execute(borrow(`${user}-b`, 'longest', { product })));
          asked.push(store.execute(unregister(user, { product })));
        }
      }
      asked.push(...disturb(round % 2 ? exam.store : other, round, licenses[11 - round] as License));
      // Some of it comes while the rest is under way.
      if (round % 2) await new Promise((resolve) => setImmediate(resolve));
    }
    await Promise.all(asked);
  },

  'keep the time of each product when the clock goes back': async (exam: ExamStore) => {
    await exam.install({ id: licenseId(1), product: 'ahead' });
    await exam.install({ id: licenseId(2), product: 'behind' });
    const ahead = plus(NOW, 20 * SECOND_MS);
    exam.clock.setWall(ahead);
    grantedOf(await exam.register('ada', { product: 'ahead' }));
    exam.clock.setWall(plus(NOW, SECOND_MS));
    const both = ['ahead', 'behind'].map((product) => exam.register('bob', { product }));
    const [late, early] = (await Promise.all(both)).map((outcome) => grantedOf(outcome).registration);
    assert.equal(late?.registeredAt, ahead, 'it never runs back');
    assert.equal(early?.registeredAt, plus(NOW, SECOND_MS), 'and does not move the other');
  },
};
