import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { SlotPoint } from '@berth/server/core/history/slot-points';
import { historyCutoffs } from '@berth/server/core/history/thinning';
import { DAY_MS, HOUR_MS, type Instant, instant, MINUTE_MS, plus } from '@berth/server/core/nouns/instant';
import type { License } from '@berth/server/core/nouns/license';
import type { MasterKey } from '@berth/server/secrets/seal';
import { ASK_WHAT_IF } from '@berth/server/services/history/ask-what-if';
import type { SlotSeries } from '@berth/server/store/history-query';
import type { Executed } from '@berth/server/store/store';
import {
  consume,
  exampleFeature,
  exampleLimits,
  from,
  NOW,
  register,
  registerFeature,
} from '../../packages/server/test/core/examples.ts';
import { ExamStore, type OpenStore } from '../../packages/server/test/store/exam/exam-store.ts';
import { closeKept, openKept } from '../../packages/server/test/store/exam/kept-connections.ts';
import {
  expectSoundDatabase,
  openExamined,
} from '../../packages/server/test/store/exam/postgres-database.ts';
import { expectSoundFile, openQuickly } from '../../packages/server/test/store/exam/sqlite-file.ts';
import { createRandom, pickNumber, pickOne, type Random, readSeed } from '../support/random.ts';
import { hasPostgres, sharedPostgres } from '../support/stores/postgres.ts';
import { ConsumptionRecord, UsageRecord } from './usage-record.ts';

/** How many random histories on each store, and how long they are. */
const RUNS = Number(process.env.BERTH_USAGE_RUNS ?? 2);
const STEPS = 120;
const SEED = readSeed();

const USERS = ['ada', 'bob', 'eve', 'fay', '=1+1', '<b>zoe</b>'];
const TIMEOUT_MS = 10 * MINUTE_MS;
const LENDING = { slots: 2, timeoutMinutes: 10, canBorrow: true, maxBorrowHours: 24 };

const shared = sharedPostgres();
after(closeKept);

/** A store, and what a plain observer of it has written down. */
class Observed {
  readonly exam: ExamStore;
  readonly license: License;
  readonly whole = new UsageRecord(NOW);
  readonly render = new UsageRecord(NOW);
  readonly consumed = new ConsumptionRecord();
  readonly #random: Random;
  /** A store of one server gives all slots their time back when it is opened again. */
  readonly #prolongs: boolean;

  constructor(exam: ExamStore, license: License, random: Random, prolongs: boolean) {
    this.exam = exam;
    this.license = license;
    this.#random = random;
    this.#prolongs = prolongs;
  }

  get now(): Instant {
    return instant(this.exam.clock.readWall());
  }

  async step(): Promise<void> {
    const user = pickOne(this.#random, USERS);
    await pickOne(this.#random, [
      () => this.#register(user),
      () => this.#register(user),
      () => this.#register(user),
      () => this.#borrow(user),
      () => this.#borrowFeature(user),
      () => this.#registerFeature(user),
      () => this.#registerFeature(user),
      () => this.#giveBack(user),
      () => this.#giveBack(user),
      () => this.#giveFeatureBack(user),
      () => this.#consume(user),
      () => this.#consume(user),
      () => this.#clear(),
      () => this.collect(),
      () => this.#restart(),
      () => this.#pass(pickNumber(this.#random, { from: 1, to: 90_000 })),
      () => this.#pass(pickNumber(this.#random, { from: MINUTE_MS, to: 15 * MINUTE_MS })),
      () => this.#pass(pickNumber(this.#random, { from: MINUTE_MS, to: 5 * HOUR_MS })),
    ])();
  }

