import assert from 'node:assert/strict';
import { ANSWER_LIFETIME_MS } from '../../../src/core/lending/repeat-answer.ts';
import { HOUR_MS, MINUTE_MS, plus } from '../../../src/core/nouns/instant.ts';
import { type License, licenseId } from '../../../src/core/nouns/license.ts';
import { borrow, consume, exampleLimits, NOW, register } from '../../core/examples.ts';
import { codeOf, type ExamStore, grantedOf, measuredOf, refusedOf, users } from './exam-store.ts';

/** Licenses of one product, each more recently added than the one before it, with the ids 1, 2, … */
export async function installPool(exam: ExamStore, ...members: readonly Partial<License>[]) {
  const licenses: License[] = [];
  for (const [index, facts] of members.entries()) {
    licenses.push(await exam.install({ id: licenseId(index + 1), ...facts }));
  }
  return licenses;
}

/** Who holds slots on which licenses. */
async function listHolders(exam: ExamStore): Promise<readonly string[]> {
  const scope = { licenseId: null, product: null, user: null };
  const page = await exam.store.read({ kind: 'list_registrations', ...scope, limit: 1e6, after: null });
  return page.registrations.map((record) => `${record.registration.user} on ${record.licenseId}`).sort();
}

/** Nobody holds slots of two licenses. */
export async function expectOneSlotEach(exam: ExamStore): Promise<void> {
  const names = await exam.listUsers();
  assert.equal(new Set(names).size, names.length, 'nobody is on two licenses');
}

const REMOVED = { kind: 'remove_license', by: 'admin' } as const;
/** Ten, and not one more. */
const EXACT = { consumption: exampleLimits() };
const key = (bodyHash = 'body') => ({ idempotency: { key: 'k', bodyHash } });

