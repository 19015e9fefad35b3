import assert from 'node:assert/strict';
import type { Wait } from '../../../src/core/command.ts';
import { MINUTE_MS, plus, SECOND_MS } from '../../../src/core/nouns/instant.ts';
import { licenseId } from '../../../src/core/nouns/license.ts';
import type { HandedOn, PlaceKey } from '../../../src/core/outcome.ts';
import type { Store } from '../../../src/store/store.ts';
import { from, limitingAddresses, NOW, register, ruling, setRules, unregister } from '../../core/examples.ts';
import { bar } from './bars.ts';
import { codeOf, type ExamStore, grantedOf, refusedOf } from './exam-store.ts';
import { expectOneSlotEach, installPool } from './pools.ts';
import { cadRules, reserve, setRules as setExamRules } from './rule-sets.ts';

const PRODUCT = 'cad';
const KEY = { product: PRODUCT, feature: '' };

export const STAY: Wait = { mode: 'stay', forMs: 30 * SECOND_MS };
const LAST: Wait = { mode: 'last', forMs: 0 };
const REPEAT: Wait = { mode: 'repeat', forMs: 2 * SECOND_MS };

const ask = (user: string, wait: Wait = STAY) => register(user, { wait });

const leave = (user: string, feature = '') =>
  ({ kind: 'leave_line', product: PRODUCT, feature, user }) as const;

/** Waits, and must. */
async function line(store: Pick<Store, 'execute'>, ...names: readonly string[]): Promise<void> {
  for (const user of names) assert.equal(codeOf(await store.execute(ask(user))), 'waiting', user);
}

async function handOn(exam: ExamStore): Promise<HandedOn> {
  const outcome = await exam.execute({ kind: 'hand_on', product: PRODUCT });
  assert.equal(outcome.kind, 'handed_on');
  return outcome as HandedOn;
}

/** Who is called from now on, in order. */
function listenTo(store: Store): string[] {
  const called: string[] = [];
  store.turns.listen(({ user }: PlaceKey) => called.push(user));
  return called;
}

/** What is told after a commit has arrived when this resolves. */
const told = () => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));

