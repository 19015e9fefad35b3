import assert from 'node:assert/strict';
import { denying, exampleFeature, NOW } from '../../core/examples.ts';
import { HOUR_MS, type Instant, MINUTE_MS, plus } from '../../core/nouns/instant.ts';
import { type License, licenseId } from '../../core/nouns/license.ts';
import type { Executed } from '../store.ts';
import { type Bench, codeOf, refusedOf, users } from './exam-store.ts';

const TIMEOUT_MS = 10 * MINUTE_MS;
const YEAR_MS = 365 * 24 * HOUR_MS;
const UNTIL = plus(NOW, 20 * HOUR_MS);
const RESET = { kind: 'reset_clock', by: 'admin' } as const;
const FORCED = { ...RESET, mode: 'forced' } as const;
const TRIAL = { ...RESET, mode: 'trial' } as const;

/** Lets time pass, and what has ended in it end. */
async function pass(bench: Bench, millis: number): Promise<void> {
  bench.clock.advance(millis);
  for (const { license } of await bench.listLicenses()) {
    await bench.execute({ kind: 'collect', licenseId: license.id });
  }
}

/** The server is started in a wrong year, and stays there until everything that was lent before has ended. */
async function passWrongYear(bench: Bench): Promise<void> {
  await bench.restart(() => setWallBy(bench, YEAR_MS));
  await pass(bench, TIMEOUT_MS);
}

function setWallBy(bench: Bench, millis: number): void {
  bench.clock.setWall(plus(bench.clock.readWall(), millis));
}

/** Sets the clock right, and resets the server's time. */
async function reset(bench: Bench, command: typeof RESET | typeof FORCED | typeof TRIAL = RESET) {
  setWallBy(bench, -YEAR_MS);
  const outcome = await bench.execute(command);
  assert.equal(outcome.kind, 'clock_reset', JSON.stringify(outcome));
  return outcome as Extract<Executed, { kind: 'clock_reset' }>;
}

async function listBorrows(bench: Bench): Promise<readonly (readonly [string, Instant | null])[]> {
  return (await bench.listSlots()).map(({ user, borrowedUntil }) => [user, borrowedUntil]);
}

const LENDING = { slots: 1, timeoutMinutes: 10, canBorrow: true, maxBorrowHours: 24 };
const FEATURES: Partial<License> = { slots: 3, features: [exampleFeature('render', { floating: LENDING })] };