export const POOLS = {
  'the newest is filled first, then the next; heartbeats stay': async (exam: ExamStore) => {
    await installPool(exam, { slots: 1 }, { slots: 1 }, { slots: 1 });
    for (const user of users(3)) grantedOf(await exam.register(user));
    const holders = ['user-0000 on 3', 'user-0001 on 2', 'user-0002 on 1'];
    assert.deepEqual(await listHolders(exam), holders);
    await exam.unregister('user-0000');
    for (const user of ['user-0001', 'user-0002']) grantedOf(await exam.register(user));
    assert.deepEqual(await listHolders(exam), holders.slice(1), 'although the newest has a slot again');
    assert.equal(grantedOf(await exam.register('eve')).license.id, 3);
  },

  'a full pool refuses once, and has room again in time': async (exam: ExamStore) => {
    const [older, newer] = (await installPool(exam, { slots: 1 }, { slots: 2 })) as [License, License];
    for (const user of users(2)) await exam.register(user);
    exam.clock.advance(MINUTE_MS);
    await exam.borrow('user-0002', plus(NOW, 5 * HOUR_MS));
    const { code, details } = refusedOf(await exam.register('eve'));
    const nextFreeAt = plus(NOW, 10 * MINUTE_MS);
    assert.deepEqual(
      [code, details],
      ['floating_not_available', { slots: 3, inUse: 3, nextFreeAt, licenses: 2 }],
    );
    refusedOf(await exam.register('eve'));
    assert.equal((await exam.listEventsOf('slot_denied', newer.id)).length, 1);
    assert.deepEqual(await exam.listEventsOf('slot_denied', older.id), []);
    exam.clock.advance(9 * MINUTE_MS - 1);
    assert.equal(codeOf(await exam.register('eve')), 'floating_not_available');
    exam.clock.advance(1);
    assert.equal(grantedOf(await exam.register('eve')).license.id, newer.id);
  },

  'ended slots that were not collected do not count': async (exam: ExamStore) => {
    await installPool(exam, { slots: 2 }, { slots: 1 });
    await exam.borrow('long', 'longest');
    for (const user of ['a', 'b']) await exam.register(user);
    exam.clock.advance(10 * MINUTE_MS);
    assert.equal(grantedOf(await exam.register('a')).license.id, 1);
    const { details } = refusedOf(await exam.borrow('c', 'longest', { licenseId: licenseId(2) }));
    assert.deepEqual([details.slots, details.licenses], [1, undefined], 'a named license answers alone');
    assert.equal(grantedOf(await exam.register('b')).inUse, 2);
    assert.deepEqual(refusedOf(await exam.register('c')).details.inUse, 3);
  },

  'a request that names a license stays on it, however full': async (exam: ExamStore) => {
    await installPool(exam, {}, { slots: 1 });
    await exam.register('ada');
    assert.equal(codeOf(await exam.register('bob', { licenseId: licenseId(2) })), 'floating_not_available');
    assert.equal(grantedOf(await exam.register('bob', { licenseId: licenseId(1) })).license.id, 1);
    assert.equal(grantedOf(await exam.register('bob')).license.id, 1);
  },

  'borrowing where it is allowed returns the slot of the other license': async (exam: ExamStore) => {
    const [older, newer] = (await installPool(exam, {}, { canBorrow: false })) as [License, License];
    await exam.register('ada');
    await exam.registerFeature('ada');
    assert.equal(grantedOf(await exam.borrow('ada', 'longest')).license.id, older.id);
    assert.deepEqual(await listHolders(exam), ['ada on 1']);
    assert.equal(await exam.countFeatureSlots(newer), 0);
    assert.equal((await exam.listEventsOf('slot_returned', newer.id)).length, 1);
    assert.equal(grantedOf(await exam.register('ada')).license.id, older.id, 'and stays there');
    assert.equal(codeOf(await exam.unregister('ada')), 'done');
    assert.deepEqual(await listHolders(exam), []);
  },

  'a move that fails leaves both unchanged': async (exam: ExamStore) => {
    const [, newer] = await installPool(exam, {}, { canBorrow: false });
    await exam.register('ada');
    await exam.registerFeature('ada');
    const broken = { hostname: {} as unknown as string, address: null, info: null };
    const moves = [{ ...borrow('ada', 'longest'), host: broken }, register('bob'), register('eve')];
    const ends = await Promise.allSettled(moves.map((command) => exam.execute(command)));
    assert.deepEqual(
      ends.map(({ status }) => status),
      ['rejected', 'fulfilled', 'fulfilled'],
    );
    assert.deepEqual(await listHolders(exam), ['ada on 2', 'bob on 2', 'eve on 1']);
    assert.equal(await exam.countFeatureSlots(newer as License), 1);
    assert.deepEqual(await exam.listEventsOf('slot_returned', licenseId(2)), []);
  },

  'a count goes to the first license with room for all of it': async (exam: ExamStore) => {
    const [older, newer] = (await installPool(exam, EXACT, EXACT)) as [License, License];
    for (const count of [8, 5, 2]) measuredOf(await exam.consume(count));
    assert.deepEqual([(await exam.readTotals(newer)).total, (await exam.readTotals(older)).total], [10, 5]);
    const { code, details } = refusedOf(await exam.consume(6));
    assert.equal(code, 'license_not_enough_consumptions');
    assert.deepEqual(details, { left: 5, totalConsumptions: 15, maxConsumptions: 20, licenses: 2 });
    assert.equal((await exam.listEventsOf('consumption_denied', newer.id)).length, 1);
    assert.deepEqual(await exam.listEventsOf('consumption_denied', older.id), []);
  },

  'a repeat gets the same answer, whatever happened to the license': async (exam: ExamStore) => {
    const [older, newer] = (await installPool(exam, {}, {})) as [License, License];
    const first = await exam.consume(4, key());
    assert.equal(measuredOf(first).licenseId, newer.id);
    await exam.install({ ...newer, enabled: false });
    assert.deepEqual(await exam.consume(4, key()), first, 'disabled');
    await exam.execute({ ...REMOVED, licenseId: newer.id });
    assert.deepEqual(await exam.consume(4, key()), first, 'removed');
    await exam.restart();
    assert.deepEqual(await exam.consume(4, key()), first, 'removed before the start');
    assert.equal(codeOf(await exam.consume(5, key('other'))), 'idempotency_key_reused');
    assert.equal((await exam.readTotals(older)).total, 0);
    await exam.install(newer);
    assert.deepEqual(await exam.consume(4, key()), first, 'added again');
    await exam.execute({ ...REMOVED, licenseId: newer.id });
    exam.clock.advance(ANSWER_LIFETIME_MS);
    assert.equal(measuredOf(await exam.consume(4, key())).licenseId, older.id, 'a day later it counts');
    await exam.execute({ kind: 'collect', licenseId: newer.id });
  },

  'holders of a removed license can use the others': async (exam: ExamStore) => {
    const [, newer] = await installPool(exam, { slots: 1 }, { slots: 2 });
    for (const user of ['ada', 'bob']) await exam.register(user);
    await exam.execute({ ...REMOVED, licenseId: (newer as License).id });
    assert.equal(grantedOf(await exam.register('ada')).license.id, 1);
    const { details } = refusedOf(await exam.register('bob'));
    assert.deepEqual([details.slots, details.licenses], [1, undefined], 'a single license is no pool');
    assert.equal(codeOf(await exam.unregister('bob')), 'device_not_found');
  },
};