export const WAITING = {
  'a slot goes to who came first, in the commit that frees it': async (exam: ExamStore) => {
    const license = await exam.install({ slots: 1 });
    const called = listenTo(exam.store);
    await exam.register('holder');
    await line(exam.store, 'ada', 'bob');
    assert.equal(codeOf(await exam.register('eve')), 'floating_not_available');
    await exam.unregister('holder');
    assert.deepEqual(await exam.listUsers(), ['ada']);
    assert.equal(codeOf(await exam.register('eve')), 'floating_not_available', 'behind all who wait');
    await told();
    assert.deepEqual(called, ['ada']);
    grantedOf(await exam.execute(ask('ada')));
    const { places } = await exam.store.listWaiting();
    assert.deepEqual(
      places.map(({ user, position, isConnected }) => [user, position, isConnected]),
      [['bob', 1, true]],
    );
    assert.deepEqual(
      (await exam.listEventsOf('slot_denied', license.id)).map(({ user }) => user),
      ['eve'],
      'who waits is not denied',
    );
    assert.deepEqual(
      (await exam.listEventsOf('slot_lent', license.id)).map(({ user }) => user),
      ['holder', 'ada'],
    );
  },

  'who waits for some products is listed alone': async (exam: ExamStore) => {
    for (const product of ['cad', 'cam']) {
      await exam.install({ id: licenseId(product === 'cad' ? 1 : 2), product, slots: 1 });
      await exam.register('holder', { product });
      await exam.register(`waits-for-${product}`, { product, wait: STAY });
    }
    const list = async (products: readonly string[] | null) => {
      const { waiting, places } = await exam.store.listWaiting(products);
      return `${waiting}: ${places.map(({ user, position }) => `${user} ${position}`).join(', ')}`;
    };
    assert.equal(await list(['cam']), '1: waits-for-cam 1');
    assert.equal(await list(['ca']), '0: ');
    assert.match(await list(null), /^2: /);
  },

  'commands of one batch find the line as those before them left it': async (exam: ExamStore) => {
    await exam.install({ slots: 1 });
    await exam.register('holder');
    const outcomes = await Promise.all([
      exam.execute(ask('ada')),
      exam.execute(ask('bob')),
      exam.unregister('holder'),
      exam.register('eve'),
      exam.execute(ask('ada')),
      exam.unregister('ada'),
      exam.execute(ask('bob')),
    ]);
    const kinds = ['waiting', 'waiting', 'done', 'floating_not_available', 'granted', 'done', 'granted'];
    assert.deepEqual(outcomes.map(codeOf), kinds);
    assert.deepEqual(await exam.listUsers(), ['bob']);
    assert.equal((await exam.store.listWaiting()).waiting, 0);
  },

  'a slot that has ended goes to who waits, before a newcomer': async (exam: ExamStore) => {
    await exam.install({ slots: 1 });
    await exam.register('holder');
    exam.clock.advance(9.5 * MINUTE_MS);
    const waiting = await exam.execute(ask('ada'));
    assert.deepEqual(waiting, {
      kind: 'waiting',
      ...KEY,
      user: 'ada',
      nextEndAt: NOW + 10 * MINUTE_MS,
      now: NOW + 9.5 * MINUTE_MS,
    });
    exam.clock.advance(0.5 * MINUTE_MS);
    assert.equal(codeOf(await exam.register('eve')), 'floating_not_available');
    assert.deepEqual(await exam.listUsers(), ['ada']);
    const { lent } = await handOn(exam);
    assert.deepEqual(lent, [{ ...KEY, user: 'ada' }], 'and the server hears of it, if it was not told');
  },

  'the last answer says where the user stands, and is a denial': async (exam: ExamStore) => {
    const license = await exam.install({ slots: 1 });
    await exam.register('holder');
    await line(exam.store, 'ada', 'bob');
    const { code, details } = refusedOf(await exam.execute(ask('bob', LAST)));
    assert.equal(code, 'floating_not_available');
    const nextFreeAt = NOW + 10 * MINUTE_MS;
    assert.deepEqual(details, { slots: 1, inUse: 1, nextFreeAt, position: 2, waiting: 2 });
    assert.equal((await exam.listEventsOf('slot_denied', license.id)).length, 1);
  },

  'a place is kept for ten seconds, but no slot': async (exam: ExamStore) => {
    await exam.install({ slots: 1 });
    await exam.register('holder');
    await line(exam.store, 'ada', 'bob', 'cem');
    for (const user of ['ada', 'bob']) await exam.execute(leave(user));
    exam.clock.advance(9 * SECOND_MS);
    await line(exam.store, 'ada');
    await exam.unregister('holder');
    assert.deepEqual(await exam.listUsers(), ['ada'], 'she has her place again');
    grantedOf(await exam.execute(ask('ada')));
    await exam.unregister('ada');
    assert.deepEqual(await exam.listUsers(), ['cem'], 'nobody waits for bob');
    exam.clock.advance(SECOND_MS);
    await handOn(exam);
    assert.equal((await exam.store.listWaiting()).waiting, 0, 'who is gone for good is forgotten');
  },

  'two programs of a user wait in one place': async (exam: ExamStore) => {
    await exam.install({ slots: 2 });
    for (const user of ['one', 'two']) await exam.register(user);
    await line(exam.store, 'ada', 'bob', 'ada');
    assert.equal((await exam.store.listWaiting()).waiting, 2);
    await exam.unregister('one');
    await exam.unregister('two');
    assert.deepEqual([...(await exam.listUsers())].sort(), ['ada', 'bob']);
  },

  'who gets a slot otherwise is called': async (exam: ExamStore) => {
    await exam.install({ slots: 1 });
    const called = listenTo(exam.store);
    await exam.register('holder');
    await line(exam.store, 'ada');
    await exam.execute(leave('ada'));
    await exam.unregister('holder');
    grantedOf(await exam.register('ada'));
    await told();
    assert.deepEqual(called, ['ada']);
    assert.equal((await exam.store.listWaiting()).waiting, 0);
  },

  'a rule that applies at times is looked at again every minute': async (exam: ExamStore) => {
    await exam.install({ slots: 1 });
    const noon = { days: [0, 1, 2, 3, 4, 5, 6], from: 12 * 60, to: 12 * 60 + 1, zone: 'UTC' };
    await setExamRules(exam, cadRules({ reserve: [reserve(1, 'a', 'noon')] }, { times: { noon } }));
    exam.clock.advance(20 * SECOND_MS);
    await line(exam.store, 'bob');
    assert.equal((await handOn(exam)).nextEndAt, plus(NOW, MINUTE_MS));
    exam.clock.advance(40 * SECOND_MS);
    await exam.execute(ask('bob'));
    await handOn(exam);
    assert.deepEqual(await exam.listUsers(), ['bob']);
  },

  'other requests of a user do not end their wait': async (exam: ExamStore) => {
    await installPool(exam, { slots: 2 }, { slots: 1 });
    for (const user of ['on-2', 'on-1']) await exam.register(user);
    const on = (id: number) => ({ product: null, licenseId: licenseId(id) });
    assert.equal(codeOf(await exam.execute(register('ada', { ...on(2), wait: STAY }))), 'waiting');
    assert.equal(codeOf(await exam.execute(register('bob', { ...on(2), wait: STAY }))), 'waiting');
    assert.equal(codeOf(await exam.borrow('ada', 'unreadable', on(2))), 'borrow_until_not_valid');
    grantedOf(await exam.register('ada', on(1)));
    await exam.unregister('on-2');
    const slots = await exam.listSlots(licenseId(2));
    assert.deepEqual(
      slots.map(({ user }) => user),
      ['ada'],
    );
  },

  'who waits in vain is called: barred, or without a license': async (exam: ExamStore) => {
    const license = await exam.install({ slots: 1 });
    const called = listenTo(exam.store);
    await exam.register('holder');
    await line(exam.store, 'ada', 'bob');
    await bar(exam, 'ada');
    await handOn(exam);
    await told();
    assert.deepEqual(called, ['ada']);
    assert.equal(codeOf(await exam.execute(ask('ada'))), 'blacklisted');
    await exam.execute({ kind: 'remove_license', licenseId: license.id, by: 'admin' });
    const { waiting } = await handOn(exam);
    assert.equal(waiting, 0);
    assert.equal(codeOf(await exam.execute(ask('bob'))), 'missing_parameters', 'there is no product');
  },

  'a larger license serves as many as it has room for': async (exam: ExamStore) => {
    const license = await exam.install({ slots: 1 });
    await exam.register('holder');
    await line(exam.store, 'ada', 'bob', 'cem');
    const larger = { ...license, slots: 3 };
    await exam.execute({ kind: 'install_license', license: larger, by: 'admin' });
    await handOn(exam);
    assert.deepEqual([...(await exam.listUsers())].sort(), ['ada', 'bob', 'holder']);
  },

  'a pool serves in one order, and a license by its name only itself': async (exam: ExamStore) => {
    await installPool(exam, { slots: 1 }, { slots: 1 });
    for (const user of ['on-2', 'on-1']) await exam.register(user);
    const wait = { wait: STAY };
    const asked = (user: string, id: number) =>
      register(user, { ...wait, product: null, licenseId: licenseId(id) });
    assert.equal(codeOf(await exam.execute(asked('ada', 2))), 'waiting');
    await line(exam.store, 'bob');
    await exam.unregister('on-1');
    assert.deepEqual(
      [...(await exam.listUsers())].sort(),
      ['bob', 'on-2'],
      'passed over, and keeps the place',
    );
    await exam.unregister('on-2');
    assert.deepEqual([...(await exam.listUsers())].sort(), ['ada', 'bob']);
    await expectOneSlotEach(exam);
  },

  'those whose address has its share are passed over': async (exam: ExamStore) => {
    await exam.install({ slots: 2 });
    await exam.execute(setRules(limitingAddresses(1)));
    const limited = from('192.0.2.7');
    grantedOf(await exam.register('first', limited));
    await exam.register('other');
    for (const user of ['ada', 'bob']) {
      const outcome = await exam.execute(register(user, { ...limited, wait: STAY }));
      assert.equal(codeOf(outcome), 'waiting');
    }
    await line(exam.store, 'cem');
    await exam.unregister('other');
    assert.deepEqual([...(await exam.listUsers())].sort(), ['cem', 'first']);
    await exam.unregister('first');
    assert.deepEqual([...(await exam.listUsers())].sort(), ['ada', 'cem']);
  },

  'the rules of now say who is first, not those of when they came': async (exam: ExamStore) => {
    await exam.install({ slots: 1 });
    await exam.register('holder');
    await line(exam.store, 'ann', 'bob');
    const first = (whom: string) => ({ for: whom, level: 1, during: null, line: 1 });
    await setExamRules(exam, cadRules({ priority: [first('b')] }));
    await exam.unregister('holder');
    assert.deepEqual(await exam.listUsers(), ['bob']);
    await line(exam.store, 'bea');
    await setExamRules(exam, cadRules({}));
    await exam.unregister('bob');
    assert.deepEqual(await exam.listUsers(), ['ann']);
  },

  'a slot is kept for who repeats the call, for as long as is set': async (exam: ExamStore) => {
    await exam.install({ slots: 1 });
    await exam.register('holder');
    assert.equal(codeOf(await exam.execute(ask('poller', REPEAT))), 'floating_not_available');
    await line(exam.store, 'ada');
    await exam.unregister('holder');
    assert.equal(codeOf(await exam.register('eve')), 'floating_not_available');
    assert.deepEqual(await exam.listUsers(), []);
    exam.clock.advance(2 * SECOND_MS);
    await handOn(exam);
    assert.deepEqual(await exam.listUsers(), ['ada'], 'the poller came too late');
    assert.equal(codeOf(await exam.execute(ask('poller', REPEAT))), 'floating_not_available');
    await exam.unregister('ada');
    assert.equal(codeOf(await exam.execute(ask('poller', REPEAT))), 'granted');
  },

  'the line says why each waits, as of the last look': async (exam: ExamStore) => {
    await exam.install({ slots: 3 });
    const group = (user: string) => ({ users: [user], hosts: [], addresses: [], groups: [] });
    const rule = { line: 1, during: null, slots: 1 };
    const rules = ruling({
      reserve: [{ ...rule, for: 'team' }],
      limit: [{ ...rule, of: { group: 'contractors' } }],
    });
    const groups = { team: group('team-*'), contractors: group('ext-*') };
    await exam.execute(setRules({ ...rules, groups }));
    const listWhy = async () =>
      (await exam.store.listWaiting()).places.map(({ user, why, rule }) => [user, why, rule]);
    await exam.register('holder');
    await exam.register('ext-1');
    await line(exam.store, 'ada', 'ext-2');
    const limited = ['ext-2', 'limit', 'limit 1 for contractors'];
    assert.deepEqual(await listWhy(), [['ada', 'reserved', 'reserve 1 for team'], limited]);
    grantedOf(await exam.register('team-1'));
    await line(exam.store, 'ada');
    assert.deepEqual(await listWhy(), [['ada', 'full', null], limited]);
    await exam.unregister('team-1');
    assert.deepEqual(await listWhy(), [['ada', 'reserved', 'reserve 1 for team'], limited]);
  },

  'a thousand wait, and each slot that is returned is lent again': async (exam: ExamStore) => {
    const license = await exam.install({ slots: 5 });
    const names = Array.from({ length: 1000 }, (_, index) => `user-${String(index).padStart(4, '0')}`);
    for (const user of names.slice(0, 5)) await exam.register(user);
    await Promise.all(names.slice(5).map((user) => exam.execute(ask(user))));
    const waiting = (await exam.store.listWaiting()).places.map(({ user }) => user);
    assert.deepEqual(waiting, names.slice(5));
    for (const user of names.slice(0, 20)) {
      await exam.unregister(user);
      assert.equal(await exam.countInUse(license), 5);
    }
    assert.deepEqual([...(await exam.listUsers())].sort(), names.slice(20, 25));
  },
};

/** A line is one, whichever server its users wait on. */
export const WAITING_ON_TWO = {
  'slots are handed on to users of both servers in order': async (exam: ExamStore) => {
    const other = await exam.openBeside();
    for (const store of [exam.store, other]) await store.keepClock();
    await exam.install({ slots: 1 });
    await exam.register('holder');
    const names = ['ada', 'bob', 'cem', 'dan'];
    for (const [index, user] of names.entries()) await line(index % 2 === 0 ? other : exam.store, user);
    for (const [index, user] of ['holder', ...names.slice(0, -1)].entries()) {
      await (index < 2 ? exam.store : other).execute(unregister(user));
      assert.deepEqual(await exam.listUsers(), [names[index]]);
    }
  },

  'a server that is gone is passed over': async (exam: ExamStore) => {
    const other = await exam.openBeside();
    for (const store of [exam.store, other]) await store.keepClock();
    await exam.install({ slots: 1 });
    await exam.register('holder');
    await line(other, 'ada');
    await line(exam.store, 'bob');
    exam.clock.advance(4 * SECOND_MS);
    await exam.store.keepClock();
    await exam.unregister('holder');
    assert.deepEqual(await exam.listUsers(), ['bob']);
  },
};
