import assert from 'node:assert/strict';
import { HOUR_MS, plus, SECOND_MS } from '../../../src/core/nouns/instant.ts';
import { licenseId } from '../../../src/core/nouns/license.ts';
import {
  borrow,
  consume,
  denying,
  from,
  limitingAddresses,
  register,
  setRules,
} from '../../core/examples.ts';
import { bar } from './bars.ts';
import { codeOf, type ExamStore, users } from './exam-store.ts';
import { expectOneSlotEach, installPool } from './pools.ts';
import { deny } from './rules.ts';

/** A second server on the same data sees and respects all that the first one does. */
export const TWO_SERVERS = {
  'of five hundred users on five slots exactly five get one': async (exam: ExamStore) => {
    const other = await exam.openBeside();
    const license = await exam.install({ slots: 5 });
    const outcomes = await Promise.all(
      users(500).map((user, index) => (index % 2 ? exam.store : other).execute(register(user))),
    );
    assert.equal(outcomes.filter(({ kind }) => kind === 'granted').length, 5);
    assert.equal(await exam.countInUse(license), 5);
  },

  'a pool is lent once by both, and one user holds one slot of it': async (exam: ExamStore) => {
    const other = await exam.openBeside();
    const licenses = await installPool(exam, { slots: 3 }, { slots: 2, canBorrow: false });
    const ask = (user: string, index: number) => {
      const command = index % 4 < 2 ? register(user) : borrow(user, 'longest');
      return (index % 2 ? exam.store : other).execute(command);
    };
    await Promise.all(Array.from({ length: 200 }, (_, index) => ask(`user-${index >> 2}`, index)));
    for (const license of licenses) assert.ok((await exam.countInUse(license)) <= license.slots);
    assert.equal((await exam.listSlots(licenseId(1))).length, 3);
    await expectOneSlotEach(exam);
  },

  'grants are signed with the same keys on both': async (exam: ExamStore) => {
    const other = await exam.openBeside();
    const make = (kid: string, isFirst: boolean) =>
      ({ kind: 'rotate_grant_key', kid, privateKey: `p ${kid}`, isFirst, by: 'admin' }) as const;
    await Promise.all([exam.execute(make('k1', true)), other.execute(make('k2', true))]);
    await other.execute(make('k3', false));
    const [ours, theirs] = [exam.store, other].map((store) => store.read({ kind: 'find_grant_keys' }));
    assert.deepEqual(await ours, await theirs);
    assert.deepEqual([(await ours)?.length, (await ours)?.[0]?.kid], [2, 'k3']);
  },

  'a code that was used at one is used at the other, too': async (exam: ExamStore) => {
    const other = await exam.openBeside();
    const own = { name: 'ada', role: 'admin', passwordHash: 'h', oneTime: false, by: 'server' } as const;
    await exam.execute({ kind: 'create_account', ...own });
    const factor = { secret: 's', usedStep: 1, recoveryCodes: ['r'], keptToken: null } as const;
    const known = { account: 'ada', checkedHash: 'h' } as const;
    await exam.execute({ kind: 'set_second_factor', ...known, ...factor, by: 'ada' });
    for (const code of [{ kind: 'step', step: 2 } as const, { kind: 'recovery', hash: 'r' } as const]) {
      const signIn = (tokenHash: string) =>
        ({ kind: 'sign_in', ...known, address: '::1', tokenHash: code.kind + tokenHash, code }) as const;
      const both = await Promise.all([exam.execute(signIn('1')), other.execute(signIn('2'))]);
      assert.deepEqual(both.map(codeOf).sort(), ['done', 'second_factor_required']);
    }
  },

  'one that ignores case does not start while one runs that does not': async (exam: ExamStore) => {
    await exam.install();
    await assert.rejects(exam.openBeside(true), /users\.ignoreCase is true here/);
    const other = await exam.openBeside(false);
    assert.equal(codeOf(await other.execute(register('Ada'))), 'granted');
    assert.equal(codeOf(await exam.register('ada')), 'granted', 'somebody else');
  },

  'an address gets no more from both than its limit': async (exam: ExamStore) => {
    const other = await exam.openBeside();
    const license = await exam.install({ slots: 500 });
    const asked = from('192.0.2.7');
    await exam.execute(setRules(limitingAddresses(5)));
    const outcomes = await Promise.all(
      users(100).map((user, index) => (index % 2 ? exam.store : other).execute(register(user, asked))),
    );
    assert.equal(outcomes.filter(({ kind }) => kind === 'granted').length, 5);
    assert.equal(await exam.countInUse(license), 5);
  },

  'counts on both reach the limit exactly': async (exam: ExamStore) => {
    const other = await exam.openBeside();
    const license = await exam.install();
    const outcomes = await Promise.all(
      users(200).map((_, index) => (index % 2 ? exam.store : other).execute(consume(1))),
    );
    const counted = outcomes.filter(({ kind }) => kind === 'measured').length;
    assert.equal((await exam.readTotals(license)).total, counted);
  },

  'the same key at both counts once': async (exam: ExamStore) => {
    const other = await exam.openBeside();
    const license = await exam.install();
    const request = consume(5, { idempotency: { key: 'k', bodyHash: 'b' } } as never);
    const outcomes = await Promise.all(
      users(40).map((_, index) => (index % 2 ? exam.store : other).execute(request)),
    );
    assert.deepEqual(new Set(outcomes.map(codeOf)), new Set(['measured']));
    assert.equal((await exam.readTotals(license)).total, 5);
  },

  'a license that one adds, changes or removes changes for the other at once': async (exam: ExamStore) => {
    const other = await exam.openBeside();
    assert.equal(codeOf(await other.execute(register('ada'))), 'missing_parameters');
    await exam.install({ slots: 1 });
    assert.equal(codeOf(await other.execute(register('ada'))), 'granted');
    assert.equal(codeOf(await other.execute(register('bob'))), 'floating_not_available');
    await exam.install({ slots: 2 });
    assert.equal(codeOf(await other.execute(register('bob'))), 'granted');
    await exam.install({ id: licenseId(8), product: 'cam' });
    assert.equal(codeOf(await other.execute(register('ada'))), 'missing_parameters');
    await other.execute({ kind: 'remove_license', licenseId: licenseId(8), by: 'admin' });
    assert.equal(codeOf(await exam.register('eve')), 'floating_not_available');
  },

  'rules that one sets apply to the other at once': async (exam: ExamStore) => {
    const other = await exam.openBeside();
    await exam.install();
    assert.equal(codeOf(await other.execute(register('ada'))), 'granted');
    await deny(exam, { users: ['a*'] });
    assert.equal(codeOf(await other.execute(register('ann'))), 'blacklisted');
  },

  'bars that one sets apply to the other at once, beside its rules': async (exam: ExamStore) => {
    const other = await exam.openBeside();
    await exam.install();
    assert.equal(codeOf(await other.execute(register('ada'))), 'granted');
    await bar(exam, 'fay');
    assert.equal(codeOf(await other.execute(register('fay'))), 'blacklisted');
    await other.execute(setRules(denying({ users: ['eve'] })));
    for (const user of ['fay', 'eve']) assert.equal(codeOf(await exam.register(user)), 'blacklisted');
    await other.execute({ kind: 'remove_bar', bar: { kind: 'user', pattern: 'fay' }, by: 'admin' });
    assert.equal(codeOf(await exam.register('fay')), 'granted');
  },

  'both write the log, and a reader misses nothing': async (exam: ExamStore) => {
    const other = await exam.openBeside();
    const licenses = users(6).map((_, index) => licenseId(index + 1));
    for (const id of licenses) await exam.install({ id, product: `p${id}`, slots: 100 });
    const seen: number[] = [];
    let after = 0;
    const working = Promise.all(
      users(300).map((user, index) => {
        const product = `p${licenses[index % licenses.length]}`;
        return (index % 2 ? exam.store : other).execute(register(user, { product }));
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
    const all = await exam.store.read({ kind: 'list_audit', chain: null, limit: 1e6, before: null });
    assert.deepEqual(seen, all.map(({ seq }) => seq).toReversed());
  },

  'a dead leader whose clock was ahead is replaced': async (exam: ExamStore) => {
    const other = await exam.openBeside();
    exam.clock.setWall(plus(exam.clock.readWall(), HOUR_MS));
    await exam.store.keepClock();
    assert.equal(exam.store.isLeader(), true);
    exam.clock.setWall(plus(exam.clock.readWall(), -HOUR_MS));
    await other.execute({ kind: 'reset_clock', by: 'admin' });
    exam.clock.advance(7 * SECOND_MS);
    await other.keepClock();
    assert.equal(other.isLeader(), true);
  },

  'one of them leads; the other takes over when it is gone or silent': async (exam: ExamStore) => {
    assert.equal(exam.store.isLeader(), true);
    const other = await exam.openBeside();
    assert.equal(other.isLeader(), false);
    exam.clock.advance(5 * SECOND_MS);
    await other.keepClock();
    assert.equal(other.isLeader(), false, 'the lease of the first one runs');
    exam.clock.advance(SECOND_MS);
    await other.keepClock();
    assert.equal(other.isLeader(), true);
    await exam.store.keepClock();
    assert.equal(exam.store.isLeader(), false, 'a late one does not take it back');
    const third = await exam.openBeside();
    await other.close();
    await third.keepClock();
    assert.equal(third.isLeader(), true, 'who leaves gives it up');
  },
};
