import assert from 'node:assert/strict';
import { HOUR_MS, type Instant, MINUTE_MS, plus } from '../../../src/core/nouns/instant.ts';
import { type License, licenseId } from '../../../src/core/nouns/license.ts';
import type { Executed } from '../../../src/store/store.ts';
import { denying, exampleFeature, NOW, setRules } from '../../core/examples.ts';
import { codeOf, type ExamStore, refusedOf, users } from './exam-store.ts';

const TIMEOUT_MS = 10 * MINUTE_MS;
const YEAR_MS = 365 * 24 * HOUR_MS;
const UNTIL = plus(NOW, 20 * HOUR_MS);
const RESET = { kind: 'reset_clock', by: 'admin' } as const;
const FORCED = { ...RESET, mode: 'forced' } as const;
const TRIAL = { ...RESET, mode: 'trial' } as const;

/** Lets time pass, and collects what has ended. */
async function pass(exam: ExamStore, millis: number): Promise<void> {
  exam.clock.advance(millis);
  for (const { license } of await exam.listLicenses()) {
    await exam.execute({ kind: 'collect', licenseId: license.id });
  }
}

/** The server is started in a wrong year, and stays there until everything that was lent before has ended. */
async function passWrongYear(exam: ExamStore): Promise<void> {
  await exam.restart(() => setWallBy(exam, YEAR_MS));
  await pass(exam, TIMEOUT_MS);
}

function setWallBy(exam: ExamStore, millis: number): void {
  exam.clock.setWall(plus(exam.clock.readWall(), millis));
}

/** Sets the clock right, and resets the server's time. */
async function reset(exam: ExamStore, command: typeof RESET | typeof FORCED | typeof TRIAL = RESET) {
  setWallBy(exam, -YEAR_MS);
  const outcome = await exam.execute(command);
  assert.equal(outcome.kind, 'clock_reset', JSON.stringify(outcome));
  return outcome as Extract<Executed, { kind: 'clock_reset' }>;
}

async function listBorrows(exam: ExamStore): Promise<readonly (readonly [string, Instant | null])[]> {
  return (await exam.listSlots()).map(({ user, borrowedUntil }) => [user, borrowedUntil]);
}

const LENDING = { slots: 1, timeoutMinutes: 10, canBorrow: true, maxBorrowHours: 24 };
const FEATURES: Partial<License> = { slots: 3, features: [exampleFeature('render', { floating: LENDING })] };

