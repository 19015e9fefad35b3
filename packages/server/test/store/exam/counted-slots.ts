import assert from 'node:assert/strict';
import { HOUR_MS, MINUTE_MS, plus } from '../../../src/core/nouns/instant.ts';
import { type License, licenseId } from '../../../src/core/nouns/license.ts';
import type { Limit, ProductRules } from '../../../src/core/rules/rule-set.ts';
import { exampleFeature, NOW, register, registerFeature, release } from '../../core/examples.ts';
import { codeOf, type ExamStore, users } from './exam-store.ts';
import { installPool } from './pools.ts';
import { cadRules, limitEach, limitGroup, reserve, setRules, slotRules } from './rule-sets.ts';
import { ask, at } from './slot-limits.ts';

const FULL = 'floating_not_available';
const HOSTS = cadRules({ limit: [limitEach(1, 'host')] });

/** What is counted stays right, whatever happens to slots, licenses and rules. */
export const COUNTED = {
  'new rules count what is held': async (exam: ExamStore) => {
    await exam.install({ slots: 4 });
    for (const name of ['a1', 'a2', 'b1']) await ask(exam, name, at('h'));
    await setRules(exam, cadRules({ limit: [limitGroup(2, 'a')] }));
    assert.equal(await ask(exam, 'a3'), FULL);
    await setRules(exam, cadRules({ limit: [limitEach(4, 'host')] }));
    await exam.unregister('b1');
    await setRules(exam, cadRules({ reserve: [reserve(2, 'b')] }));
    assert.equal(await ask(exam, 'a3', at('h')), FULL, 'two are left, for two of b');
    assert.equal(await ask(exam, 'b1', at('h')), 'granted');
    await setRules(exam, cadRules({ limit: [limitEach(3, 'host')] }));
    assert.equal(await ask(exam, 'x1', at('h')), FULL, 'three, as before');
    await setRules(exam, cadRules({}));
    await exam.unregister('b1');
    await setRules(exam, cadRules({ limit: [limitEach(3, 'host')] }));
    assert.equal(await ask(exam, 'x1', at('h')), 'granted');
  },

  'places are counted whatever the rules are, and once': async (exam: ExamStore) => {
    await exam.install({ slots: 9, features: [exampleFeature('render')] });
    const limit = [limitEach(1, 'host')];
    const both = (more: Limit[] = []) =>
      cadRules({ limit: [...limit, ...more], features: { render: slotRules({ limit }) } });
    await setRules(exam, both());
    assert.equal(await ask(exam, 'u1', at('h')), 'granted');
    assert.equal(codeOf(await exam.execute(registerFeature('u1'))), 'measured');
    await setRules(exam, both([limitGroup(9, 'a')]));
    await exam.unregister('u1');
    assert.equal(await ask(exam, 'u2', at('h')), 'granted', 'nothing had been counted anew before');
    assert.equal(codeOf(await exam.execute(registerFeature('u2'))), 'measured');
    await setRules(exam, both([limitGroup(8, 'a')]));
    assert.equal(await ask(exam, 'u3', at('h')), FULL);
    await setRules(exam, cadRules({}));
    await exam.unregister('u2');
    await setRules(exam, both());
    assert.equal(await ask(exam, 'u3', at('h')), 'granted');
    await setRules(exam, cadRules({ reserve: [reserve(1, 'b')] }));
    assert.equal(await ask(exam, 'u4', at('h')), 'granted', 'no limit');
    await setRules(exam, cadRules({ limit: [limitEach(2, 'host')] }));
    await exam.unregister('u3');
    assert.equal(await ask(exam, 'u5', at('h')), 'granted');
    assert.equal(await ask(exam, 'u6', at('h')), FULL);
    await exam.unregister('u5');
    assert.equal(await ask(exam, 'u6', at('h')), 'granted');
    assert.equal(await ask(exam, 'u7', at('h')), FULL);
  },

  'all slots of a license are taken back': async (exam: ExamStore) => {
    const license = await exam.install({ slots: 9, features: [exampleFeature('render')] });
    const rules = slotRules({ limit: [limitEach(1, 'host')] });
    await setRules(exam, cadRules({ limit: [limitEach(1, 'host')], features: { render: rules } }));
    for (let round = 0; round < 3; round++) {
      for (const name of ['u1', 'u2']) {
        assert.equal(await ask(exam, name, at(name)), 'granted');
        assert.equal(codeOf(await exam.execute(registerFeature(name))), 'measured');
      }
      assert.equal(await ask(exam, 'v', at('u1')), FULL);
      if (round === 1)
        await exam.execute({ kind: 'release_all_features', licenseId: license.id, by: 'admin' });
      else await exam.releaseAll(license);
    }
    assert.equal(await ask(exam, 'v', at('u1')), 'granted');
  },

  'all slots are taken back while somebody waits': async (exam: ExamStore) => {
    const license = await exam.install({ slots: 2 });
    await setRules(exam, HOSTS);
    for (const name of ['u1', 'u2']) assert.equal(await ask(exam, name, at(name)), 'granted');
    const wait = { mode: 'stay', forMs: 30_000 } as const;
    assert.equal(codeOf(await exam.register('u3', { ...at('u3'), wait })), 'waiting');
    await exam.releaseAll(license);
    assert.deepEqual(await exam.listUsers(), ['u3']);
    assert.equal(await ask(exam, 'v', at('u1')), 'granted', 'nobody is there any more');
  },

  'who may not have a free slot of one product is not passed over for another': async (exam: ExamStore) => {
    await exam.install({ id: licenseId(1), product: 'cad', slots: 2 });
    await exam.install({ id: licenseId(2), product: 'cam', slots: 1 });
    const { products, ...rules } = cadRules({ limit: [limitGroup(1, 'a')] });
    const cam = cadRules({ limit: [limitGroup(9, 'a')] }).products.cad as ProductRules;
    await setRules(exam, { ...rules, products: { ...products, cam } });
    const wait = { mode: 'stay', forMs: 30_000 } as const;
    assert.equal(await ask(exam, 'a1', at('h')), 'granted');
    assert.equal(codeOf(await exam.register('x', { product: 'cam' })), 'granted');
    assert.equal(codeOf(await exam.register('a2', { product: 'cad', wait })), 'waiting');
    assert.equal(codeOf(await exam.register('a3', { product: 'cam', wait })), 'waiting');
    await exam.execute(release('x', { product: 'cam' }));
    assert.deepEqual((await exam.listUsers()).toSorted(), ['a1', 'a3']);
  },

  'slots that end are counted no longer, on each license': async (exam: ExamStore) => {
    const licenses = await installPool(exam, { slots: 2 }, { slots: 2 }, { slots: 2 });
    await Promise.all(users(5).map((name) => ask(exam, name)));
    await setRules(exam, cadRules({ limit: [limitEach(0, 'host')] }));
    assert.equal(await ask(exam, 'u', at('h')), FULL);
    exam.clock.advance(10 * MINUTE_MS - 1);
    exam.clock.advance(MINUTE_MS);
    for (const { id } of licenses) await exam.execute({ kind: 'collect', licenseId: id });
  },

  'slots of an address are taken back': async (exam: ExamStore) => {
    const { id } = await exam.install({ slots: 9 });
    await setRules(exam, HOSTS);
    assert.equal(await ask(exam, 'u1', at('h', '10.0.0.1')), 'granted');
    await exam.execute({
      kind: 'release_from',
      licenseId: id,
      users: ['u1'],
      address: '10.0.0.1',
      by: 'admin',
    });
    assert.equal(await ask(exam, 'u2', at('h')), 'granted');
  },

  'a license that was removed comes back with its slots': async (exam: ExamStore) => {
    const [older, newer] = (await installPool(exam, { slots: 2 }, { slots: 2 })) as [License, License];
    await setRules(exam, HOSTS);
    assert.equal(codeOf(await exam.register('u1', { ...at('h'), licenseId: newer.id })), 'granted');
    await exam.execute({ kind: 'remove_license', licenseId: newer.id, by: 'admin' });
    assert.equal(await ask(exam, 'u2', at('h')), 'granted', 'what was removed counts for nothing');
    await exam.unregister('u2');
    await exam.execute({ kind: 'install_license', license: newer, by: 'admin' });
    assert.equal(await ask(exam, 'u2', at('h')), FULL);
    await exam.execute({ kind: 'remove_license', licenseId: newer.id, by: 'admin' });
    exam.clock.advance(10 * MINUTE_MS);
    await exam.execute({ kind: 'collect', licenseId: newer.id });
    await exam.execute({ kind: 'install_license', license: newer, by: 'admin' });
    assert.equal(await ask(exam, 'u2', at('h')), 'granted');
    assert.equal((await exam.countInUse(older)) + (await exam.countInUse(newer)), 1);
  },

  'a license gets another product': async (exam: ExamStore) => {
    const license = await exam.install({ slots: 9 });
    await setRules(exam, {
      ...HOSTS,
      products: { ...HOSTS.products, mill: cadRules({}).products.cad as never },
    });
    for (const name of ['u1', 'u2']) assert.equal(await ask(exam, name, at(name)), 'granted');
    const become = (product: string) =>
      exam.execute({ kind: 'install_license', license: { ...license, product }, by: 'admin' });
    await become('mill');
    assert.equal(codeOf(await exam.register('u3', { ...at('u1'), product: 'mill' })), 'granted');
    assert.equal(codeOf(await exam.unregister('u2')), 'done');
    await become('cad');
    assert.equal(await ask(exam, 'u4', at('u2')), 'granted');
    assert.equal(await ask(exam, 'u5', at('u1')), FULL);
  },

  'borrows that a wrong clock ended count again': async (exam: ExamStore) => {
    await exam.install({ slots: 2 });
    await setRules(exam, cadRules({ limit: [limitEach(1, 'host')], reserve: [reserve(1, 'lab')] }));
    assert.equal(codeOf(await exam.borrow('u1', plus(NOW, 20 * HOUR_MS), at('lab-1'))), 'granted');
    exam.clock.advance(20 * HOUR_MS);
    assert.deepEqual(await exam.listUsers(), []);
    assert.equal(await ask(exam, 'u2', at('h')), 'granted');
    assert.equal(await ask(exam, 'u3', at('i')), FULL, 'reserved');
    exam.clock.setWall(plus(NOW, HOUR_MS));
    await exam.execute({ kind: 'reset_clock', by: 'admin' });
    assert.equal(await ask(exam, 'v', at('lab-1')), FULL);
  },

  'a command that fails leaves the counts as they were': async (exam: ExamStore) => {
    await installPool(exam, { slots: 30 }, { slots: 30 });
    await exam.register('u0', { ...at('u0'), licenseId: licenseId(1) });
    await setRules(exam, HOSTS);
    const broken = (name: string) => {
      const { host, ...aim } = at(name);
      return register(name, { ...aim, host: { ...host, info: {} as unknown as string } });
    };
    const outcomes = await Promise.allSettled(
      users(20).flatMap((name) => [exam.execute(broken(name)), exam.register(name, at(name))]),
    );
    assert.equal(outcomes.filter(({ status }) => status === 'rejected').length, 20);
    for (const name of [...users(2), 'u0']) assert.equal(await ask(exam, 'v', at(name)), FULL);
    await assert.rejects(exam.execute(broken('w')));
    assert.equal(await ask(exam, 'v', at('w')), 'granted');
  },

  'of many who ask at once, each group gets its share': async (exam: ExamStore) => {
    await installPool(exam, { slots: 20 }, { slots: 20 });
    const rules = {
      reserve: [reserve(10, 'a'), reserve(5, 'b')],
      limit: [limitGroup(12, 'a'), limitEach(3, 'host')],
    };
    await setRules(exam, cadRules(rules));
    const names = [...users(60, 'x'), ...users(40, 'a'), ...users(5, 'b')];
    const outcomes = await Promise.all(names.map((name, index) => ask(exam, name, at(`h${index % 30}`))));
    const count = (prefix: string) =>
      outcomes.filter((code, index) => code === 'granted' && names[index]?.startsWith(prefix)).length;
    assert.deepEqual([count('x'), count('a'), count('b')], [25, 10, 5]);
  },
};