/** A borrow that had ended only by the wrong time comes back with its date, if a slot is free. */
export const RESTORED_BORROWS = {
  'it comes back with its date and all that is known of its holder': async (bench: Bench) => {
    const license = await bench.install();
    const host = { hostname: 'ws-1', address: '10.1.2.3', info: 'lab' };
    await bench.borrow('ada', UNTIL, {
      host,
      credential: 'token app',
      by: { name: 'app', address: '10.0.0.9' },
    });
    const before = await bench.findSlot('ada');
    await passWrongYear(bench);
    assert.deepEqual(await bench.listUsers(), []);
    const { restored, lost } = await reset(bench);
    const named = { licenseId: license.id, product: license.product, feature: null, user: 'ada' };
    assert.deepEqual(restored, [{ ...named, borrowedUntil: UNTIL }]);
    assert.deepEqual(lost, []);
    assert.deepEqual(await bench.findSlot('ada'), before);
    const [event] = await bench.listEventsOf('borrow_restored', license.id);
    assert.deepEqual(event, {
      kind: 'borrow_restored',
      feature: null,
      user: 'ada',
      borrowedUntil: UNTIL,
      by: 'admin',
    });
    await bench.restart();
    assert.equal((await bench.findSlot('ada'))?.borrowedUntil, UNTIL);
  },

  'a reset before its slot was collected keeps its date, too': async (bench: Bench) => {
    await bench.install();
    await bench.borrow('ada', UNTIL);
    await bench.restart(() => setWallBy(bench, YEAR_MS));
    await reset(bench);
    assert.deepEqual(await listBorrows(bench), [['ada', UNTIL]]);
  },

  'it survives restarts and crashes in the wrong time, and a second wrong jump': async (bench: Bench) => {
    await bench.install();
    await bench.borrow('ada', UNTIL);
    await passWrongYear(bench);
    await bench.restart();
    await bench.crash();
    await passWrongYear(bench);
    setWallBy(bench, -YEAR_MS);
    await reset(bench);
    assert.deepEqual(await listBorrows(bench), [['ada', UNTIL]]);
  },

  'a first reset to a time that is still wrong does not lose it': async (bench: Bench) => {
    await bench.install();
    await bench.borrow('ada', UNTIL);
    await passWrongYear(bench);
    await passWrongYear(bench);
    await reset(bench);
    assert.deepEqual(await listBorrows(bench), []);
    await reset(bench);
    assert.deepEqual(await listBorrows(bench), [['ada', UNTIL]]);
  },

  'without a free slot nothing changes, and its holder is named': async (bench: Bench) => {
    const license = await bench.install({ slots: 2 });
    await bench.borrow('ada', UNTIL);
    await bench.borrow('bob', UNTIL);
    await passWrongYear(bench);
    await bench.register('eve');
    const wrong = await bench.now();
    setWallBy(bench, -YEAR_MS);
    const refusal = refusedOf(await bench.execute(RESET));
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
    assert.ok((await bench.now()) >= wrong);
    assert.deepEqual(await bench.listUsers(), ['eve']);
    const trial = await bench.execute(TRIAL);
    assert.deepEqual([trial.kind, await bench.listUsers()], ['clock_reset', ['eve']]);
    assert.equal((await bench.execute(FORCED)).kind, 'clock_reset');
    assert.deepEqual(await bench.listUsers(), ['ada', 'eve']);
    assert.equal(await bench.countInUse(license), 2);
    const [event] = await bench.listEventsOf('borrow_not_restored', license.id);
    assert.deepEqual([event?.user, event?.code], ['bob', 'floating_not_available']);
  },

  'many compete: no more come back than there are slots': async (bench: Bench) => {
    const license = await bench.install({ slots: 20 });
    await Promise.all(users(20).map((user) => bench.borrow(user, UNTIL)));
    await passWrongYear(bench);
    await Promise.all(users(7).map((user) => bench.register(`new ${user}`)));
    const [{ restored, lost }] = await Promise.all([
      reset(bench, FORCED),
      ...users(5).map((user) => bench.register(`late ${user}`)),
    ]);
    assert.ok(restored.length <= 13);
    assert.equal(restored.length + lost.length, 20);
    assert.ok((await bench.countInUse(license)) <= 20);
  },

  'whoever is back without a borrow gets its date again, on the slot they hold': async (bench: Bench) => {
    const license = await bench.install({ slots: 1 });
    await bench.borrow('ada', UNTIL);
    await passWrongYear(bench);
    await bench.register('ada');
    await reset(bench);
    assert.deepEqual(await listBorrows(bench), [['ada', UNTIL]]);
    assert.equal(await bench.countInUse(license), 1);
  },

  'what was given back, recalled or borrowed anew does not come back': async (bench: Bench) => {
    await bench.install({ slots: 9 });
    const names = ['anew', 'back', 'gone', 'late', 'recalled', 'released', 'tried'];
    for (const user of names) await bench.borrow(user, UNTIL);
    await bench.unregister('gone');
    await bench.recall('recalled');
    await passWrongYear(bench);
    assert.equal(codeOf(await bench.unregister('tried')), 'device_not_found');
    for (const user of ['back', 'released', 'late']) await bench.register(user);
    await bench.unregister('back');
    await bench.release('released');
    await pass(bench, TIMEOUT_MS);
    await bench.borrow('anew', plus(await bench.now(), HOUR_MS));
    await pass(bench, HOUR_MS);
    const { restored, lost } = await reset(bench);
    assert.deepEqual(
      [restored.map(({ user }) => user), lost],
      [['late'], []],
      'only the one who did nothing about it',
    );
  },

  'nor does it on another license of the product': async (bench: Bench) => {
    for (const id of [1, 2]) await bench.install({ id: licenseId(id), slots: 3 });
    for (const user of ['ada', 'bob', 'eve']) await bench.borrow(user, UNTIL, { licenseId: licenseId(1) });
    await passWrongYear(bench);
    assert.equal(codeOf(await bench.unregister('ada')), 'device_not_found');
    await bench.register('bob');
    assert.equal(codeOf(await bench.unregister('bob')), 'done');
    const { restored, lost } = await reset(bench);
    assert.deepEqual(
      restored.map(({ user }) => user),
      ['eve'],
    );
    assert.deepEqual(lost, []);
  },

  'other credentials cannot give it back': async (bench: Bench) => {
    await bench.install();
    await bench.borrow('ada', UNTIL, { credential: 'token a' });
    await passWrongYear(bench);
    assert.equal(codeOf(await bench.unregister('ada', { credential: 'token b' })), 'device_not_found');
    assert.equal((await reset(bench)).restored.length, 1);
  },

  'nothing comes back after all slots were returned': async (bench: Bench) => {
    const license = await bench.install();
    await bench.borrow('ada', UNTIL);
    await passWrongYear(bench);
    await bench.execute({ kind: 'release_all', licenseId: license.id, by: 'admin' });
    assert.deepEqual(await reset(bench), { kind: 'clock_reset', restored: [], lost: [] });
  },

  'a date that has passed by the right time, too, is over': async (bench: Bench) => {
    await bench.install();
    await bench.borrow('ada', plus(NOW, HOUR_MS));
    await bench.borrow('bob', UNTIL);
    await passWrongYear(bench);
    await pass(bench, HOUR_MS);
    const { restored, lost } = await reset(bench);
    assert.deepEqual([restored.map(({ user }) => user), lost], [['bob'], []]);
  },

  'a borrow that was taken and ended in the wrong time is over, and nobody is asked about it': async (
    bench: Bench,
  ) => {
    await bench.install();
    await passWrongYear(bench);
    await bench.borrow('ada', plus(await bench.now(), HOUR_MS));
    await pass(bench, HOUR_MS);
    assert.deepEqual(await reset(bench), { kind: 'clock_reset', restored: [], lost: [] });
    assert.deepEqual(await bench.listUsers(), []);
  },

  'it goes by the license as it is now': async (bench: Bench) => {
    const shrunk = { id: licenseId(1), product: 'a' };
    const closed = { id: licenseId(2), product: 'b' };
    const strict = { id: licenseId(3), product: 'c' };
    const gone = { id: licenseId(4), product: 'd' };
    for (const facts of [shrunk, closed, strict, gone]) {
      await bench.install(facts);
      await bench.borrow('ada', UNTIL, { product: facts.product });
    }
    await passWrongYear(bench);
    await bench.install({ ...shrunk, validUntil: plus(NOW, HOUR_MS) });
    await bench.install({ ...closed, enabled: false });
    await bench.install({ ...strict, canBorrow: false });
    await bench.execute({ kind: 'remove_license', licenseId: gone.id, by: 'admin' });
    setWallBy(bench, -YEAR_MS);
    const { details } = refusedOf(await bench.execute(RESET));
    assert.deepEqual(
      (details.borrows as readonly { code: string }[]).map(({ code }) => code),
      ['borrow_until_not_valid', 'license_not_enabled', 'license_borrow_not_allowed', 'license_not_found'],
    );
  },

  'who is denied meanwhile stays out': async (bench: Bench) => {
    await bench.install();
    await bench.borrow('ada', UNTIL);
    await passWrongYear(bench);
    await bench.execute({
      kind: 'set_rules',
      rules: denying({ users: ['ada'] }),
      digest: '',
      by: 'admin',
    });
    setWallBy(bench, -YEAR_MS);
    const { details } = refusedOf(await bench.execute(RESET));
    assert.equal((details.borrows as readonly { code: string }[])[0]?.code, 'blacklisted');
  },

  'borrowed feature slots come back with it, as far as they are free': async (bench: Bench) => {
    const license = await bench.install(FEATURES);
    for (const user of ['ada', 'bob']) await bench.borrow(user, UNTIL);
    await bench.registerFeature('ada', { until: plus(NOW, 5 * HOUR_MS) });
    await passWrongYear(bench);
    assert.equal(await bench.countFeatureSlots(license), 0);
    await reset(bench);
    assert.equal(await bench.countFeatureSlots(license), 1);
    const held = await bench.registerFeature('ada');
    assert.ok(held.kind === 'measured' && held.slot?.borrowedUntil === plus(NOW, 5 * HOUR_MS));
    assert.equal((await bench.listEventsOf('borrow_restored', license.id)).length, 3);
    await passWrongYear(bench);
    await bench.register('eve');
    await bench.registerFeature('eve');
    const { lost } = await reset(bench, FORCED);
    assert.deepEqual(
      lost.map(({ user, feature, code }) => [user, feature, code]),
      [['ada', 'render', 'floating_not_available']],
    );
  },

  'more than a thousand come back at once': async (bench: Bench) => {
    const license = await bench.install({ slots: 1100 });
    await Promise.all(users(1100).map((user) => bench.borrow(user, UNTIL)));
    await passWrongYear(bench);
    assert.equal((await reset(bench)).restored.length, 1100);
    assert.equal(await bench.countInUse(license), 1100);
  },

  'users that become one keep the later date': async (bench: Bench) => {
    await bench.install();
    await bench.borrow('Ada', plus(NOW, 10 * HOUR_MS));
    await bench.borrow('ada', UNTIL);
    await passWrongYear(bench);
    await bench.restartWith({ ignoresCase: true });
    await reset(bench);
    assert.deepEqual(await listBorrows(bench), [['ada', UNTIL]]);
  },
};
