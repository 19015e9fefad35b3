import assert from 'node:assert/strict';
import type { Instant } from '@berth/server/core/nouns/instant';
import type { LicenseId } from '@berth/server/core/nouns/license';
import { FEATURE } from './counting-model.ts';
import type { ModelLicense } from './licenses-model.ts';
import type { Place } from './naive-rules.ts';

/** What requests wait for: a slot of the license, or of the feature. */
export type Wanted = '' | typeof FEATURE;

/** A request for a slot. */
export interface Asked {
  readonly wanted: Wanted;
  readonly user: string;
  readonly licenseId: LicenseId | null;
  readonly at: Place | undefined;
  readonly instance: string | null;
}

/** Somebody in line, with their latest request. */
export interface Waiter extends Asked {
  /** Those of lower numbers came first. */
  readonly n: number;
  readonly since: Instant;
  /** When the connection is gone; `null`: there was none. */
  readonly until: Instant | null;
  /** Until when the place is kept for one who repeats the call; `null`: it is not. */
  readonly keptUntil: Instant | null;
  /** What was lent to them, and no answer has said so yet. */
  readonly lentBy: LicenseId | null;
}

/** What is known of those who wait, and of those who hold slots. */
interface Line {
  readonly licenses: readonly ModelLicense[];
  readonly line: readonly Waiter[];
  featureSlots(id: LicenseId): Map<string, unknown>;
  isWaiting(waiter: Waiter): boolean;
  /** Whether a slot is free for them. */
  couldHave(waiter: Waiter): boolean;
  /** Negative: `a` comes first. */
  compare(a: Waiter, b: Waiter): number;
}

/** A slot, by who holds it. */
interface HeldBy {
  readonly wanted: Wanted;
  readonly id: LicenseId;
  readonly user: string;
}

export function listHeld(model: Line): readonly HeldBy[] {
  return model.licenses.flatMap(({ id, holders }) => [
    ...holders.keys().map((user) => ({ wanted: '' as const, id, user })),
    ...model
      .featureSlots(id)
      .keys()
      .map((user) => ({ wanted: FEATURE as Wanted, id, user })),
  ]);
}

/**
 * Nobody who waited before the command and still does could have had a slot that it has given to somebody
 * else, unless that one waits as well, and comes first.
 */
export function expectNobodyOvertaken(model: Line, before: readonly Waiter[], held: readonly HeldBy[]): void {
  const left = before.filter((one) =>
    model.line.some((place) => isSame(place, one) && model.isWaiting(place)),
  );
  if (left.length === 0) return;
  const now = listHeld(model);
  const countOf = (slots: readonly HeldBy[], slot: HeldBy) => slots.filter((one) => isSame(one, slot)).length;
  // Whoever moves to another license gives back the slot that they had.
  const isNew = (slot: HeldBy) =>
    !held.some((one) => one.id === slot.id && isSame(one, slot)) && countOf(now, slot) > countOf(held, slot);
  for (const slot of now.filter(isNew)) {
    const own = before.find((one) => isSame(one, slot));
    const passed = left.filter(
      (one) => one.wanted === slot.wanted && (own === undefined || model.compare(one, own) < 0),
    );
    for (const waiter of passed) {
      assert.ok(!couldHaveInstead(model, waiter, slot), `${slot.user} was served before ${waiter.user}`);
    }
  }
}

function isSame(a: Omit<HeldBy, 'id'>, b: Omit<HeldBy, 'id'>): boolean {
  return a.wanted === b.wanted && a.user === b.user;
}

function couldHaveInstead(model: Line, waiter: Waiter, { wanted, id, user }: HeldBy): boolean {
  const slots: Map<string, unknown> =
    wanted === ''
      ? (model.licenses.find((license) => license.id === id) as ModelLicense).holders
      : model.featureSlots(id);
  const slot = slots.get(user);
  slots.delete(user);
  try {
    return model.couldHave(waiter);
  } finally {
    slots.set(user, slot);
  }
}

/** After a command nothing is free that somebody in line may have. */
export function expectNothingLeftFree(model: Line): void {
  for (const waiter of model.line.filter((one) => model.isWaiting(one))) {
    assert.ok(!model.couldHave(waiter), `a slot is free, and ${waiter.user} waits for it`);
  }
}
