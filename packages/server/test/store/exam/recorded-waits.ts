import assert from 'node:assert/strict';
import type { Wait } from '../../../src/core/command.ts';
import { historyCutoffs } from '../../../src/core/history/thinning.ts';
import { DAY_MS, instant, plus, SECOND_MS } from '../../../src/core/nouns/instant.ts';
import { licenseId } from '../../../src/core/nouns/license.ts';
import { exampleFeature, NOW, register, release } from '../../core/examples.ts';
import { bar } from './bars.ts';
import { codeOf, type ExamStore, grantedOf } from './exam-store.ts';
import { installPool } from './pools.ts';
import { STAY } from './waiting.ts';

const LAST: Wait = { mode: 'last', forMs: 0 };
const REPEAT: Wait = { mode: 'repeat', forMs: 2 * SECOND_MS };
const HAND_ON = { kind: 'hand_on', product: 'cad' } as const;

const ask = (exam: ExamStore, user: string, wait: Wait = STAY) => exam.execute(register(user, { wait }));

const leave = (exam: ExamStore, user: string) =>
  exam.execute({ kind: 'leave_line', product: 'cad', feature: '', user });

async function listWaits(exam: ExamStore, since = instant(0), feature: string | null = null) {
  const asked = { since, until: plus(await exam.now(), 1), licenseId: null, feature };
  return exam.store.read({ kind: 'list_wait_history', ...asked });
}

/** Of the only license: how many got a slot, and how many did not, each with the median in seconds. */
async function countWaits(exam: ExamStore): Promise<readonly (number | null)[]> {
  const [one, ...others] = await listWaits(exam);
  assert.deepEqual(others, []);
  if (one === undefined) return [];
  const { served, medianMs, unserved, unservedMedianMs } = one;
  return [served, inSeconds(medianMs), unserved, inSeconds(unservedMedianMs)];
}

function inSeconds(ms: number | null): number | null {
  return ms === null ? null : ms / SECOND_MS;
}

