import assert from 'node:assert/strict';
import { borrow, consume, from, register } from '../../core/examples.ts';
import { HOUR_MS, plus, SECOND_MS } from '../../core/nouns/instant.ts';
import { licenseId } from '../../core/nouns/license.ts';
import { type Bench, codeOf, users } from './exam-store.ts';
import { expectOneSlotEach, installPool } from './pools.ts';
import { deny } from './rules.ts';

/** A second server on the same data sees and respects all that the first one does. */
export const TWO_SERVERS = {
  'of five hundred users on five slots exactly five get one': async (bench: Bench) => {
    const other = await bench.openBeside();
    const license = await bench.install({ slots: 5 });
    const outcomes = await Promise.all(
      users(500).map((user, index) => (index % 2 ? bench.store : other).execute(register(user))),
    );
    assert.equal(outcomes.filter(({ kind }) => kind === 'granted').length, 5);
    assert.equal(await bench.countInUse(license), 5);
  },

  'a pool is lent once at both, and one user holds one slot of it': async (bench: Bench) => {
    const other = await bench.openBeside();
    const licenses = await installPool(bench, { slots: 3 }, { slots: 2, canBorrow: false });
    const ask = (user: string, index: number) => {
      const command = index % 4 < 2 ? register(user) : borrow(user, 'longest');
      return (index % 2 ? bench.store : other).execute(command);
    };
    await Promise.all(Array.from({ length: 200 }, (_, index) => ask(`user-${index >> 2}`, index)));
    for (const license of licenses) assert.ok((await bench.countInUse(license)) <= license.slots);
    assert.equal((await bench.listSlots(licenseId(1))).length, 3);
    await expectOneSlotEach(bench);
  },

  'one that ignores case does not start beside one that does not': async (bench: Bench) => {
    await bench.install();
    await assert.rejects(bench.openBeside(true), /users\.ignoreCase is true here/);
    const other = await bench.openBeside(false);
    assert.equal(codeOf(await other.execute(register('Ada'))), 'granted');
    assert.equal(codeOf(await bench.register('ada')), 'granted', 'somebody else');
  },

  'an address gets no more at both than its limit': async (bench: Bench) => {
    const other = await bench.openBeside();
    const license = await bench.install({ slots: 500 });
    const asked = { ...from('192.0.2.7'), perAddress: { slots: 5, borrows: 0 } };
    const outcomes = await Promise.all(
      users(100).map((user, index) => (index % 2 ? bench.store : other).execute(register(user, asked))),
    );
    assert.equal(outcomes.filter(({ kind }) => kind === 'granted').length, 5);
    assert.equal(await bench.countInUse(license), 5);
  },

  'what both count reaches the limit exactly': async (bench: Bench) => {
    const other = await bench.openBeside();
    const license = await bench.install();
    const outcomes = await Promise.all(
      users(200).map((_, index) => (index % 2 ? bench.store : other).execute(consume(1))),
    );
    const counted = outcomes.filter(({ kind }) => kind === 'measured').length;
    assert.equal((await bench.readStanding(license)).total, counted);
  },

  'the same key at both counts once': async (bench: Bench) => {
    const other = await bench.openBeside();
    const license = await bench.install();
    const request = consume(5, { idempotency: { key: 'k', bodyHash: 'b' } } as never);
    const outcomes = await Promise.all(
      users(40).map((_, index) => (index % 2 ? bench.store : other).execute(request)),
    );
    assert.deepEqual(new Set(outcomes.map(codeOf)), new Set(['measured']));
    assert.equal((await bench.readStanding(license)).total, 5);
  },

  'a license that one adds, changes and removes is so for the other at once': async (bench: Bench) => {
    const other = await bench.openBeside();
    assert.equal(codeOf(await other.execute(register('ada'))), 'missing_parameters');
    await bench.install({ slots: 1 });
    assert.equal(codeOf(await other.execute(register('ada'))), 'granted');
    assert.equal(codeOf(await other.execute(register('bob'))), 'floating_not_available');
    await bench.install({ slots: 2 });
    assert.equal(codeOf(await other.execute(register('bob'))), 'granted');
    await bench.install({ id: licenseId(8), product: 'cam' });
    assert.equal(codeOf(await other.execute(register('ada'))), 'missing_parameters');
    await other.execute({ kind: 'remove_license', licenseId: licenseId(8), by: 'admin' });
    assert.equal(codeOf(await bench.register('eve')), 'floating_not_available');
  },

  'rules that one sets hold for the other at once': async (bench: Bench) => {
    const other = await bench.openBeside();
    await bench.install();
    assert.equal(codeOf(await other.execute(register('ada'))), 'granted');
    await deny(bench, { users: ['a*'] });
    assert.equal(codeOf(await other.execute(register('ann'))), 'blacklisted');
  },

  'both write the log, and whoever reads it on misses nothing': async (bench: Bench) => {
    const other = await bench.openBeside();
    const licenses = users(6).map((_, index) => licenseId(index + 1));
    for (const id of licenses) await bench.install({ id, product: `p${id}`, slots: 100 });
    const seen: number[] = [];
    let after = 0;
    const working = Promise.all(
      users(300).map((user, index) => {
        const product = `p${licenses[index % licenses.length]}`;
        return (index % 2 ? bench.store : other).execute(register(user, { product }));
      }),
    );
    let isDone = false;
    void working.then(() => {
      isDone = true;
    });
    for (let isLast = false; !isLast; ) {
      isLast = isDone;
      const links = await other.read({ kind: 'list_audit', chain: null, limit: 10, before: null, after });
      seen.push(...links.map(({ seq }) => seq));
      after = links.at(-1)?.seq ?? after;
      if (links.length > 0) isLast = false;
    }
    const all = await bench.store.read({ kind: 'list_audit', chain: null, limit: 1e6, before: null });
    assert.deepEqual(seen, all.map(({ seq }) => seq).toReversed());
  },

  'a leader that has died under a clock that was ahead is replaced': async (bench: Bench) => {
    const other = await bench.openBeside();
    bench.clock.setWall(plus(bench.clock.readWall(), HOUR_MS));
    await bench.store.keepClock();
    assert.equal(bench.store.isLeader(), true);
    bench.clock.setWall(plus(bench.clock.readWall(), -HOUR_MS));
    await other.execute({ kind: 'reset_clock', by: 'admin' });
    bench.clock.advance(7 * SECOND_MS);
    await other.keepClock();
    assert.equal(other.isLeader(), true);
  },

  'one of them leads; the other takes over when it is gone, or says nothing any more': async (
    bench: Bench,
  ) => {
    assert.equal(bench.store.isLeader(), true);
    const other = await bench.openBeside();
    assert.equal(other.isLeader(), false);
    bench.clock.advance(5 * SECOND_MS);
    await other.keepClock();
    assert.equal(other.isLeader(), false, 'the lease of the first one runs');
    bench.clock.advance(SECOND_MS);
    await other.keepClock();
    assert.equal(other.isLeader(), true);
    await bench.store.keepClock();
    assert.equal(bench.store.isLeader(), false, 'a late one does not take it back');
    const third = await bench.openBeside();
    await other.close();
    await third.keepClock();
    assert.equal(third.isLeader(), true, 'who leaves gives it up');
  },
};
