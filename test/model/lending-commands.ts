import assert from 'node:assert/strict';
import type { Outcome } from '@berth/server/core/decision';
import { type Instant, plus } from '@berth/server/core/instant';
import type { LicenseId } from '@berth/server/core/license';
import type { Registration } from '@berth/server/core/registration';
import type { Bench } from '@berth/server/store/exercise-bench';
import type fc from 'fast-check';
import type { CountingModel } from './counting-model.ts';
import { expectSameCounts } from './expect-same-counts.ts';
import type { Expected, Facts } from './lending-model.ts';

/** The store, and the slots as they were listed after the last step. */
export interface Real {
  readonly bench: Bench;
  slots: ReadonlyMap<LicenseId, readonly Registration[]>;
  steps: number;
}

export type LendingCommand = fc.AsyncCommand<CountingModel, Real>;

interface Step {
  readonly title: string;
  /** It takes slots back before their time. */
  readonly takesBack?: boolean;
  run(model: CountingModel, bench: Bench): Promise<void>;
}

/** Runs on both, and holds the store to the model and to the invariants after each step. */
export function command({ title, takesBack = false, run }: Step): LendingCommand {
  return {
    check: () => true,
    toString: () => title,
    async run(model, real) {
      await run(model, real.bench);
      model.forgetFeatures();
      await expectSameSlots(model, real, takesBack);
      await expectSameCounts(model, real.bench);
      real.steps += 1;
    },
  };
}

/** The part of an outcome about which the model has a word. */
export function expectOutcome(outcome: Outcome, expected: Expected): void {
  if (outcome.kind === 'granted') {
    const { license, inUse, registration } = outcome;
    const { endsAt, borrowedUntil } = registration;
    assert.deepEqual({ kind: 'granted', licenseId: license.id, inUse, endsAt, borrowedUntil }, expected);
  } else if (outcome.kind === 'measured') {
    const { licenseId, total, inUse, slot } = outcome;
    const { endsAt = null, borrowedUntil = null } = slot ?? {};
    assert.deepEqual({ kind: 'measured', licenseId, total, inUse, endsAt, borrowedUntil }, expected);
  } else if (outcome.kind === 'refused') {
    const isFull = outcome.code === 'floating_not_available';
    const told = { kind: 'refused', code: outcome.code, ...(isFull ? { details: outcome.details } : {}) };
    assert.deepEqual(told, expected);
  } else {
    assert.deepEqual(outcome, expected);
  }
}

async function expectSameSlots(model: CountingModel, real: Real, takesBack: boolean): Promise<void> {
  const records = await real.bench.listLicenses();
  const slots = new Map<LicenseId, readonly Registration[]>();
  for (const { id, facts, holders } of model.licenses) {
    const listed = await real.bench.listSlots(id);
    const record = records.find(({ license }) => license.id === id);
    const before = real.slots.get(id) ?? [];
    assert.equal(record?.now, model.now, 'one time');
    assert.equal(record?.inUse, holders.size, 'the number in use');
    expectWithinLimit(listed, before, facts.slots);
    expectNobodyFreedEarly(listed, takesBack ? [] : before, model.now);
    for (const { endsAt } of listed) assert.ok(endsAt > model.now, 'free at its time');
    assert.deepEqual(
      listed.map(({ user, endsAt, borrowedUntil }) => ({ user, endsAt, borrowedUntil })),
      [...holders].map(([user, held]) => ({ user, ...held })).sort((a, b) => (a.user < b.user ? -1 : 1)),
    );
    slots.set(id, listed);
  }
  real.slots = slots;
}

/** Never more than the limit; where it has shrunk below its use, nobody new. */
function expectWithinLimit(
  listed: readonly Registration[],
  before: readonly Registration[],
  limit: number,
): void {
  if (listed.length <= limit) return;
  const known = new Set(before.map(({ user }) => user));
  const added = listed.filter(({ user }) => !known.has(user));
  assert.deepEqual(added, [], 'nobody new above the limit');
}

/** Whoever is gone had reached the end that was promised. */
function expectNobodyFreedEarly(
  listed: readonly Registration[],
  before: readonly Registration[],
  now: Instant,
): void {
  const left = new Set(listed.map(({ user }) => user));
  const early = before.filter(({ user, endsAt }) => !left.has(user) && endsAt > now);
  assert.deepEqual(early, [], 'freed before its time');
}

export interface Who {
  readonly user: string;
  readonly licenseId: LicenseId | null;
}

export const sayWho = ({ user, licenseId }: Who) => `${user}${licenseId === null ? '' : ` on ${licenseId}`}`;

