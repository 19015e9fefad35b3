import assert from 'node:assert/strict';
import type { AddressRange } from '@berth/protocol/address-range';
import { parseRange } from '@berth/protocol/address-range';
import type { BorrowUntil } from '../../../src/core/command.ts';
import { PLACE_DENIALS, PLACE_WINDOW_MS } from '../../../src/core/lending/deny.ts';
import { HOUR_MS, MINUTE_MS, plus } from '../../../src/core/nouns/instant.ts';
import { type LicenseId, licenseId } from '../../../src/core/nouns/license.ts';
import {
  exampleFeature,
  from,
  limitingAddresses,
  registerFeature,
  setRules,
  unregister,
} from '../../core/examples.ts';
import { codeOf, type ExamStore, refusedOf, users } from './exam-store.ts';

const TIMEOUT_MS = 10 * MINUTE_MS;
const HERE = '192.0.2.7';
const THERE = '192.0.2.8';

/** Three slots and one borrow from one address. */
function limitAddresses(exam: ExamStore) {
  return exam.execute(setRules(limitingAddresses(3, 1)));
}

async function listFrom(exam: ExamStore, range: string): Promise<readonly string[]> {
  const scope = { licenseId: null, product: null, user: null, limit: 100, after: null };
  const origin = parseRange(range) as AddressRange;
  const { registrations } = await exam.store.read({ kind: 'list_registrations', ...scope, origin });
  return registrations.map(({ registration }) => registration.user);
}

function codesOf(outcomes: readonly Parameters<typeof codeOf>[0][]): Readonly<Record<string, number>> {
  const byCode = Map.groupBy(outcomes.map(codeOf), (code) => code);
  return Object.fromEntries([...byCode].map(([code, list]) => [code, list.length]));
}