/** How long users really waited. */
export const RECORDED_WAITS = {
  'a wait is recorded when its slot is lent, once': async (exam: ExamStore) => {
    await exam.install({ slots: 1 });
    await exam.register('holder');
    assert.equal(codeOf(await ask(exam, 'ada')), 'waiting');
    exam.clock.advance(3 * SECOND_MS);
    assert.deepEqual(await countWaits(exam), [], 'who still waits is not counted');
    await exam.unregister('holder');
    assert.deepEqual(await countWaits(exam), [1, 3, 0, null]);
    exam.clock.advance(SECOND_MS);
    await exam.execute(HAND_ON);
    grantedOf(await ask(exam, 'ada'));
    await exam.unregister('ada');
    assert.deepEqual(await countWaits(exam), [1, 3, 0, null]);
  },

  'a slot that is taken back unseen begins another wait': async (exam: ExamStore) => {
    await exam.install({ slots: 1 });
    await exam.register('holder');
    await ask(exam, 'ada');
    exam.clock.advance(3 * SECOND_MS);
    await exam.unregister('holder');
    await exam.execute(release('ada'));
    await exam.register('eve');
    assert.equal(codeOf(await ask(exam, 'ada')), 'waiting');
    exam.clock.advance(SECOND_MS);
    await exam.unregister('eve');
    const [one] = await listWaits(exam);
    assert.deepEqual([one?.served, inSeconds(one?.longestMs ?? null)], [2, 3]);
  },

  'who goes on waiting waits since the beginning': async (exam: ExamStore) => {
    await exam.install({ slots: 1 });
    await exam.register('holder');
    await ask(exam, 'ada');
    exam.clock.advance(30 * SECOND_MS);
    assert.equal(codeOf(await ask(exam, 'ada', LAST)), 'floating_not_available');
    exam.clock.advance(5 * SECOND_MS);
    assert.equal(codeOf(await ask(exam, 'ada')), 'waiting');
    exam.clock.advance(7 * SECOND_MS);
    await exam.unregister('holder');
    assert.deepEqual(await countWaits(exam), [1, 42, 0, null]);
  },

  'who gives up waited until then': async (exam: ExamStore) => {
    await exam.install({ slots: 1 });
    await exam.register('holder');
    await ask(exam, 'ada');
    await ask(exam, 'bob');
    exam.clock.advance(4 * SECOND_MS);
    await leave(exam, 'ada');
    exam.clock.advance(6 * SECOND_MS);
    await ask(exam, 'bob', LAST);
    exam.clock.advance(9 * SECOND_MS);
    await exam.execute(HAND_ON);
    assert.deepEqual(await countWaits(exam), [0, null, 1, 4], 'bob may come back');
    exam.clock.advance(SECOND_MS);
    assert.equal(codeOf(await ask(exam, 'bob')), 'waiting', 'who comes too late waits anew');
    exam.clock.advance(SECOND_MS);
    await exam.unregister('holder');
    assert.deepEqual(await countWaits(exam), [1, 1, 2, 4]);
    const [{ unservedLongestMs } = { unservedLongestMs: null }] = await listWaits(exam);
    assert.equal(unservedLongestMs, 10 * SECOND_MS);
  },

  'who is refused while they wait waited in vain': async (exam: ExamStore) => {
    const license = await exam.install({ slots: 1 });
    await exam.register('holder');
    await ask(exam, 'ada');
    await ask(exam, 'bob');
    exam.clock.advance(2 * SECOND_MS);
    await bar(exam, 'ada');
    await exam.execute(HAND_ON);
    assert.equal(codeOf(await ask(exam, 'ada')), 'blacklisted');
    assert.deepEqual(await countWaits(exam), [0, null, 1, 2]);
    await exam.execute({ kind: 'remove_license', licenseId: license.id, by: 'admin' });
    await exam.execute(HAND_ON);
    assert.deepEqual(await countWaits(exam), [0, null, 1, 2], 'its license is no longer there');
  },

  'who repeats the call waited if a slot came of it': async (exam: ExamStore) => {
    await exam.install({ slots: 1 });
    await exam.register('holder');
    for (const user of ['ada', 'bob']) await ask(exam, user, REPEAT);
    exam.clock.advance(SECOND_MS);
    await ask(exam, 'ada', REPEAT);
    exam.clock.advance(SECOND_MS);
    await exam.unregister('holder');
    grantedOf(await ask(exam, 'ada', REPEAT));
    exam.clock.advance(SECOND_MS);
    await exam.execute(HAND_ON);
    assert.deepEqual(await countWaits(exam), [1, 2, 0, null]);
  },

  'a license of a pool, and a feature, have waits of their own': async (exam: ExamStore) => {
    const floating = { slots: 1, timeoutMinutes: 10, canBorrow: false, maxBorrowHours: 0 };
    const features = [{ ...exampleFeature('render'), floating }];
    await installPool(exam, { slots: 2, features }, { slots: 1 });
    const first = { product: null, licenseId: licenseId(1) };
    for (const user of ['one', 'two']) {
      await exam.register(user, first);
      await exam.registerFeature(user, { ...first, wait: STAY });
    }
    await exam.register('three');
    for (const user of ['ada', 'bob']) await ask(exam, user);
    exam.clock.advance(SECOND_MS);
    await exam.unregister('one');
    await leave(exam, 'bob');
    exam.clock.advance(20 * SECOND_MS);
    await exam.execute(HAND_ON);
    const list = async (feature: string | null) =>
      (await listWaits(exam, NOW, feature)).map((one) => [
        one.licenseId,
        one.feature,
        one.served,
        one.unserved,
      ]);
    const [ofFirst, ofFeature, ofSecond] = [
      [1, null, 1, 0],
      [1, 'render', 1, 0],
      [2, null, 0, 1],
    ];
    assert.deepEqual(await list(null), [ofFirst, ofFeature, ofSecond]);
    assert.deepEqual(await list('render'), [ofFeature]);
    assert.deepEqual(await list(''), [ofFirst, ofSecond]);
  },

  'however many wait, a day has few rows, which go with the history': async (exam: ExamStore) => {
    const license = await exam.install({ slots: 1 });
    await exam.register('holder');
    const names = Array.from({ length: 300 }, (_, index) => `user-${index}`);
    await Promise.all(names.map((user) => ask(exam, user)));
    exam.clock.advance(25 * SECOND_MS);
    await exam.execute({ kind: 'install_license', license: { ...license, slots: 271 }, by: 'admin' });
    exam.clock.advance(400 * SECOND_MS);
    await exam.execute(HAND_ON);
    const [{ served, p90Ms, unserved, unservedMedianMs } = assert.fail('none')] = await listWaits(exam);
    // Nobody asked again, so the others waited for as long as they had said, and two seconds more.
    assert.deepEqual([served, p90Ms, unserved, unservedMedianMs], [270, 25_000, 30, 32_000]);
    const whatIf = { since: NOW, until: plus(await exam.now(), 1), licenseId: license.id, feature: '' };
    assert.equal((await exam.store.read({ kind: 'begin_what_if', ...whatIf }))?.waits.served, 270);
    assert.deepEqual(await listWaits(exam, plus(NOW, DAY_MS)), [], 'only the days that are asked for');
    exam.clock.advance(40 * DAY_MS);
    const cutoffs = historyCutoffs(await exam.now(), 30);
    const old = await exam.store.read({ kind: 'list_old_history', ...cutoffs });
    for (const one of old) await exam.execute({ kind: 'thin_history', ...one });
    assert.deepEqual(await listWaits(exam), []);
  },

  'a wait of the future is moved when a wrong clock is reset': async (exam: ExamStore) => {
    await exam.install({ slots: 1 });
    await exam.restart(() => exam.clock.setWall(plus(NOW, 365 * DAY_MS)));
    await exam.register('holder');
    await ask(exam, 'ada');
    exam.clock.advance(SECOND_MS);
    await exam.unregister('holder');
    exam.clock.setWall(plus(NOW, SECOND_MS));
    await exam.execute({ kind: 'reset_clock', by: 'admin' });
    assert.deepEqual(await countWaits(exam), [1, 1, 0, null]);
  },
};

/** A wait is recorded by the server that hands on, or that clears the line. */
export const RECORDED_WAITS_ON_TWO = {
  'the server that hands on records the wait, or the one that clears the line': async (exam: ExamStore) => {
    const other = await exam.openBeside();
    for (const store of [exam.store, other]) await store.keepClock();
    await exam.install({ slots: 1 });
    await exam.register('holder');
    for (const user of ['ada', 'bob']) await other.execute(register(user, { wait: STAY }));
    exam.clock.advance(SECOND_MS);
    await exam.unregister('holder');
    assert.deepEqual(await countWaits(exam), [1, 1, 0, null], 'handed on by the other server');
    grantedOf(await other.execute(register('ada', { wait: STAY })));
    exam.clock.advance(60 * SECOND_MS);
    await exam.store.keepClock();
    await exam.execute(HAND_ON);
    assert.equal((await exam.store.listWaiting()).waiting, 0);
    // The other server has died, so nobody knows more than how long bob wanted to wait.
    assert.deepEqual(await countWaits(exam), [1, 1, 1, 32]);
  },
};
