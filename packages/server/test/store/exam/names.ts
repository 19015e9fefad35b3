import assert from 'node:assert/strict';
import { HOUR_MS, MINUTE_MS, plus } from '../../../src/core/nouns/instant.ts';
import { NOW } from '../../core/examples.ts';
import { codeOf, type ExamStore, grantedOf, measuredOf } from './exam-store.ts';

/** How everybody who holds a slot is spelled. */
async function listSpelled(exam: ExamStore): Promise<readonly string[]> {
  return (await exam.listSlots()).map(({ user, spelling }) => spelling ?? user);
}

const IGNORING = { ignoresCase: true };
const EXACT = { ignoresCase: false };

/** A store can be told to ignore the case of users' names, and to stop again, while slots are held. */
export const IGNORED_CASE = {
  'are two users until the store is told otherwise': async (exam: ExamStore) => {
    const license = await exam.install();
    await exam.register('Ada');
    await exam.register('ada');
    assert.equal(await exam.countInUse(license), 2);
    assert.equal(codeOf(await exam.register('ADA')), 'floating_not_available');
  },

  'are one afterwards: one slot, which keeps its first spelling': async (exam: ExamStore) => {
    await exam.restartWith(IGNORING);
    const license = await exam.install();
    await exam.register('Ada');
    await exam.register('ADA');
    assert.equal(grantedOf(await exam.borrow('ada', 'longest')).inUse, 1);
    assert.deepEqual(await listSpelled(exam), ['Ada']);
    await exam.restart();
    assert.deepEqual(await listSpelled(exam), ['Ada']);
    assert.equal(codeOf(await exam.unregister('aDA')), 'done');
    assert.equal(await exam.countInUse(license), 0);
  },

  'are found by either name, in pages too': async (exam: ExamStore) => {
    await exam.restartWith(IGNORING);
    const { id: licenseId } = await exam.install({ slots: 3 });
    for (const user of ['Bob', 'ada', 'Eve']) await exam.register(user);
    const list = async (user: string | null, after: string | null) => {
      const place = after === null ? null : { licenseId, user: after };
      const scope = { licenseId, product: null, user, limit: 2, after: place };
      const { registrations } = await exam.store.read({ kind: 'list_registrations', ...scope });
      return registrations.map(({ registration }) => registration.spelling ?? registration.user);
    };
    assert.deepEqual(await list('BOB', null), ['Bob']);
    assert.deepEqual(await list(null, null), ['ada', 'Bob']);
    assert.deepEqual(await list(null, 'Bob'), ['Eve']);
  },

  'are found in the log by either name': async (exam: ExamStore) => {
    await exam.install();
    await exam.register('Ada');
    await exam.restartWith(IGNORING);
    await exam.register('BOB');
    const scope = { chains: null, since: null, until: null, before: null, scanned: 100, links: 100 };
    const count = async (user: string) => {
      const query = { kind: 'search_audit', ...scope, user, kinds: ['slot_lent'] } as const;
      return (await exam.store.read(query)).links.length;
    };
    assert.deepEqual(await Promise.all(['Bob', 'bob', 'Ada', 'eve'].map(count)), [1, 1, 1, 0]);
    await exam.restartWith(EXACT);
    assert.deepEqual(await Promise.all(['Bob', 'bob', 'ada'].map(count)), [0, 1, 0]);
  },

  'are merged with the later end and the later borrow, and nobody is counted twice': async (
    exam: ExamStore,
  ) => {
    const license = await exam.install({ slots: 4 });
    await exam.borrow('Ada', plus(NOW, MINUTE_MS));
    exam.clock.advance(5 * MINUTE_MS);
    await exam.register('ada');
    await exam.register('Bob');
    await exam.borrow('ADA', plus(NOW, HOUR_MS));
    await exam.restartWith(IGNORING);
    assert.equal(await exam.countInUse(license), 2);
    const [ada, bob] = await exam.listSlots();
    assert.deepEqual([ada?.user, ada?.spelling], ['ada', 'ADA']);
    assert.deepEqual([ada?.endsAt, ada?.borrowedUntil], [plus(NOW, HOUR_MS), plus(NOW, HOUR_MS)]);
    assert.deepEqual([bob?.user, bob?.spelling], ['bob', 'Bob']);
    assert.equal(grantedOf(await exam.register('Eve')).inUse, 3, 'the slot that is left is lent again');
    assert.equal(grantedOf(await exam.register('zoe')).inUse, 4);
    assert.equal(codeOf(await exam.register('max')), 'floating_not_available');
  },

  'are separated again by their spellings': async (exam: ExamStore) => {
    await exam.restartWith(IGNORING);
    const license = await exam.install({ slots: 3 });
    await exam.register('Ada');
    await exam.register('bob');
    await exam.restartWith(EXACT);
    assert.deepEqual(await exam.listUsers(), ['Ada', 'bob']);
    assert.equal(grantedOf(await exam.register('Ada')).inUse, 2, 'the slot that they hold');
    assert.equal(grantedOf(await exam.register('ada')).inUse, 3);
    await exam.restartWith(IGNORING);
    await exam.restartWith(EXACT);
    assert.equal(await exam.countInUse(license), 2, 'what has become one stays one');
  },

  'repeat a request as they were spelled, whatever the setting': async (exam: ExamStore) => {
    const license = await exam.install();
    const idempotency = { key: 'k', bodyHash: 'b' };
    const count = async () => measuredOf(await exam.consume(2, { user: 'Ada', idempotency })).total;
    assert.equal(await count(), 2);
    for (const mode of [IGNORING, EXACT]) {
      await exam.restartWith(mode);
      assert.equal(await count(), 2);
    }
    assert.equal((await exam.readTotals(license)).total, 2);
  },

  'are not changed when a command opens the store': async (exam: ExamStore) => {
    await exam.restartWith(IGNORING);
    const license = await exam.install();
    await exam.register('Ada');
    await exam.restartWith({});
    await exam.register('ADA');
    assert.equal(await exam.countInUse(license), 1);
  },
};
