import assert from 'node:assert/strict';
import { randomBytes, randomInt } from 'node:crypto';
import { join } from 'node:path';
import { test } from 'node:test';
import { HOUR_MS, MINUTE_MS } from '@berth/server/core/instant';
import { licenseId } from '@berth/server/core/license';
import type { MasterKey } from '@berth/server/secrets/seal';
import { Bench } from '@berth/server/store/exercise-bench';
import { expectSound } from '@berth/server/store/exercise-soundness';
import { expectSoundRows } from '@berth/server/store/sqlite/exercise-rows';
import { openInThreadStore } from '@berth/server/store/sqlite/in-thread-store';
import fc from 'fast-check';
import {
  consume,
  consumeCrowd,
  cutReport,
  registerBoth,
  registerFeature,
  releaseAllFeatures,
  releaseFeature,
  settleReport,
  tickToMidnight,
} from './counting-commands.ts';
import { CountingModel, FEATURES, LIMITS } from './counting-model.ts';
import {
  bar,
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
import { FIRST_FACTS, MAX_BORROW_MS, TIMEOUT_MS, TOLERANCE_MS } from './lending-model.ts';

/** How many histories, and how long each. `BERTH_MODEL_SEED` plays the same ones again. */
const RUNS = Number(process.env.BERTH_MODEL_RUNS ?? 150);
const MAX_COMMANDS = 80;
const SEED = Number(process.env.BERTH_MODEL_SEED ?? randomInt(2 ** 31));

const masterKey = randomBytes(32) as Uint8Array as MasterKey;

const user = fc.constantFrom('ada', 'bob', 'eve', 'zoe');
const license = fc.constantFrom(licenseId(1), licenseId(2));
const who = fc.record({ user, licenseId: fc.option(license, { freq: 1 }) });

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

const count = fc.constantFrom(1, 1, 2, 3, 5, 10, 13, 14, 0, -1, -4);

const consumption = fc.record({
  user: fc.constantFrom(null, null, 'ada', 'bob'),
  licenseId: fc.option(license, { freq: 2 }),
  feature: fc.constantFrom(null, null, 'export' as const),
  count,
  maxOverages: fc.constantFrom(null, null, null, 0, 1, 100),
  key: fc.constant(null),
});

/** So few that most of them are repeats, and some carry the key of another. */
const keyedConsumption = fc.record({
  user: fc.constantFrom(null, null, 'ada'),
  licenseId: fc.constantFrom(null, null, licenseId(1)),
  feature: fc.constantFrom(null, null, 'export' as const),
  count: fc.constantFrom(1, 1, 1, 2),
  maxOverages: fc.constant(null),
  key: fc.constantFrom('k1', 'k2'),
});

const report = fc.record({
  licenseId: license,
  feature: fc.constantFrom(null, 'export' as const),
  reportId: fc.constantFrom('r1', 'r2'),
});

const someTime = fc.constantFrom(1, 1000, MINUTE_MS, TIMEOUT_MS - 1, TIMEOUT_MS, HOUR_MS, MAX_BORROW_MS);

const commands: fc.Arbitrary<LendingCommand>[] = [
  who.map(register),
  fc.array(user, { minLength: 2, maxLength: 8 }).map(registerCrowd),
  fc.tuple(who, until).map(([one, at]) => borrow(one, at)),
  fc.tuple(fc.constantFrom('unregister', 'release', 'recall'), who).map(([kind, one]) => takeBack(kind, one)),
  fc.tuple(license, facts).map(([id, change_]) => change(id, change_)),
  someTime.map(tick),
  fc.constantFrom(-1 as const, 0 as const, 1 as const).map(tickToEnd),
  license.map(sweep),
  fc.constantFrom([], ['ada'], ['bob', 'eve']).map(bar),
  fc
    .tuple(fc.constantFrom('restart', 'crash'), fc.oneof(fc.constant(0), someTime))
    .map(([again, downMs]) => restart(again, downMs)),
  license.map(releaseAll),
  consumption.map(consume),
  keyedConsumption.map(consume),
  fc.array(fc.oneof(consumption, keyedConsumption), { minLength: 2, maxLength: 8 }).map(consumeCrowd),
  who.map(registerBoth),
  who.map(registerBoth),
  fc.tuple(who, fc.oneof(fc.constant(null), until)).map(([one, at]) => registerFeature(one, at)),
  who.map((one) => registerFeature(one, null)),
  who.map(releaseFeature),
  license.map(releaseAllFeatures),
  report.map(cutReport),
  fc.tuple(report, fc.boolean()).map(([one, isCounted]) => settleReport(one, isCounted)),
  fc.constantFrom(-1 as const, 0 as const).map(tickToMidnight),
];

async function startReal(): Promise<Real> {
  const bench = await Bench.start(async ({ folder, clock, onNotice }) =>
    openInThreadStore({ file: join(folder, 'berth.db'), masterKey, clock, onNotice }),
  );
  const facts_ = { ...FIRST_FACTS, consumption: LIMITS.license, features: FEATURES };
  for (const id of [1, 2]) await bench.install({ id: licenseId(id), ...facts_ });
  return { bench, slots: new Map(), steps: 0 };
}

/** Nobody was refused without a trace: events and their counters add up to the refusals. */
async function expectAllDenialsKept({ bench }: Real, model: CountingModel): Promise<void> {
  bench.clock.advance(MINUTE_MS);
  for (const { id, denials } of model.licenses) {
    await bench.execute({ kind: 'collect', licenseId: id });
    const denied = [
      ...(await bench.listEventsOf('slot_denied', id)),
      ...(await bench.listEventsOf('consumption_denied', id)),
    ];
    const repeated = await bench.listEventsOf('denials_repeated', id);
    const sum = [...denied, ...repeated].reduce((total, event) => total + event.repeated, denied.length);
    assert.equal(sum, denials, 'every denial is in the audit');
  }
}

async function runHistory(history: Iterable<LendingCommand>): Promise<number> {
  const real = await startReal();
  const model = new CountingModel();
  try {
    await fc.asyncModelRun(() => ({ model, real }), history);
    await expectAllDenialsKept(real, model);
    await expectSound(real.bench.store);
    expectSoundRows(real.bench.folder);
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
