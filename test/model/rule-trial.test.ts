import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { heldMinutes, medianOf } from '@berth/server/core/history/grain';
import { DAY_MS, HOUR_MS, type Instant, MINUTE_MS, plus } from '@berth/server/core/nouns/instant';
import { type LicenseId, licenseId } from '@berth/server/core/nouns/license';
import type { RuleSet } from '@berth/server/core/rules/rule-set';
import { tryRules } from '@berth/server/services/rules/try-rules';
import type { AuditLink } from '@berth/server/store/query';
import { exampleFeature } from '../../packages/server/test/core/examples.ts';
import type { ExamStore } from '../../packages/server/test/store/exam/exam-store.ts';
import { createRandom, pickNumber, type Random, readSeed } from '../support/random.ts';
import { hasPostgres, sharedPostgres } from '../support/stores/postgres.ts';
import { LICENSES, makeUpDays, type Step } from './made-up-days.ts';
import { FEATURE, makeUpRules } from './made-up-rules.ts';
import { startEmptyPostgres, startEmptySqlite } from './model-stores.ts';
import { type Place, type Replayed, ReplayedServer } from './replayed-server.ts';

/** How long the history is. */
const DAYS = Number(process.env.BERTH_TRIAL_DAYS ?? 1);
const SEED = readSeed();

const PRODUCT = 'cad';
const PEOPLE = 12;
const TIMEOUT_MINUTES = 60;
const MAX_BORROW_HOURS = 48;
/** In the store of the replay, only the log ends slots. */
const NEVER_MINUTES = 400 * 24 * 60;

/** Longer than anybody waits. */
const STAY = { mode: 'stay', forMs: 10 * MINUTE_MS } as const;
const LAST = { mode: 'last', forMs: 0 } as const;

const shared = sharedPostgres();

test('a trial answers as the server does, event by event', async (t) => {
  await expectSameAnswers(t, 2, startEmptySqlite);
});

/** Left to `npm run faults -- rule-trial`: it takes much longer, and the store exam compares the stores. */
if (DAYS > 1) {
  test('a trial of the past on PostgreSQL answers as the server does, event by event', async (t) => {
    if (!hasPostgres) return t.skip('optional: needs PostgreSQL for this platform');
    const postgres = await shared();
    await expectSameAnswers(t, 1, () => startEmptyPostgres(() => postgres.createDatabase('tables')));
  });
}

/** `start` makes the store whose past is tried; the other one only decides, which all stores do alike. */
async function expectSameAnswers(
  t: TestContext,
  runs: number,
  start: () => Promise<ExamStore>,
): Promise<void> {
  t.diagnostic(`seed ${SEED} (BERTH_SEED), ${DAYS} days (BERTH_TRIAL_DAYS)`);
  const total = { answers: 0, newlyRefused: 0, newlyServed: 0, called: 0 };
  const logged = new Map<string, number>();
  for (let run = 0; run < runs; run++) {
    const random = createRandom(SEED + run);
    const rules = makeUpRules(random, PRODUCT);
    const lived = await start();
    const replayed = await startEmptySqlite();
    try {
      lived.store.turns.listen(() => {
        total.called += 1;
      });
      const { answers, log } = await compare(random, lived, replayed, rules, `seed ${SEED + run}`);
      for (const { kind } of log.flatMap(({ events }) => events))
        logged.set(kind, (logged.get(kind) ?? 0) + 1);
      total.answers += answers.length;
      total.newlyRefused += answers.filter(({ wasServed, isServed }) => wasServed && !isServed).length;
      total.newlyServed += answers.filter(({ wasServed, isServed }) => !wasServed && isServed).length;
    } finally {
      await lived.end();
      await replayed.end();
    }
  }
  const { answers, newlyRefused, newlyServed, called } = total;
  const changed = {
    'newly refused': newlyRefused,
    'newly served': newlyServed,
    'called from the line': called,
  };
  t.diagnostic(JSON.stringify({ 'days of history': runs * DAYS, answers, ...changed }));
  t.diagnostic(`in the logs: ${JSON.stringify(Object.fromEntries(logged))}`);
}

async function compare(random: Random, lived: ExamStore, replayed: ExamStore, rules: RuleSet, title: string) {
  const slots = LICENSES.map(() => pickNumber(random, { from: 1, to: 4 }));
  await installAll(lived, slots, TIMEOUT_MINUTES);
  await installAll(replayed, slots, NEVER_MINUTES);
  const start = await lived.now();
  if (random() < 0.5) {
    const before = makeUpRules(random, PRODUCT);
    await lived.execute({ kind: 'set_rules', text: 'before', rules: before, by: 'admin' });
  }
  await live(lived, makeUpDays(random, PEOPLE, start, DAYS), {
    at: plus(start, (DAYS * DAY_MS * 2) / 3),
    change: () => install(lived, licenseId(1), (slots[0] as number) + 1, TIMEOUT_MINUTES),
  });
  const since = plus(start, DAY_MS / 4);
  const judged: Replayed[] = [];
  await tryRules(lived.store, {
    rules,
    since: new Date(since).toISOString(),
    signal: new AbortController().signal,
    watch: ({ at, request: { user, feature }, wasServed, refusal }) =>
      judged.push({ at, user, feature, wasServed, isServed: refusal === null, rule: refusal?.rule ?? null }),
  });
  const links = await lived.store.read({ kind: 'list_audit', chain: null, limit: 1e7, before: null });
  const log = links.toReversed().filter(({ at }) => at > start);
  const server = new ReplayedServer(replayed, {
    product: PRODUCT,
    rules,
    since,
    medians: measureMedians(log, since),
    maxBorrowHours: MAX_BORROW_HOURS,
    slots,
    present: await findPresent(lived, since),
    changeSlots: (id, count) => install(replayed, id, count, NEVER_MINUTES),
  });
  await server.play(log);
  assert.ok(judged.length > 0, 'somebody has asked');
  assert.deepEqual(judged.map(say), server.answers.map(say), title);
  return { answers: server.answers, log };
}