export function countedRestartCases(again: 'restart' | 'crash') {
  const reopen = (exam: ExamStore) => exam[again](() => exam.clock.advance(MINUTE_MS));
  return {
    'counts are there when the store is opened again, after any step': async (exam: ExamStore) => {
      const features = [exampleFeature('render')];
      await installPool(exam, { slots: 3, features }, { slots: 2, features });
      const render = slotRules({ limit: [limitEach(1, 'host')] });
      const limit = [limitEach(2, 'host'), limitGroup(2, 'a')];
      await setRules(exam, cadRules({ reserve: [reserve(2, 'lab')], limit, features: { render } }));
      await reopen(exam);
      const steps: readonly [string, string, string][] = [
        ['x1', 'h', 'granted'],
        ['a1', 'h', 'granted'],
        ['a2', 'h', FULL],
        ['a1', 'i', 'granted'],
        ['a2', 'h', 'granted'],
        ['x2', 'j', FULL],
        ['x1', 'lab-1', 'granted'],
        ['a2', 'lab-2', 'granted'],
        ['a3', 'lab-2', FULL],
        ['x2', 'j', 'granted'],
      ];
      for (const [name, host, code] of steps) {
        assert.equal(await ask(exam, name, at(host)), code, `${name} from ${host}`);
        await reopen(exam);
      }
      const take = async (name: string) =>
        codeOf(await exam.execute(registerFeature(name, { product: 'cad' })));
      assert.equal(await take('x1'), 'measured');
      await reopen(exam);
      assert.equal(await ask(exam, 'a2', at('lab-1')), 'granted');
      assert.equal(await take('a2'), FULL);
      await exam.unregister('x1');
      await reopen(exam);
      assert.equal(await take('a2'), 'measured');
    },

    'rules that were changed count anew after it': async (exam: ExamStore) => {
      await exam.install({ slots: 9 });
      await setRules(exam, HOSTS);
      assert.equal(await ask(exam, 'a1', at('h')), 'granted');
      await setRules(exam, cadRules({ limit: [limitGroup(1, 'a'), limitEach(1, 'host')] }));
      await reopen(exam);
      assert.equal(await ask(exam, 'a2', at('i')), FULL);
      assert.equal(await ask(exam, 'x', at('h')), FULL);
      await exam.unregister('a1');
      await reopen(exam);
      assert.equal(await ask(exam, 'a2', at('h')), 'granted');
    },
  };
}

