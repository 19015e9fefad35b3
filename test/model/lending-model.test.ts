import assert from 'node:assert/strict';
import { randomBytes, randomInt } from 'node:crypto';
import { join } from 'node:path';
import { test } from 'node:test';
import { HOUR_MS, MINUTE_MS } from '@berth/server/core/instant';
import { licenseId } from '@berth/server/core/license';
import type { MasterKey } from '@berth/server/secrets/seal';
import { Bench } from '@berth/server/store/exercise-bench';
import { expectSound } from '@berth/server/store/exercise-soundness';
import { openInThreadStore } from '@berth/server/store/sqlite/in-thread-store';
import fc from 'fast-check';
import {
  borrow,
  change,
  type LendingCommand,
  type Real,
  register,
  registerCrowd,
  releaseAll,
  restart,
  sweep,
  takeBack,
  tick,
  tickToEnd,
} from './lending-commands.ts';
import { FIRST_FACTS, LendingModel, MAX_BORROW_MS, TIMEOUT_MS, TOLERANCE_MS } from './lending-model.ts';

/** How many histories, and how long each. `BERTH_MODEL_SEED` plays the same ones again. */
const RUNS = Number(process.env.BERTH_MODEL_RUNS ?? 150);
const MAX_COMMANDS = 80;
const SEED = Number(process.env.BERTH_MODEL_SEED ?? randomInt(2 ** 31));

const masterKey = randomBytes(32) as Uint8Array as MasterKey;

const user = fc.constantFrom('ada', 'bob', 'eve', 'zoe');
const license = fc.constantFrom(licenseId(1), licenseId(2));
const who = fc.record({ user, licenseId: fc.option(license, { freq: 2 }) });

const until = fc.constantFrom(
  'longest' as const,
  'unreadable' as const,
  -1,
  0,
  1,
  MINUTE_MS,
  TIMEOUT_MS,
  HOUR_MS,
  MAX_BORROW_MS,
  MAX_BORROW_MS + TOLERANCE_MS,
  MAX_BORROW_MS + TOLERANCE_MS + 1,
);

const facts = fc.record({
  slots: fc.nat({ max: 3 }),
  enabled: fc.constantFrom(true, true, true, false),
  validForMs: fc.constantFrom(null, null, null, 1, TIMEOUT_MS, HOUR_MS),
});

const someTime = fc.constantFrom(1, 1000, MINUTE_MS, TIMEOUT_MS - 1, TIMEOUT_MS, HOUR_MS, MAX_BORROW_MS);

const commands: fc.Arbitrary<LendingCommand>[] = [
  who.map(register),
  who.map(register),
  fc.array(user, { minLength: 2, maxLength: 8 }).map(registerCrowd),
  fc.tuple(who, until).map(([one, at]) => borrow(one, at)),
  fc.tuple(fc.constantFrom('unregister', 'release', 'recall'), who).map(([kind, one]) => takeBack(kind, one)),
  fc.tuple(license, facts).map(([id, change_]) => change(id, change_)),
  someTime.map(tick),
  fc.constantFrom(-1 as const, 0 as const, 1 as const).map(tickToEnd),
  license.map(sweep),
  fc
    .tuple(fc.constantFrom('restart', 'crash'), fc.oneof(fc.constant(0), someTime))
    .map(([again, downMs]) => restart(again, downMs)),
  license.map(releaseAll),
];

async function startReal(): Promise<Real> {
  const bench = await Bench.start(async ({ folder, clock, onNotice }) =>
    openInThreadStore({ file: join(folder, 'berth.db'), masterKey, clock, onNotice }),
  );
  for (const id of [1, 2]) await bench.install({ id: licenseId(id), ...FIRST_FACTS });
  return { bench, slots: new Map(), steps: 0 };
}

/** Nobody was refused without a trace: events and their counters add up to the refusals. */
async function expectAllDenialsKept({ bench }: Real, model: LendingModel): Promise<void> {
  bench.clock.advance(MINUTE_MS);
  for (const { id, denials } of model.licenses) {
    await bench.execute({ kind: 'collect', licenseId: id });
    const denied = await bench.listEventsOf('slot_denied', id);
    const repeated = await bench.listEventsOf('denials_repeated', id);
    const sum = [...denied, ...repeated].reduce((total, event) => total + event.repeated, denied.length);
    assert.equal(sum, denials, 'every denial is in the audit');
  }
}

async function runHistory(history: Iterable<LendingCommand>): Promise<number> {
  const real = await startReal();
  const model = new LendingModel();
  try {
    await fc.asyncModelRun(() => ({ model, real }), history);
    await expectAllDenialsKept(real, model);
    await expectSound(real.bench.store);
    return real.steps;
  } finally {
    await real.bench.end();
  }
}

test('the store answers every history as the model does', async (t) => {
  t.diagnostic(`seed ${SEED} (BERTH_MODEL_SEED), ${RUNS} histories (BERTH_MODEL_RUNS)`);
  let steps = 0;
  const histories = fc.commands(commands, { maxCommands: MAX_COMMANDS, size: 'max' });
  const property = fc.asyncProperty(histories, async (history) => {
    steps += await runHistory(history);
  });
  await fc.assert(property, { seed: SEED, numRuns: RUNS });
  t.diagnostic(`seed ${SEED}: ${steps} steps`);
});