/** From where slots were last renewed that are held, and were taken before an instant. */
async function findPresent(exam: ExamStore, since: Instant): Promise<ReadonlyMap<string, Place>> {
  const old = (await exam.listSlots()).filter(({ registeredAt }) => registeredAt < since);
  return new Map(
    old.map(({ user, host, origin }) => [user, { hostname: host.hostname, address: origin ?? '' }]),
  );
}

/** For how many minutes slots were held that were both lent and ended after an instant. */
function measureMedians(log: readonly AuditLink[], since: Instant) {
  const lentAt = new Map<string, Instant>();
  const held = { slot: [] as number[], feature: [] as number[] };
  for (const { chain, at, events } of log.filter((link) => link.at >= since)) {
    for (const event of events) {
      // Of slots that were returned together, the log does not say whose they were.
      const all = /^all_(slots|features)_returned$/.exec(event.kind)?.[1];
      const gone = all === undefined ? null : `${chain} ${all === 'slots' ? '' : 'feature '}`;
      for (const key of lentAt.keys()) if (gone !== null && key.startsWith(gone)) lentAt.delete(key);
      if (!/^(slot|feature)_(lent|returned|recalled|expired)$/.test(event.kind)) continue;
      const kind = event.kind.startsWith('slot') ? 'slot' : 'feature';
      const key = `${chain} ${kind} ${(event as { user: string }).user}`;
      const begun = lentAt.get(key);
      lentAt.delete(key);
      if (event.kind.endsWith('lent')) lentAt.set(key, at);
      else if (begun !== undefined) {
        held[kind].push(heldMinutes(('endedAt' in event ? (event.endedAt as Instant) : at) - begun));
      }
    }
  }
  const median = (values: readonly number[]) => medianOf(values.map((value) => ({ value, count: 1 }))) ?? 1;
  return { slot: median(held.slot), feature: median(held.feature) };
}

function say({ at, user, feature, wasServed, isServed, rule }: Replayed): string {
  const was = wasServed ? 'served' : 'refused';
  const is = isServed ? 'served' : `refused by ${rule}`;
  return `${new Date(at).toISOString()} ${user} ${feature ?? ''}: ${was}, ${is}`;
}

async function installAll(exam: ExamStore, slots: readonly number[], timeoutMinutes: number): Promise<void> {
  for (const [index, count] of slots.entries())
    await install(exam, licenseId(index + 1), count, timeoutMinutes);
}

function install(exam: ExamStore, id: LicenseId, slots: number, timeoutMinutes: number) {
  const floating = { slots: 2, timeoutMinutes, canBorrow: false, maxBorrowHours: 0 };
  const features = [exampleFeature(FEATURE, { floating })];
  const facts = { product: PRODUCT, slots, timeoutMinutes, maxBorrowHours: MAX_BORROW_HOURS, features };
  return exam.install({ id, ...facts });
}

/** Everybody does what they do, in a store without rules, which is swept now and then. */
async function live(
  exam: ExamStore,
  steps: readonly Step[],
  { at: changeAt, change }: { readonly at: Instant; readonly change: () => Promise<unknown> },
): Promise<void> {
  let isChanged = false;
  let sweptAt = 0;
  for (const step of steps) {
    exam.clock.advance(step.at - exam.clock.readWall());
    if (!isChanged && step.at >= changeAt) {
      await change();
      isChanged = true;
    }
    if (step.at - sweptAt >= 60_000) {
      for (const id of LICENSES) await exam.execute({ kind: 'collect', licenseId: id });
      sweptAt = step.at;
    }
    // A server that shows no sign of life is passed over when slots are handed on.
    await exam.store.keepClock();
    await take(exam, step);
  }
}

async function take(exam: ExamStore, step: Step): Promise<void> {
  const { user, hostname, address, does, at, licenseId: named } = step;
  const program = step.instance === undefined ? {} : { instance: step.instance };
  const aim = { product: PRODUCT, licenseId: named };
  const host = { hostname, address: null, info: null };
  const who = { ...aim, ...program, host, by: { name: 'client', address } };
  if (typeof does === 'object') {
    const { borrowHours } = does;
    await exam.borrow(user, borrowHours === 'longest' ? 'longest' : plus(at, borrowHours * HOUR_MS), who);
    return;
  }
  switch (does) {
    case 'take':
      return void (await exam.register(user, who));
    case 'wait':
      return void (await exam.register(user, { ...who, wait: STAY }));
    case 'stop waiting':
      return void (await exam.register(user, { ...who, wait: LAST }));
    case 'give':
      return void (await exam.unregister(user, { ...aim, ...program }));
    case 'take feature':
      return void (await exam.registerFeature(user, { ...who, feature: FEATURE }));
    case 'wait for feature':
      return void (await exam.registerFeature(user, { ...who, feature: FEATURE, wait: STAY }));
    case 'stop waiting for feature':
      return void (await exam.registerFeature(user, { ...who, feature: FEATURE, wait: LAST }));
    case 'give feature':
      return void (await exam.releaseFeature(user, { ...aim, ...program, feature: FEATURE }));
    case 'be released':
      await exam.release(user, aim);
      return void (await exam.recall(user, aim));
    case 'release all':
      return void (await exam.execute({ kind: 'release_all', licenseId: named as LicenseId, by: 'admin' }));
    case 'release all features':
      await exam.execute({ kind: 'release_all_features', licenseId: named as LicenseId, by: 'admin' });
  }
}