/** Users that differ only in case become one, or several again. */
export const COUNTED_NAMES = {
  'slots are counted anew when names are read in another way': async (exam: ExamStore) => {
    await exam.install({ slots: 9, features: [exampleFeature('render')] });
    const render = slotRules({ limit: [limitEach(1, 'host')] });
    await setRules(exam, cadRules({ limit: [limitEach(1, 'host')], features: { render } }));
    assert.equal(await ask(exam, 'ada', at('h1')), 'granted');
    exam.clock.advance(1);
    assert.equal(await ask(exam, 'Ada', at('h2')), 'granted');
    assert.equal(codeOf(await exam.execute(registerFeature('Ada', { product: 'cad' }))), 'measured');
    await exam.restartWith({ ignoresCase: true });
    assert.equal(await ask(exam, 'u', at('h2')), FULL);
    assert.equal(await ask(exam, 'u', at('h1')), 'granted', 'of two slots one is left');
    await exam.restartWith({ ignoresCase: false });
    assert.equal(await ask(exam, 'v', at('h1')), FULL);
    await exam.unregister('ada');
    await exam.unregister('Ada');
    assert.equal(await ask(exam, 'v', at('h2')), 'granted');
  },
};

/** Two servers on one database. */
export const COUNTED_BY_TWO = {
  'each obeys the rules that the other one has changed, and counts with it': async (exam: ExamStore) => {
    const other = await exam.openBeside();
    await exam.install({ slots: 50 });
    const askOther = async (name: string, host: string) =>
      codeOf(await other.execute(register(name, at(host))));
    for (let round = 0; round < 3; round++) {
      await setRules(exam, cadRules({ limit: [limitEach(round + 1, 'host')] }));
      assert.equal(await askOther(`u${round}`, 'h'), 'granted');
      assert.equal(await askOther('v', 'h'), FULL);
      assert.equal(await ask(exam, 'v', at('h')), FULL);
    }
    await setRules(exam, cadRules({ reserve: [reserve(30, 'a')] }));
    const names = [...users(40, 'x'), ...users(40, 'a')];
    const outcomes = await Promise.all(
      names.map((name, index) => (index % 2 ? ask(exam, name, at('h')) : askOther(name, 'h'))),
    );
    const count = (prefix: string) =>
      outcomes.filter((code, index) => code === 'granted' && names[index]?.startsWith(prefix)).length;
    assert.deepEqual([count('x'), count('a')], [17, 30]);
  },
};