/** A borrow that had ended only by the wrong time comes back with its date, if a slot is free. */
export const RESTORED_BORROWS = {
  'it is restored with its date and all that is known of its holder': async (exam: ExamStore) => {
    const license = await exam.install();
    const host = { hostname: 'ws-1', address: '10.1.2.3', info: 'lab' };
    await exam.borrow('ada', UNTIL, {
      host,
      credential: 'token app',
      by: { name: 'app', address: '10.0.0.9' },
    });
    const before = await exam.findSlot('ada');
    await passWrongYear(exam);
    assert.deepEqual(await exam.listUsers(), []);
    const { restored, lost } = await reset(exam);
    const named = { licenseId: license.id, product: license.product, feature: null, user: 'ada' };
    assert.deepEqual(restored, [{ ...named, borrowedUntil: UNTIL }]);
    assert.deepEqual(lost, []);
    assert.deepEqual(await exam.findSlot('ada'), before);
    const [event] = await exam.listEventsOf('borrow_restored', license.id);
    assert.deepEqual(event, {
      kind: 'borrow_restored',
      feature: null,
      user: 'ada',
      borrowedUntil: UNTIL,
      by: 'admin',
    });
    await exam.restart();
    assert.equal((await exam.findSlot('ada'))?.borrowedUntil, UNTIL);
  },

  'a reset before its slot was collected also keeps its date': async (exam: ExamStore) => {
    await exam.install();
    await exam.borrow('ada', UNTIL);
    await exam.restart(() => setWallBy(exam, YEAR_MS));
    await reset(exam);
    assert.deepEqual(await listBorrows(exam), [['ada', UNTIL]]);
  },

  'it survives restarts and crashes in the wrong time, and a second wrong jump': async (exam: ExamStore) => {
    await exam.install();
    await exam.borrow('ada', UNTIL);
    await passWrongYear(exam);
    await exam.restart();
    await exam.crash();
    await passWrongYear(exam);
    setWallBy(exam, -YEAR_MS);
    await reset(exam);
    assert.deepEqual(await listBorrows(exam), [['ada', UNTIL]]);
  },

  'a first reset to a time that is still wrong does not lose it': async (exam: ExamStore) => {
    await exam.install();
    await exam.borrow('ada', UNTIL);
    await passWrongYear(exam);
    await passWrongYear(exam);
    await reset(exam);
    assert.deepEqual(await listBorrows(exam), []);
    await reset(exam);
    assert.deepEqual(await listBorrows(exam), [['ada', UNTIL]]);
  },

  'without a free slot nothing changes, and its holder is named': async (exam: ExamStore) => {
    const license = await exam.install({ slots: 2 });
    await exam.borrow('ada', UNTIL);
    await exam.borrow('bob', UNTIL);
    await passWrongYear(exam);
    await exam.register('eve');
    const wrong = await exam.now();
    setWallBy(exam, -YEAR_MS);
    const refusal = refusedOf(await exam.execute(RESET));
    assert.equal(refusal.code, 'borrows_not_restorable');
    const borrows = refusal.details.borrows as readonly {
      user: string;
      code: string;
      borrowedUntil: Instant;
    }[];
    assert.deepEqual(
      borrows.map(({ user, code, borrowedUntil }) => [user, code, borrowedUntil]),
      [['bob', 'floating_not_available', UNTIL]],
    );
    assert.ok((await exam.now()) >= wrong);
    assert.deepEqual(await exam.listUsers(), ['eve']);
    const trial = await exam.execute(TRIAL);
    assert.deepEqual([trial.kind, await exam.listUsers()], ['clock_reset', ['eve']]);
    assert.equal((await exam.execute(FORCED)).kind, 'clock_reset');
    assert.deepEqual(await exam.listUsers(), ['ada', 'eve']);
    assert.equal(await exam.countInUse(license), 2);
    const [event] = await exam.listEventsOf('borrow_not_restored', license.id);
    assert.deepEqual([event?.user, event?.code], ['bob', 'floating_not_available']);
  },

  'no more are restored than there are slots': async (exam: ExamStore) => {
    const license = await exam.install({ slots: 20 });
    await Promise.all(users(20).map((user) => exam.borrow(user, UNTIL)));
    await passWrongYear(exam);
    await Promise.all(users(7).map((user) => exam.register(`new ${user}`)));
    const [{ restored, lost }] = await Promise.all([
      reset(exam, FORCED),
      ...users(5).map((user) => exam.register(`late ${user}`)),
    ]);
    assert.ok(restored.length <= 13);
    assert.equal(restored.length + lost.length, 20);
    assert.ok((await exam.countInUse(license)) <= 20);
  },

  'a holder without a borrow gets the date again, on the same slot': async (exam: ExamStore) => {
    const license = await exam.install({ slots: 1 });
    await exam.borrow('ada', UNTIL);
    await passWrongYear(exam);
    await exam.register('ada');
    await reset(exam);
    assert.deepEqual(await listBorrows(exam), [['ada', UNTIL]]);
    assert.equal(await exam.countInUse(license), 1);
  },

  'what was returned, recalled or borrowed again is not restored': async (exam: ExamStore) => {
    await exam.install({ slots: 9 });
    const names = ['anew', 'back', 'gone', 'late', 'recalled', 'released', 'tried'];
    for (const user of names) await exam.borrow(user, UNTIL);
    await exam.unregister('gone');
    await exam.recall('recalled');
    await passWrongYear(exam);
    assert.equal(codeOf(await exam.unregister('tried')), 'device_not_found');
    for (const user of ['back', 'released', 'late']) await exam.register(user);
    await exam.unregister('back');
    await exam.release('released');
    await pass(exam, TIMEOUT_MS);
    await exam.borrow('anew', plus(await exam.now(), HOUR_MS));
    await pass(exam, HOUR_MS);
    const { restored, lost } = await reset(exam);
    assert.deepEqual(
      [restored.map(({ user }) => user), lost],
      [['late'], []],
      'only the one who did nothing about it',
    );
  },

  'nor what was returned where nobody had an ended borrow until then': async (exam: ExamStore) => {
    await exam.install();
    await exam.borrow('ada', UNTIL);
    await exam.restart(() => setWallBy(exam, YEAR_MS));
    await exam.register('bob');
    await exam.unregister('bob');
    await pass(exam, TIMEOUT_MS);
    await exam.register('ada');
    await exam.unregister('ada');
    assert.deepEqual((await reset(exam)).restored, []);
    assert.deepEqual(await listBorrows(exam), []);
  },

  'nor is it on another license of the product': async (exam: ExamStore) => {
    for (const id of [1, 2]) await exam.install({ id: licenseId(id), slots: 3 });
    for (const user of ['ada', 'bob', 'eve']) await exam.borrow(user, UNTIL, { licenseId: licenseId(1) });
    await passWrongYear(exam);
    assert.equal(codeOf(await exam.unregister('ada')), 'device_not_found');
    await exam.register('bob');
    assert.equal(codeOf(await exam.unregister('bob')), 'done');
    const { restored, lost } = await reset(exam);
    assert.deepEqual(
      restored.map(({ user }) => user),
      ['eve'],
    );
    assert.deepEqual(lost, []);
  },

  'other credentials cannot return it': async (exam: ExamStore) => {
    await exam.install();
    await exam.borrow('ada', UNTIL, { credential: 'token a' });
    await passWrongYear(exam);
    assert.equal(codeOf(await exam.unregister('ada', { credential: 'token b' })), 'device_not_found');
    assert.equal((await reset(exam)).restored.length, 1);
  },

  'nothing is restored after all slots were returned': async (exam: ExamStore) => {
    const license = await exam.install();
    await exam.borrow('ada', UNTIL);
    await passWrongYear(exam);
    await exam.execute({ kind: 'release_all', licenseId: license.id, by: 'admin' });
    assert.deepEqual(await reset(exam), { kind: 'clock_reset', restored: [], lost: [] });
  },

  'a date that has also passed by the right time is over': async (exam: ExamStore) => {
    await exam.install();
    await exam.borrow('ada', plus(NOW, HOUR_MS));
    await exam.borrow('bob', UNTIL);
    await passWrongYear(exam);
    await pass(exam, HOUR_MS);
    const { restored, lost } = await reset(exam);
    assert.deepEqual([restored.map(({ user }) => user), lost], [['bob'], []]);
  },

  'a borrow taken and ended in the wrong time is over, and needs no confirmation': async (
    exam: ExamStore,
  ) => {
    await exam.install();
    await passWrongYear(exam);
    await exam.borrow('ada', plus(await exam.now(), HOUR_MS));
    await pass(exam, HOUR_MS);
    assert.deepEqual(await reset(exam), { kind: 'clock_reset', restored: [], lost: [] });
    assert.deepEqual(await exam.listUsers(), []);
  },

  'the current license decides': async (exam: ExamStore) => {
    const shrunk = { id: licenseId(1), product: 'a' };
    const closed = { id: licenseId(2), product: 'b' };
    const strict = { id: licenseId(3), product: 'c' };
    const gone = { id: licenseId(4), product: 'd' };
    for (const facts of [shrunk, closed, strict, gone]) {
      await exam.install(facts);
      await exam.borrow('ada', UNTIL, { product: facts.product });
    }
    await passWrongYear(exam);
    await exam.install({ ...shrunk, validUntil: plus(NOW, HOUR_MS) });
    await exam.install({ ...closed, enabled: false });
    await exam.install({ ...strict, canBorrow: false });
    await exam.execute({ kind: 'remove_license', licenseId: gone.id, by: 'admin' });
    setWallBy(exam, -YEAR_MS);
    const { details } = refusedOf(await exam.execute(RESET));
    assert.deepEqual(
      (details.borrows as readonly { code: string }[]).map(({ code }) => code),
      ['borrow_until_not_valid', 'license_not_enabled', 'license_borrow_not_allowed', 'license_not_found'],
    );
  },

  'a user who was denied meanwhile gets nothing': async (exam: ExamStore) => {
    await exam.install();
    await exam.borrow('ada', UNTIL);
    await passWrongYear(exam);
    await exam.execute(setRules(denying({ users: ['ada'] })));
    setWallBy(exam, -YEAR_MS);
    const { details } = refusedOf(await exam.execute(RESET));
    assert.equal((details.borrows as readonly { code: string }[])[0]?.code, 'blacklisted');
  },

  'borrowed feature slots are restored with it, as far as they are free': async (exam: ExamStore) => {
    const license = await exam.install(FEATURES);
    for (const user of ['ada', 'bob']) await exam.borrow(user, UNTIL);
    await exam.registerFeature('ada', { until: plus(NOW, 5 * HOUR_MS) });
    await passWrongYear(exam);
    assert.equal(await exam.countFeatureSlots(license), 0);
    await reset(exam);
    assert.equal(await exam.countFeatureSlots(license), 1);
    const held = await exam.registerFeature('ada');
    assert.ok(held.kind === 'measured' && held.slot?.borrowedUntil === plus(NOW, 5 * HOUR_MS));
    assert.equal((await exam.listEventsOf('borrow_restored', license.id)).length, 3);
    await passWrongYear(exam);
    await exam.register('eve');
    await exam.registerFeature('eve');
    const { lost } = await reset(exam, FORCED);
    assert.deepEqual(
      lost.map(({ user, feature, code }) => [user, feature, code]),
      [['ada', 'render', 'floating_not_available']],
    );
  },

  'what others hold of a feature is not taken for what its borrower holds': async (exam: ExamStore) => {
    const two = { ...LENDING, slots: 2 };
    const license = await exam.install({ slots: 3, features: [exampleFeature('render', { floating: two })] });
    await exam.borrow('ada', UNTIL);
    await exam.registerFeature('ada', { until: plus(NOW, 5 * HOUR_MS) });
    await passWrongYear(exam);
    await exam.register('eve');
    await exam.registerFeature('eve');
    await reset(exam);
    assert.equal(await exam.countFeatureSlots(license), 2);
    const held = await exam.registerFeature('ada');
    assert.ok(held.kind === 'measured' && held.slot?.borrowedUntil === plus(NOW, 5 * HOUR_MS));
  },

  'more than a thousand are restored at once': async (exam: ExamStore) => {
    const license = await exam.install({ slots: 1100 });
    await Promise.all(users(1100).map((user) => exam.borrow(user, UNTIL)));
    await passWrongYear(exam);
    assert.equal((await reset(exam)).restored.length, 1100);
    assert.equal(await exam.countInUse(license), 1100);
  },

  'merged users keep the later date': async (exam: ExamStore) => {
    await exam.install();
    await exam.borrow('Ada', plus(NOW, 10 * HOUR_MS));
    await exam.borrow('ada', UNTIL);
    await passWrongYear(exam);
    await exam.restartWith({ ignoresCase: true });
    await reset(exam);
    assert.deepEqual(await listBorrows(exam), [['ada', UNTIL]]);
  },
};