  #expire(): void {
    const ends = new Map([...this.whole.slots.values()].map(({ user, endsAt }) => [user, endsAt]));
    this.render.expire(this.now, (user) => ends.get(user) ?? Number.POSITIVE_INFINITY);
    this.whole.expire(this.now);
  }

  #endAll(user: string): void {
    this.render.end(user, this.now, 'return');
    this.whole.end(user, this.now, 'return');
  }

  #note(outcome: Executed, user: string, record: UsageRecord): void {
    if (outcome.kind === 'refused') record.denied.push({ at: this.now, user, reason: outcome.code });
    if (outcome.kind === 'granted') {
      const { endsAt, borrowedUntil } = outcome.registration;
      record.grant(user, this.now, endsAt, borrowedUntil);
    }
    if (outcome.kind === 'measured' && outcome.slot !== null) {
      record.grant(user, this.now, outcome.slot.endsAt, outcome.slot.borrowedUntil);
    }
  }

  async #register(user: string): Promise<void> {
    this.#note(await this.exam.execute(register(user, from('192.0.2.7'))), user, this.whole);
  }

  async #borrow(user: string): Promise<void> {
    const until = plus(this.now, pickNumber(this.#random, { from: MINUTE_MS, to: 3 * HOUR_MS }));
    this.#note((await this.exam.borrow(user, until)) as Executed, user, this.whole);
    // A borrow of a feature that reaches further is cut to it.
    const cut = this.render.slots.get(user);
    const held = this.whole.slots.get(user);
    if (cut?.borrowedUntil == null || held?.borrowedUntil !== until || cut.borrowedUntil <= until) return;
    cut.borrowedUntil = until;
    cut.endsAt = Math.max(until, Math.min(cut.endsAt, this.now + TIMEOUT_MS));
  }

  async #registerFeature(user: string): Promise<void> {
    this.#note(await this.exam.execute(registerFeature(user)), user, this.render);
  }

  async #borrowFeature(user: string): Promise<void> {
    this.#note(await this.exam.execute(registerFeature(user, { until: 'longest' })), user, this.render);
  }

  async #giveBack(user: string): Promise<void> {
    const kind = pickOne(this.#random, ['unregister', 'release', 'recall'] as const);
    if ((await this.exam[kind](user)).kind === 'done') this.#endAll(user);
  }

  async #giveFeatureBack(user: string): Promise<void> {
    const outcome = await this.exam.releaseFeature(user);
    if (outcome.kind === 'done') this.render.end(user, this.now, 'return');
  }

  async #consume(user: string): Promise<void> {
    const count = pickNumber(this.#random, { from: 1, to: 4 });
    const outcome = await this.exam.execute(consume(count, { user }));
    if (outcome.kind === 'measured') this.consumed.add(this.now, count);
    else this.#note(outcome, user, this.whole);
  }

  async #clear(): Promise<void> {
    if (this.#random() < 0.7) return;
    const features = this.#random() < 0.5;
    const kind = features ? 'release_all_features' : 'release_all';
    await this.exam.execute({ kind, licenseId: this.license.id, by: 'admin' });
    for (const user of USERS) {
      if (features) this.render.end(user, this.now, 'return');
      else this.#endAll(user);
    }
  }

  async collect(): Promise<void> {
    await this.exam.execute({ kind: 'collect', licenseId: this.license.id });
  }

  async #restart(): Promise<void> {
    if (this.#random() < 0.5) await this.exam.restart();
    else if (this.#prolongs) await this.exam.crash();
    if (!this.#prolongs) return;
    for (const slot of [...this.whole.slots.values(), ...this.render.slots.values()]) {
      slot.endsAt = Math.max(slot.endsAt, this.now + TIMEOUT_MS);
    }
  }

  async #pass(millis: number): Promise<void> {
    this.exam.clock.advance(millis);
    // The server stores the time every second, and what has ended stays so over a restart.
    await this.exam.store.keepClock();
    this.#expire();
  }

  async thin(days: number): Promise<void> {
    await this.#pass(days * DAY_MS);
    await this.collect();
    const work = await this.exam.store.read({ kind: 'list_old_history', ...historyCutoffs(this.now, 730) });
    for (const { licenseId, step } of work)
      await this.exam.execute({ kind: 'thin_history', licenseId, step });
  }
}

async function readSeries({ exam, license, now }: Observed, feature: string, stepMs: number, since: Instant) {
  const asked = { since, until: plus(now, 1), licenseId: license.id, feature, stepMs };
  const [series] = await exam.store.read({ kind: 'list_slot_history', ...asked });
  return series as SlotSeries;
}

/** Averages are fractions: they may differ in their last digits. */
function expectSamePoints(actual: readonly SlotPoint[], expected: readonly SlotPoint[], title: string): void {
  const without = ({ average: _, ...point }: SlotPoint) => point;
  assert.deepEqual(actual.map(without), expected.map(without), title);
  for (const [index, { average }] of actual.entries()) {
    assert.ok(Math.abs(average - (expected[index]?.average ?? 0)) < 1e-9, `${title}: the average ${average}`);
  }
}

/** The points of the report must be those of the record; it may begin with a resting one. */
async function expectSameCurve(observed: Observed, stepMs: number): Promise<void> {
  const since = instant(NOW - (NOW % stepMs));
  for (const [feature, record] of [['', observed.whole] as const, ['render', observed.render] as const]) {
    const { points, totals } = await readSeries(observed, feature, stepMs, since);
    const expected = record.points(stepMs, observed.now);
    const first = points[0]?.at === NOW && expected[0]?.at !== NOW ? 1 : 0;
    expectSamePoints(points.slice(first), expected, `${feature} by ${stepMs}`);
    assert.equal(totals.grants, record.granted.length);
    assert.equal(totals.returns, record.ended.length);
    assert.equal(totals.denials, record.denied.length);
  }
}

/** Two reports on the same time count the same denials, also if it begins within a step. */
async function expectSameDenials({ exam, license, now }: Observed): Promise<void> {
  const since = plus(NOW, 7 * MINUTE_MS);
  const span = { since, until: plus(now, 1), licenseId: license.id, feature: null };
  const query = { ...span, user: null, reason: null, limit: 1 };
  const { total } = await exam.store.read({ kind: 'list_denial_history', ...query });
  for (const stepMs of [MINUTE_MS, HOUR_MS, DAY_MS]) {
    const series = await exam.store.read({ kind: 'list_slot_history', ...span, stepMs });
    const points = series.flatMap((one) => one.points);
    for (const list of [points, series.map(({ totals }) => totals)]) {
      assert.equal(
        list.reduce((sum, { denials }) => sum + denials, 0),
        total,
        `by ${stepMs}`,
      );
    }
    assert.ok(points.every(({ at, average }) => at >= since && average >= -1e-9));
  }
}