export function register(who: Who): LendingCommand {
  return command({
    title: `register ${sayWho(who)}`,
    run: async (model, bench) => {
      const { user, licenseId } = who;
      expectOutcome(await bench.register(user, { licenseId }), model.register(user, licenseId));
    },
  });
}

/** Several at once, in one batch. */
export function registerCrowd(users: readonly string[]): LendingCommand {
  return command({
    title: `register at once ${users.join(', ')}`,
    run: async (model, bench) => {
      const outcomes = await Promise.all(users.map((user) => bench.register(user, { product: 'cad' })));
      for (const [index, user] of users.entries()) {
        expectOutcome(outcomes[index] as Outcome, model.register(user, null));
      }
    },
  });
}

/** `until`: milliseconds from now, or a word. */
export function borrow(who: Who, until: number | 'longest' | 'unreadable'): LendingCommand {
  return command({
    title: `borrow ${sayWho(who)} until ${until}`,
    run: async (model, bench) => {
      const { user, licenseId } = who;
      const wanted = typeof until === 'number' ? plus(model.now, until) : until;
      expectOutcome(await bench.borrow(user, wanted, { licenseId }), model.borrow(user, licenseId, wanted));
    },
  });
}

export function takeBack(kind: 'unregister' | 'release' | 'recall', who: Who): LendingCommand {
  return command({
    title: `${kind} ${sayWho(who)}`,
    takesBack: true,
    run: async (model, bench) => {
      const { user, licenseId } = who;
      expectOutcome(await bench[kind](user, { licenseId }), model[kind](user, licenseId));
    },
  });
}

export function releaseAll(licenseId: LicenseId): LendingCommand {
  return command({
    title: `release all of ${licenseId}`,
    takesBack: true,
    run: async (model, bench) => {
      const outcome = await bench.execute({ kind: 'release_all', licenseId, by: 'admin' });
      expectOutcome(outcome, model.releaseAll(licenseId));
    },
  });
}

/** `validForMs`: from now; `null` for ever. */
export function change(
  id: LicenseId,
  { validForMs, ...limits }: Omit<Facts, 'validUntil'> & { readonly validForMs: number | null },
): LendingCommand {
  const { slots, enabled } = limits;
  return command({
    title: `license ${id} gets ${slots} slots${enabled ? '' : ', disabled'}, valid for ${validForMs} ms`,
    run: async (model, bench) => {
      const facts = { ...limits, validUntil: validForMs === null ? null : plus(model.now, validForMs) };
      const license = { ...(await findLicense(bench, id)), ...facts };
      const outcome = await bench.execute({ kind: 'install_license', license, by: 'admin' });
      expectOutcome(outcome, model.change(id, facts));
    },
  });
}

async function findLicense(bench: Bench, id: LicenseId) {
  const record = (await bench.listLicenses()).find(({ license }) => license.id === id);
  assert.ok(record);
  return record.license;
}

export function tick(millis: number): LendingCommand {
  return command({
    title: `tick ${millis} ms`,
    run: async (model, bench) => {
      bench.clock.advance(millis);
      model.tick(millis);
    },
  });
}

/** To the instant at which the next slot ends, or a millisecond beside it. */
export function tickToEnd(besideMs: -1 | 0 | 1): LendingCommand {
  return command({
    title: `tick to the next end ${besideMs}`,
    run: async (model, bench) => {
      const millis = Math.max(0, (model.nextEnd() ?? model.now) - model.now + besideMs);
      bench.clock.advance(millis);
      model.tick(millis);
    },
  });
}

/** From now on the administrator's rules keep out these users, and nobody else. */
export function bar(users: readonly string[]): LendingCommand {
  return command({
    title: `bar ${users.join(', ') || 'nobody'}`,
    run: async (model, bench) => {
      const rules = { deny: { users, hosts: [], addresses: [] } };
      const outcome = await bench.execute({ kind: 'set_rules', rules, digest: users.join(), by: 'server' });
      expectOutcome(outcome, model.bar(users));
    },
  });
}

/** Housekeeping, which nothing may notice. */
export function sweep(licenseId: LicenseId): LendingCommand {
  return command({
    title: `sweep ${licenseId}`,
    run: async (_model, bench) => {
      await bench.store.keepClock();
      await bench.execute({ kind: 'collect', licenseId });
    },
  });
}

/** Closed and opened, or crashed within a second after the clock was kept. */
export function restart(again: 'restart' | 'crash', downMs: number): LendingCommand {
  return command({
    title: `${again}, away for ${downMs} ms`,
    run: async (model, bench) => {
      if (again === 'crash') await bench.store.keepClock();
      await bench[again](() => bench.clock.advance(downMs));
      model.restart(downMs);
    },
  });
}