/** Many at once, on the machine's own clock. */
export const POOLS_AT_ONCE = {
  'of two hundred users on three licenses as many get a slot as there are': async (exam: ExamStore) => {
    const licenses = await installPool(exam, { slots: 2 }, { slots: 3 }, { slots: 4 });
    const ask = (user: string, index: number) =>
      index % 3 === 0 ? exam.borrow(user, 'longest') : exam.register(user);
    const outcomes = await Promise.all(users(200).map(ask));
    assert.equal(outcomes.filter(({ kind }) => kind === 'granted').length, 9);
    for (const { code, details } of outcomes.filter(({ kind }) => kind !== 'granted').map(refusedOf)) {
      assert.deepEqual([code, details.slots, details.inUse], ['floating_not_available', 9, 9]);
    }
    for (const license of licenses) assert.equal(await exam.countInUse(license), license.slots);
    await expectOneSlotEach(exam);
    const denied = await Promise.all(licenses.map(({ id }) => exam.listEventsOf('slot_denied', id)));
    assert.deepEqual(
      denied.map(({ length }) => length),
      [0, 0, 191],
    );
  },

  'one user who registers and borrows at once holds one slot': async (exam: ExamStore) => {
    await installPool(exam, {}, { canBorrow: false });
    const ask = (_: string, index: number) =>
      index % 2 === 0 ? exam.register('ada') : exam.borrow('ada', 'longest');
    for (const outcome of await Promise.all(users(100).map(ask))) grantedOf(outcome);
    assert.deepEqual(await listHolders(exam), ['ada on 1']);
  },

  'coming and going never exceeds the sum, and leaves nobody with two': async (exam: ExamStore) => {
    const licenses = await installPool(exam, { slots: 2 }, { slots: 3, canBorrow: false });
    const visit = async (user: string) => {
      for (let round = 0; round < 12; round++) {
        const outcome = await (round % 3 === 1 ? exam.borrow(user, 'longest') : exam.register(user));
        if (outcome.kind === 'granted') assert.ok(outcome.inUse <= outcome.license.slots);
        if (outcome.kind === 'granted' && round < 11 && round % 2 === 1) await exam.unregister(user);
      }
    };
    await Promise.all(users(16).map(visit));
    for (const license of licenses) assert.ok((await exam.countInUse(license)) <= license.slots);
    await expectOneSlotEach(exam);
  },

  'concurrent counts fill every license to the last, and a repeat counts once': async (exam: ExamStore) => {
    const licenses = await installPool(exam, EXACT, EXACT, EXACT);
    const requests = users(64).flatMap((name, index) => {
      const command = consume(index % 4 === 0 ? 2 : 1, { idempotency: { key: name, bodyHash: name } });
      return [command, command];
    });
    const outcomes = await Promise.all(requests.map((command) => exam.execute(command)));
    for (let index = 0; index < outcomes.length; index += 2) {
      const [first, again] = [outcomes[index], outcomes[index + 1]];
      if (first?.kind === 'measured') assert.deepEqual(again, first);
    }
    for (const license of licenses) assert.equal((await exam.readTotals(license)).total, 10);
  },
};

/** The same cases for a store that was closed and for one that crashed. */
export function poolRestartCases(again: 'restart' | 'crash') {
  return {
    'everybody keeps their slot, and a full pool is full': async (exam: ExamStore) => {
      await installPool(exam, { slots: 1 }, { slots: 1, canBorrow: false });
      await exam.register('ada');
      await exam.borrow('bob', 'longest');
      await exam[again](() => exam.clock.advance(HOUR_MS));
      assert.deepEqual(await listHolders(exam), ['ada on 2', 'bob on 1']);
      const { details } = refusedOf(await exam.register('eve'));
      assert.deepEqual([details.slots, details.inUse, details.licenses], [2, 2, 2]);
      for (const user of ['ada', 'bob']) grantedOf(await exam.register(user));
      assert.deepEqual(await listHolders(exam), ['ada on 2', 'bob on 1']);
    },

    'a user who has moved stays moved': async (exam: ExamStore) => {
      await installPool(exam, { slots: 1 }, { slots: 1, canBorrow: false });
      await exam.register('ada');
      await exam.borrow('ada', 'longest');
      await exam[again]();
      assert.deepEqual(await listHolders(exam), ['ada on 1']);
      assert.equal(grantedOf(await exam.register('eve')).license.id, 2);
    },
  };
}