async function expectSameReports(observed: Observed): Promise<void> {
  const { exam, license, now } = observed;
  // Users and durations are counted when a slot is collected, at most half a minute after its end.
  await observed.collect();
  const all = { since: instant(0), until: plus(now, 1), licenseId: license.id };
  const { users } = await exam.store.read({ kind: 'list_user_history', ...all, user: null, limit: 100 });
  const listed = users.map(({ user, feature, grants, denials, sessions, heldMs }) =>
    JSON.stringify({ feature, user, grants, denials, sessions, heldMs }),
  );
  const written = [[null, observed.whole] as const, ['render', observed.render] as const].flatMap(
    ([feature, record]) => record.users().map((row) => JSON.stringify({ feature, ...row })),
  );
  assert.deepEqual(listed.toSorted(), written.toSorted());
  const denied = [...observed.whole.denied, ...observed.render.denied];
  const asked = { ...all, feature: null, user: null, reason: null, limit: 10_000 };
  const { total, byReason, denials } = await exam.store.read({ kind: 'list_denial_history', ...asked });
  assert.equal(total, denied.length);
  assert.equal(
    denials.reduce((sum, { count }) => sum + count, 0),
    denied.length,
  );
  for (const { reason, count } of byReason) {
    assert.equal(count, denied.filter((one) => one.reason === reason).length, reason);
  }
  const days = await exam.store.read({ kind: 'list_consumption_history', ...all, feature: '', limit: 1000 });
  assert.deepEqual(
    days.map(({ day, amount }) => [day, amount]),
    observed.consumed.list(),
  );
}

async function expectSameWhatIf(observed: Observed): Promise<void> {
  const { exam, license, now, whole } = observed;
  const asked = { since: NOW, until: plus(now, 1), licenseId: license.id, feature: '', now };
  const answer = await ASK_WHAT_IF.do(asked, exam.store, new AbortController().signal);
  assert.ok(answer !== null);
  const median = whole.median();
  assert.equal(answer.medianMs, median === null ? null : median * MINUTE_MS);
  for (const { slots, ...point } of answer.curve) {
    const { asked: requests, ...expected } = whole.whatIf(NOW, now, slots);
    assert.deepEqual(
      { asked: answer.asked, ...point },
      { asked: requests, ...expected },
      `with ${slots} slots`,
    );
  }
}

async function observe(
  open: OpenStore,
  seed: number,
  isAlone: boolean,
  inspect: (folder: string) => Promise<void>,
) {
  const exam = await ExamStore.start(open);
  try {
    const license = await exam.install({
      slots: 3,
      type: 'consumption',
      consumption: exampleLimits({ max: 60 }),
      features: [exampleFeature('render', { floating: LENDING })],
    });
    const observed = new Observed(exam, license, createRandom(seed), isAlone);
    for (let step = 0; step < STEPS; step++) await observed.step();
    for (const stepMs of [MINUTE_MS, HOUR_MS, DAY_MS]) await expectSameCurve(observed, stepMs);
    await expectSameReports(observed);
    await expectSameDenials(observed);
    await expectSameWhatIf(observed);
    for (const days of [9, 40, 60]) {
      await observed.thin(days);
      await expectSameCurve(observed, DAY_MS);
      await expectSameReports(observed);
      await expectSameDenials(observed);
      for (let step = 0; step < STEPS / 10; step++) await observed.step();
    }
    await inspect(exam.folder);
  } finally {
    await exam.end();
  }
}

const masterKey = randomBytes(32) as Uint8Array as MasterKey;

test('the history on SQLite is what an observer has written down', async (t) => {
  t.diagnostic(`seed ${SEED} (BERTH_SEED), ${RUNS} histories (BERTH_USAGE_RUNS)`);
  for (let run = 0; run < RUNS; run++) {
    const open: OpenStore = async ({ folder, ...options }) =>
      openQuickly({ file: join(folder, 'berth.db'), masterKey, ...options });
    await observe(open, SEED + run, true, expectSoundFile);
  }
});

test('the history on PostgreSQL is what an observer has written down', async (t) => {
  if (!hasPostgres) return t.skip('optional: needs PostgreSQL for this platform');
  t.diagnostic(`seed ${SEED} (BERTH_SEED), ${RUNS} histories (BERTH_USAGE_RUNS)`);
  const postgres = await shared();
  for (let run = 0; run < RUNS; run++) {
    const open: OpenStore = (options) =>
      openExamined(options, () => postgres.createDatabase('tables'), undefined, openKept);
    await observe(open, SEED + run, false, expectSoundDatabase);
  }
});
