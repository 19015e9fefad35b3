import assert from 'node:assert/strict';
import type { Outcome } from '@berth/server/core/outcome';
import type { LicenseRecord, RegistrationRecord } from '@berth/server/store/query';
import type fc from 'fast-check';
import { expectSameCounts } from './expect-same-counts.ts';
import { expectNobodyFreedEarly, expectSameSlots } from './expect-same-slots.ts';
import { expectFair, expectFairRefusal, type Fairness, measureFairness } from './fair-rules.ts';
import type { Expected } from './licenses-model.ts';
import type { ModelStore } from './model-stores.ts';
import type { WaitingModel } from './waiting-model.ts';

/** What the lists of a store say. */
export interface Listed {
  readonly licenses: readonly LicenseRecord[];
  readonly slots: readonly RegistrationRecord[];
}

/** The first store is listed after every step, the others now and then: what differs in them stays. */
const COMPARED_EVERY = 4;

/** The stores that live through the same history, and their lists as they were after the last step. */
export interface Real {
  readonly stores: readonly [ModelStore, ...ModelStore[]];
  listed: Listed;
  steps: number;
  /** As the model was after the last step. */
  fairness: Fairness;
}

export type HistoryCommand = fc.AsyncCommand<WaitingModel, Real>;

interface Step {
  readonly title: string;
  /** It takes slots back before their time. */
  readonly takesBack?: boolean;
  /** On one of the stores, while the model is as it was before. What is answered, in order. */
  act(store: ModelStore, model: WaitingModel): Promise<readonly Outcome[]>;
  /** On the model: what must be answered. */
  expect(model: WaitingModel): readonly Expected[];
}

/** Runs on all, and holds the stores to each other, to the model and to the invariants after each step. */
export function inHistory({ title, takesBack = false, act, expect }: Step): HistoryCommand {
  return {
    check: () => true,
    toString: () => title,
    async run(model, real) {
      const { stores, listed: before, fairness } = real;
      const answers = await Promise.all(stores.map((store) => act(store, model)));
      const expected = expect(model);
      model.forgetFeatures();
      expectFair(model, fairness);
      for (const lacking of model.lacking.splice(0)) expectFairRefusal(model, lacking, fairness);
      real.fairness = measureFairness(model, fairness);
      for (const outcomes of answers) expectOutcomes(outcomes, expected);
      expectAllSame(stores, answers, 'answers');
      real.steps += 1;
      real.listed = await (real.steps % COMPARED_EVERY === 0 ? expectSameLists(stores) : listAll(stores[0]));
      expectSameSlots(model, real.listed, before);
      if (!takesBack) expectNobodyFreedEarly(real.listed, before, model.now);
      expectSameCounts(model, real.listed.licenses);
      await expectSameLine(model, stores[0]);
    },
  };
}

/** What all stores list, which is the same. */
export async function expectSameLists(stores: Real['stores']): Promise<Listed> {
  const lists = await Promise.all(stores.map(listAll));
  expectAllSame(stores, lists, 'lists');
  return lists[0] as Listed;
}

/** What one store says, all say, to the last field. */
export function expectAllSame(stores: readonly ModelStore[], said: readonly unknown[], what: string): void {
  for (const [index, other] of stores.entries()) {
    assert.deepEqual(said[index], said[0], `the ${what} of ${other.name} and of ${stores[0]?.name}`);
  }
}

async function listAll({ exam }: ModelStore): Promise<Listed> {
  const scope = { licenseId: null, product: null, user: null };
  const [licenses, { registrations: slots }] = await Promise.all([
    exam.listLicenses(),
    exam.store.read({ kind: 'list_registrations', ...scope, limit: 1e6, after: null }),
  ]);
  return { licenses, slots };
}

/** Who waits, and since when. Their order shows when they are served. */
async function expectSameLine(model: WaitingModel, { exam }: ModelStore): Promise<void> {
  const { places } = await exam.store.listWaiting();
  const said = places.filter(({ isConnected }) => isConnected);
  const waiting = model.line.filter((place) => model.isWaiting(place));
  assert.deepEqual(
    said.map(({ feature, user, since }) => `${feature} ${user} ${since}`).sort(),
    waiting.map(({ wanted, user, since }) => `${wanted} ${user} ${since}`).sort(),
    'who waits',
  );
}

function expectOutcomes(outcomes: readonly Outcome[], expected: readonly Expected[]): void {
  assert.deepEqual(outcomes.map(summarize), expected);
}

/** The part of an outcome about which the model has a word. */
function summarize(outcome: Outcome) {
  if (outcome.kind === 'granted') {
    const { license, inUse, registration } = outcome;
    const { endsAt, borrowedUntil } = registration;
    return { kind: 'granted', licenseId: license.id, inUse, endsAt, borrowedUntil };
  }
  if (outcome.kind === 'measured') {
    const { licenseId, total, inUse, slot } = outcome;
    const { endsAt = null, borrowedUntil = null } = slot ?? {};
    return { kind: 'measured', licenseId, total, inUse, endsAt, borrowedUntil };
  }
  if (outcome.kind === 'refused') {
    const isFull = outcome.code === 'floating_not_available';
    return { kind: 'refused', code: outcome.code, ...(isFull ? { details: outcome.details } : {}) };
  }
  return outcome;
}
