import assert from 'node:assert/strict';
import type { LicenseId } from '@berth/server/core/nouns/license';
import type { Store } from '@berth/server/store/store';
import fc from 'fast-check';
import { expectSound } from '../../packages/server/test/store/exam/soundness.ts';
import { expectSoundFile } from '../../packages/server/test/store/exam/sqlite-file.ts';
import { type FuzzAnswer, judgeForm, judgePrototypes, judgeTraces, readFuzzAnswer } from './fuzz-judge.ts';
import { anyRequest, type FuzzRequest, isCostly, requestFor } from './fuzz-requests.ts';
import { type FuzzWorld, openWorld } from './fuzz-world.ts';

interface TestContext {
  after(work: () => unknown): void;
}

/** What became of the requests that were made for a route. */
interface RouteTally {
  /** Called so seldom that only those who may not might have called it. */
  readonly isCostly: boolean;
  calls: number;
  /** Sent to where it is, by somebody who may. */
  admitted: number;
  slowestMs: number;
}

export type Tally = Map<string, RouteTally>;

interface Episode {
  readonly seed: number;
  readonly requests: number;
  /** Afterwards every route has been called by somebody who may. */
  readonly isLast: boolean;
}

/** With so many, chance leaves out nobody who may call a route; the rest is made, but not sent. */
const REQUESTS_FOR_ONE = 1000;

/** How long this thread may compute for one request, while all other callers wait. */
const MAX_MS = 2000;

/** How often it is looked whether anybody got too much, and what was given up is put back. */
const RESTORE_EVERY = 50;

/** Sends requests, one after the other, to a server of its own; judges each answer and the store behind. */
export async function runEpisode(
  t: TestContext,
  { seed, requests, isLast }: Episode,
  tally: Tally,
): Promise<{ readonly isWhole: boolean }> {
  const world = await openWorld(t, seed);
  for (const route of world.app.routes) {
    if (tally.has(route.name)) continue;
    tally.set(route.name, { isCostly: isCostly(route), calls: 0, admitted: 0, slowestMs: 0 });
  }
  let count = 0;
  const check = async (request: FuzzRequest) => {
    if (count++ % RESTORE_EVERY === 0) {
      await expectWithinLimits(world);
      await world.restore();
    }
    if (request.passMs > 0) await world.pass(request.passMs);
    await judge(world, request, tally.get(request.route) as RouteTally);
  };
  const property = fc.asyncProperty(anyRequest(world.ingredients), check);
  await fc.assert(property, { seed, numRuns: requests });
  if (isLast) await callTheRest(world, seed, tally, check);
  return { isWhole: await expectSoundWorld(world) };
}

/** A few thousand requests may leave routes out, or those who may call them: they get some of their own. */
async function callTheRest(
  { app, ingredients }: FuzzWorld,
  seed: number,
  tally: Tally,
  check: (request: FuzzRequest) => Promise<void>,
): Promise<void> {
  for (const route of app.routes) {
    const tallied = tally.get(route.name) as RouteTally;
    const isDone = () => tallied.admitted > 0 || (tallied.calls > 0 && tallied.isCostly);
    if (isDone()) continue;
    const property = fc.asyncProperty(requestFor(route, ingredients), async (request) => {
      if (!isDone()) await check(request);
    });
    await fc.assert(property, { seed, numRuns: REQUESTS_FOR_ONE });
  }
}

async function judge(world: FuzzWorld, request: FuzzRequest, tally: RouteTally): Promise<void> {
  const seq = await readLastSeq(world);
  world.trace.read();
  const startedMs = readWorkedMs();
  const answer = await readFuzzAnswer(await world.send(request));
  const workedMs = readWorkedMs() - startedMs;
  judgeForm(request, answer);
  await judgeTraces(world, answer.status, seq);
  judgePrototypes();
  tally.calls += 1;
  if (isAdmitted(answer)) tally.admitted += 1;
  assert.ok(workedMs <= MAX_MS, `it takes ${Math.round(workedMs)} ms`);
  tally.slowestMs = Math.max(tally.slowestMs, workedMs);
}

const NOT_ADMITTED = /"code":"(unauthorized|forbidden|csrf_rejected|not_found|method_not_allowed)"/;

/** What does not know whether somebody may says so in another message than what does not know them. */
function isAdmitted({ status, text }: FuzzAnswer): boolean {
  return status < 400 || !NOT_ADMITTED.test(text) || /name or the password is wrong/.test(text);
}

async function readLastSeq({ app }: FuzzWorld): Promise<number> {
  const [link] = await app.store.read({ kind: 'list_audit', chain: null, before: null, limit: 1 });
  return link?.seq ?? 0;
}

function readWorkedMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

/**
 * After all that: the numbers, the rows and the audit log say the same. What was thinned out of the log can
 * no longer be added up; answers whether it is whole.
 */
async function expectSoundWorld(world: FuzzWorld): Promise<boolean> {
  const { store, folder, log } = world.app;
  await expectWithinLimits(world);
  const isWhole = (await store.read({ kind: 'list_segments' })).length === 0;
  if (isWhole) {
    await expectSound(store);
    await expectSoundFile(folder);
  }
  assert.deepEqual((await store.read({ kind: 'verify_audit' })).problems, []);
  const bugs = log.filter(({ level }) => Number(level) >= 50);
  assert.deepEqual(bugs, [], 'the log tells of no error');
  return isWhole;
}

/** Nobody got more than there is. */
async function expectWithinLimits({ app }: FuzzWorld): Promise<void> {
  for (const { license, inUse, totals } of await app.store.read({ kind: 'list_licenses', product: null })) {
    assert.equal(inUse, await countSlots(app.store, license.id), 'a slot in use is a row');
    assert.ok(inUse <= license.slots, `${inUse} of ${license.slots} slots of ${license.id} are in use`);
    expectWithin(license.consumption, totals.total, `license ${license.id}`);
    for (const { code, inUse: held, total } of totals.features) {
      const feature = license.features.find((one) => one.code === code);
      assert.ok(feature !== undefined && held <= (feature.floating?.slots ?? 0), `${held} hold "${code}"`);
      expectWithin(feature.consumption, total, `"${code}"`);
    }
  }
}

async function countSlots(store: Store, licenseId: LicenseId): Promise<number> {
  const all = { product: null, user: null, after: null, limit: 1000 };
  return (await store.read({ kind: 'list_registrations', licenseId, ...all })).registrations.length;
}

interface Limits {
  readonly max: number;
  readonly unlimited: boolean;
  readonly allowOverages: boolean;
  readonly maxOverages: number;
}

function expectWithin(limits: Limits, total: number, of: string): void {
  const most = limits.unlimited
    ? Number.MAX_SAFE_INTEGER
    : limits.max + (limits.allowOverages ? limits.maxOverages : 0);
  assert.ok(total >= 0 && total <= most, `${total} of ${most} of ${of} were counted`);
}