/** Where slots were taken from, and with what. */
export const ORIGINS = {
  'facts about a holder stay until a request brings newer ones': async (exam: ExamStore) => {
    await exam.install();
    const nothing = { hostname: null, address: null, info: null };
    await exam.register('ada', { ...from(HERE), credential: 'token a' }, { ...nothing, info: 'desk 4' });
    await exam.register('ada', { credential: 'token a' }, { ...nothing, hostname: 'laptop' });
    const first = await exam.findSlot('ada');
    assert.deepEqual(first?.host, { hostname: 'laptop', address: null, info: 'desk 4' });
    assert.deepEqual([first?.origin, first?.credential], [HERE, 'token a']);
    await exam.borrow('ada', 'longest', { ...from('2001:DB8:0::1'), host: nothing });
    const second = await exam.findSlot('ada');
    assert.deepEqual(second?.host, first?.host);
    assert.deepEqual([second?.origin, second?.credential], ['2001:db8::1', null], 'of the last request');
    await exam.restart();
    assert.deepEqual(await exam.findSlot('ada'), second);
  },

  'slots are found by their address or range': async (exam: ExamStore) => {
    await exam.install({ slots: 10 });
    const origins = {
      a: '10.0.0.9',
      b: '10.0.1.0',
      c: '11.0.0.0',
      d: '2001:db8::1',
      e: '2001:db8:0:1::1',
      f: '::ffff:10.0.0.10',
    };
    for (const [user, address] of Object.entries(origins)) await exam.register(user, from(address));
    await exam.register('nobody-knows');
    const expected = {
      '10.0.0.9': ['a'],
      '10.0.0.0/24': ['a', 'f'],
      '10.0.0.0/8': ['a', 'b', 'f'],
      '0.0.0.0/0': ['a', 'b', 'c', 'f'],
      '2001:db8::/64': ['d'],
      '::/0': ['d', 'e'],
      '10.0.0.8': [],
    };
    for (const [range, found] of Object.entries(expected)) {
      assert.deepEqual(await listFrom(exam, range), found, range);
    }
  },

  'an address gets no more slots than its limit, however many ask at once': async (exam: ExamStore) => {
    const license = await exam.install({ slots: 100 });
    await limitAddresses(exam);
    const asked = users(60).map((user, index) => exam.register(user, from(index % 3 === 0 ? THERE : HERE)));
    assert.deepEqual(codesOf(await Promise.all(asked)), { granted: 6, floating_not_available: 54 });
    assert.equal((await listFrom(exam, HERE)).length, 3);
    assert.equal((await listFrom(exam, THERE)).length, 3);
    assert.equal(await exam.countInUse(license), 6);
    const { details } = refusedOf(await exam.register('zoe', from(HERE)));
    assert.deepEqual(details, { rule: 'limit 3 for each address', limit: 3, inUse: 3 });
    assert.equal(codeOf(await exam.register('zoe')), 'granted', 'whose address is unknown');
  },

  'nor any more borrows': async (exam: ExamStore) => {
    await exam.install({ slots: 100 });
    await limitAddresses(exam);
    const asked = users(20).map((user) => exam.borrow(user, 'longest', from(HERE)));
    assert.deepEqual(codesOf(await Promise.all(asked)), { granted: 1, address_limit_reached: 19 });
    const { details } = refusedOf(await exam.borrow('zoe', 'longest', from(HERE)));
    assert.deepEqual(details, { rule: 'borrow perAddress 1', limit: 1 });
    const more = users(5, 'plain').map((user) => exam.register(user, from(HERE)));
    assert.deepEqual(codesOf(await Promise.all(more)), { granted: 2, floating_not_available: 3 });
  },

  'a network of IPv6 is one address': async (exam: ExamStore) => {
    await exam.install({ slots: 100 });
    await limitAddresses(exam);
    const asked = users(9).map((user, index) =>
      exam.register(user, from(`2001:db8:0:${index % 2}::${index < 2 ? '' : index}`)),
    );
    assert.deepEqual(codesOf(await Promise.all(asked)), { granted: 6, floating_not_available: 3 });
  },

  'a holder renews and extends whatever the limit, and can move': async (exam: ExamStore) => {
    await exam.install({ slots: 100 });
    await exam.execute(setRules(limitingAddresses(1, 1)));
    await exam.borrow('ada', plus(await exam.now(), HOUR_MS), from(HERE));
    await exam.register('bob', from(THERE));
    assert.equal(codeOf(await exam.register('ada', from(HERE))), 'granted');
    assert.equal(codeOf(await exam.borrow('ada', 'longest', from(HERE))), 'granted');
    assert.equal(codeOf(await exam.register('bob', from(HERE))), 'granted', 'who has moved here');
    assert.equal((await exam.findSlot('bob'))?.origin, HERE);
    assert.equal(codeOf(await exam.borrow('bob', 'longest', from(HERE))), 'address_limit_reached');
    const eve = () => exam.register('eve', from(THERE));
    assert.equal(codeOf(await eve()), 'floating_not_available', 'bob is counted where there was room');
    await exam.unregister('ada');
    assert.equal(codeOf(await eve()), 'floating_not_available', 'until they ask from elsewhere again');
    await exam.register('bob', from('192.0.2.9'));
    assert.equal(codeOf(await eve()), 'granted');
    assert.equal(codeOf(await exam.register('zoe', from(HERE))), 'granted');
  },

  'an address that has had its share gets nothing new, and its holders keep what they have': async (
    exam: ExamStore,
  ) => {
    await exam.install({
      slots: 100,
      features: [exampleFeature('render'), exampleFeature('render', { code: 'mesh' })],
    });
    const spent = { ...from(HERE), spent: { limit: 9, retryAfterSeconds: 60 } };
    await exam.register('ada', from(HERE));
    await exam.execute(registerFeature('ada', { feature: 'render' }));
    const { code, details } = refusedOf(await exam.register('bob', spent));
    assert.deepEqual([code, details], ['address_limit_reached', { limit: 9, retryAfterSeconds: 60 }]);
    for (let n = 0; n < 3; n++) await exam.register('bob', spent);
    assert.equal(codeOf(await exam.borrow('bob', 'longest', spent)), 'address_limit_reached');
    assert.equal(codeOf(await exam.borrow('ada', 'longest', spent)), 'address_limit_reached');
    assert.equal(codeOf(await exam.register('ada', spent)), 'granted');
    const askFeature = (feature: string, until: BorrowUntil | null = null) =>
      exam.execute(registerFeature('ada', { feature, until, ...spent }));
    assert.equal(codeOf(await askFeature('render')), 'measured');
    assert.equal(codeOf(await askFeature('render', 'longest')), 'address_limit_reached');
    assert.equal(codeOf(await askFeature('mesh')), 'address_limit_reached');
    assert.equal(codeOf(await exam.unregister('ada', from(HERE))), 'done');
  },

  'ended and returned slots do not count, nor do those of other products': async (exam: ExamStore) => {
    await exam.install({ slots: 100 });
    await exam.install({ id: licenseId(8), product: 'cam', slots: 100 });
    await limitAddresses(exam);
    const cad = { ...from(HERE), product: 'cad' };
    for (const user of users(3)) await exam.register(user, cad);
    assert.equal(codeOf(await exam.register('cam-user', { ...cad, product: 'cam' })), 'granted');
    assert.equal(codeOf(await exam.register('ada', cad)), 'floating_not_available');
    await exam.unregister('user-0000', { product: 'cad' });
    assert.equal(codeOf(await exam.register('ada', cad)), 'granted');
    assert.equal(codeOf(await exam.register('bob', cad)), 'floating_not_available');
    exam.clock.advance(TIMEOUT_MS);
    const again = await Promise.all(users(4, 'late').map((user) => exam.register(user, cad)));
    assert.deepEqual(codesOf(again), { granted: 3, floating_not_available: 1 });
  },

  'nothing is counted of what an administrator has released at once': async (exam: ExamStore) => {
    const license = await exam.install({ slots: 100 });
    await limitAddresses(exam);
    for (let round = 0; round < 3; round++) {
      const asked = await Promise.all(
        users(4, `round-${round}`).map((user) => exam.register(user, from(HERE))),
      );
      assert.deepEqual(codesOf(asked), { granted: 3, floating_not_available: 1 });
      await exam.execute({ kind: 'release_all', licenseId: license.id, by: 'admin' });
    }
  },

  'everything from one address is released at once, borrows and features too': async (exam: ExamStore) => {
    const license = await exam.install({ slots: 100 });
    const borrowers = users(20, 'borrower');
    await Promise.all(borrowers.map((user) => exam.borrow(user, 'longest', from(HERE))));
    await exam.register('plain', from(HERE));
    await exam.execute(registerFeature('plain'));
    await exam.register('other', from(THERE));
    await exam.execute(registerFeature('other'));
    const everyone = [...borrowers, 'plain', 'other', 'nobody'];
    const command = { kind: 'release_from', licenseId: license.id, users: everyone, by: 'admin' } as const;
    assert.deepEqual(await exam.execute({ ...command, address: HERE }), { kind: 'done', count: 21 });
    assert.deepEqual(await exam.listUsers(), ['other']);
    assert.equal(await exam.countInUse(license), 1);
    assert.equal(await exam.countFeatureSlots(license), 1);
    assert.equal((await exam.listEventsOf('slot_recalled', license.id)).length, 20);
    assert.equal((await exam.listEventsOf('slot_returned', license.id)).length, 1);
    assert.deepEqual(await exam.execute({ ...command, address: HERE }), { kind: 'done', count: 0 });
    assert.deepEqual(await exam.execute({ ...command, address: '192.0.2.0/24' }), {
      kind: 'done',
      count: 1,
    });
  },

  'a slot taken with a credential is returned with the same one': async (exam: ExamStore) => {
    await exam.install({ slots: 4 });
    await exam.register('ada', { credential: 'account ada' });
    await exam.execute(registerFeature('ada'));
    const mine = { credential: 'account ada' };
    const other = { credential: 'token 1' };
    assert.equal(codeOf(await exam.releaseFeature('ada', other)), 'slot_of_another_client');
    assert.equal(codeOf(await exam.unregister('ada', other)), 'slot_of_another_client');
    assert.deepEqual(await exam.listUsers(), ['ada']);
    assert.equal(codeOf(await exam.releaseFeature('ada', mine)), 'done');
    assert.equal(codeOf(await exam.unregister('ada', mine)), 'done');
    await exam.register('bob', other);
    assert.equal(codeOf(await exam.execute(unregister('bob'))), 'done', 'an operator');
    await exam.register('eve');
    assert.equal(codeOf(await exam.unregister('eve', other)), 'done', 'nothing is known of it');
  },

  'denials of invented users are recorded up to a limit, and counted beyond it': async (exam: ExamStore) => {
    const license = await exam.install({ slots: 0 });
    const ask = (prefix: string, count: number) =>
      Promise.all(users(count, prefix).map((user) => exam.register(user, from(HERE))));
    await ask('user', PLACE_DENIALS + 80);
    await Promise.all(users(5, 'repeat').map(() => exam.register('user-0000', from(HERE))));
    await exam.register('ada', from(THERE));
    await exam.register('bob');
    const recorded = await exam.listEventsOf('slot_denied', license.id);
    assert.equal(recorded.length, PLACE_DENIALS + 2, 'others are not concerned');
    assert.deepEqual(await exam.store.read({ kind: 'list_untidy' }), [license.id]);
    await exam.execute({ kind: 'collect', licenseId: license.id });
    assert.deepEqual(await exam.store.read({ kind: 'list_untidy' }), []);
    await exam.restart();
    await ask('more', 7);
    assert.equal((await exam.listEventsOf('slot_denied', license.id)).length, PLACE_DENIALS + 2);
    exam.clock.advance(PLACE_WINDOW_MS);
    await ask('later', 3);
    await exam.execute({ kind: 'collect', licenseId: license.id });
    const carried = await exam.listEventsOf('denials_repeated', license.id);
    assert.deepEqual(
      carried.map(({ user, repeated, origin }) => [user, repeated, origin]),
      [
        [null, 80, HERE],
        [null, 7, HERE],
        ['user-0000', 5, undefined],
      ],
    );
    const all = PLACE_DENIALS + 80 + 5 + 2 + 7 + 3;
    assert.equal(await countDenials(exam, license.id), all, 'every denial is in one event');
    exam.clock.advance(PLACE_WINDOW_MS);
    assert.deepEqual(await exam.store.read({ kind: 'list_untidy' }), [license.id]);
    await exam.execute({ kind: 'collect', licenseId: license.id });
    assert.deepEqual(await exam.store.read({ kind: 'list_untidy' }), []);
    assert.equal(await countDenials(exam, license.id), all);
  },

  'for any reason, from any address of a network': async (exam: ExamStore) => {
    const license = await exam.install({ slots: 0 });
    const asked = users(150).flatMap((user, index) => [
      exam.register(user, from(`2001:db8::${index}`)),
      exam.borrow(user, 'unreadable', from(`2001:db8::1:${index}`)),
      exam.consume(1e9, { user, ...from('2001:db8::2:1') }),
      exam.registerFeature(user, { feature: user, ...from('2001:db8::3:1') }),
    ]);
    assert.ok((await Promise.all(asked)).every(({ kind }) => kind === 'refused'));
    const events = await exam.listEvents(license.id);
    const first = events.filter(({ kind }) => kind === 'slot_denied' || kind === 'consumption_denied');
    assert.equal(first.length, PLACE_DENIALS);
    await exam.execute({ kind: 'collect', licenseId: license.id });
    assert.equal(await countDenials(exam, license.id), 600);
  },
};

/** How many denials the log records. */
async function countDenials(exam: ExamStore, id: LicenseId): Promise<number> {
  const events = await exam.listEvents(id);
  return events.reduce((sum, event) => {
    if (event.kind === 'denials_repeated') return sum + event.repeated;
    if (event.kind !== 'slot_denied' && event.kind !== 'consumption_denied') return sum;
    return sum + 1 + event.repeated;
  }, 0);
}
