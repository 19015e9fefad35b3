import assert from 'node:assert/strict';
import { NOW } from '../../core/examples.ts';
import { HOUR_MS, MINUTE_MS, plus } from '../../core/nouns/instant.ts';
import { type Bench, codeOf, grantedOf, measuredOf } from './exam-store.ts';

/** How everybody who holds a slot is spelled. */
async function listSpelled(bench: Bench): Promise<readonly string[]> {
  return (await bench.listSlots()).map(({ user, spelling }) => spelling ?? user);
}

const IGNORING = { ignoresCase: true };
const EXACT = { ignoresCase: false };

/** A store can be told to ignore the case of users' names, and to stop again, while slots are held. */
export const IGNORED_CASE = {
  'are two users until the store is told otherwise': async (bench: Bench) => {
    const license = await bench.install();
    await bench.register('Ada');
    await bench.register('ada');
    assert.equal(await bench.countInUse(license), 2);
    assert.equal(codeOf(await bench.register('ADA')), 'floating_not_available');
  },

  'are one then: one slot, which keeps the spelling it was lent to': async (bench: Bench) => {
    await bench.restartWith(IGNORING);
    const license = await bench.install();
    await bench.register('Ada');
    await bench.register('ADA');
    assert.equal(grantedOf(await bench.borrow('ada', 'longest')).inUse, 1);
    assert.deepEqual(await listSpelled(bench), ['Ada']);
    await bench.restart();
    assert.deepEqual(await listSpelled(bench), ['Ada']);
    assert.equal(codeOf(await bench.unregister('aDA')), 'done');
    assert.equal(await bench.countInUse(license), 0);
  },

  'are found by either name, in pages too': async (bench: Bench) => {
    await bench.restartWith(IGNORING);
    const { id: licenseId } = await bench.install({ slots: 3 });
    for (const user of ['Bob', 'ada', 'Eve']) await bench.register(user);
    const list = async (user: string | null, after: string | null) => {
      const place = after === null ? null : { licenseId, user: after };
      const scope = { licenseId, product: null, user, limit: 2, after: place };
      const records = await bench.store.read({ kind: 'list_registrations', ...scope });
      return records.map(({ registration }) => registration.spelling ?? registration.user);
    };
    assert.deepEqual(await list('BOB', null), ['Bob']);
    assert.deepEqual(await list(null, null), ['ada', 'Bob']);
    assert.deepEqual(await list(null, 'Bob'), ['Eve']);
  },

  'become one with the later end and the later borrow, and nobody is counted twice': async (bench: Bench) => {
    const license = await bench.install({ slots: 4 });
    await bench.borrow('Ada', plus(NOW, MINUTE_MS));
    bench.clock.advance(5 * MINUTE_MS);
    await bench.register('ada');
    await bench.register('Bob');
    await bench.borrow('ADA', plus(NOW, HOUR_MS));
    await bench.restartWith(IGNORING);
    assert.equal(await bench.countInUse(license), 2);
    const [ada, bob] = await bench.listSlots();
    assert.deepEqual([ada?.user, ada?.spelling], ['ada', 'ADA']);
    assert.deepEqual([ada?.endsAt, ada?.borrowedUntil], [plus(NOW, HOUR_MS), plus(NOW, HOUR_MS)]);
    assert.deepEqual([bob?.user, bob?.spelling], ['bob', 'Bob']);
    assert.equal(grantedOf(await bench.register('Eve')).inUse, 3, 'the slot that is left is lent again');
    assert.equal(grantedOf(await bench.register('zoe')).inUse, 4);
    assert.equal(codeOf(await bench.register('max')), 'floating_not_available');
  },

  'are told apart again by how they were spelled': async (bench: Bench) => {
    await bench.restartWith(IGNORING);
    const license = await bench.install({ slots: 3 });
    await bench.register('Ada');
    await bench.register('bob');
    await bench.restartWith(EXACT);
    assert.deepEqual(await bench.listUsers(), ['Ada', 'bob']);
    assert.equal(grantedOf(await bench.register('Ada')).inUse, 2, 'the slot that they hold');
    assert.equal(grantedOf(await bench.register('ada')).inUse, 3);
    await bench.restartWith(IGNORING);
    await bench.restartWith(EXACT);
    assert.equal(await bench.countInUse(license), 2, 'what has become one stays one');
  },

  'repeat a request as they were spelled, whatever the store ignores': async (bench: Bench) => {
    const license = await bench.install();
    const idempotency = { key: 'k', bodyHash: 'b' };
    const count = async () => measuredOf(await bench.consume(2, { user: 'Ada', idempotency })).total;
    assert.equal(await count(), 2);
    for (const mode of [IGNORING, EXACT]) {
      await bench.restartWith(mode);
      assert.equal(await count(), 2);
    }
    assert.equal((await bench.readStanding(license)).total, 2);
  },

  'leave a store alone that is opened by a command': async (bench: Bench) => {
    await bench.restartWith(IGNORING);
    const license = await bench.install();
    await bench.register('Ada');
    await bench.restartWith({});
    await bench.register('ADA');
    assert.equal(await bench.countInUse(license), 1);
  },
};
