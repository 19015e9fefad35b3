import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import type { Fault } from '../../support/chaos/chaos-fault.ts';
import { type ChaosProxy, openChaosProxy } from '../../support/chaos/chaos-proxy.ts';
import { startBefore } from '../../support/start-before.ts';
import { readTraces } from '../../support/test-app.ts';
import { type FaultCase, listFaults } from './cloud-fault-table.ts';
import {
  assertAnswer,
  countUntold,
  describeOutcome,
  LONG_MS,
  listMeters,
  type MachineApp,
  openMachine,
  openVendor,
  readHolding,
  SHORT_MS,
  syncUntilTold,
  useLicense,
  type Vendor,
} from './cloud-faults.ts';

let vendor: Vendor;
let trap: ChaosProxy;

startBefore(async (life) => {
  vendor = await openVendor(life);
  trap = await openChaosProxy({ target: vendor.cloud.url });
  life.after(() => trap.close());
});

/** `npm run faults` sets it. Otherwise, variants are left out. */
const hasAll = process.env.BERTH_ALL_FAULTS !== undefined;
const FAULTS = listFaults(() => trap.url).filter(({ isVariant }) => hasAll || isVariant !== true);

/** Answers are judged alike for all operations: a check meets every fault, the others one of each kind. */
const TELLING: readonly Fault['kind'][] = [
  'cut_before',
  'cut_after',
  'hang_after',
  'status_after',
  'wrong_signature',
  'garbage_body',
  'duplicate',
];
const TELLING_FAULTS = FAULTS.filter(({ fault }) => hasAll || TELLING.includes(fault.kind));

const add = (app: MachineApp) => app.post('/api/v4/addProduct', { product: 'cad', licenseKey: vendor.key });
const remove = (app: MachineApp) => app.post('/api/v4/removeProduct', { product: 'cad' });

/** From now on the cloud is broken: always, or where one operation is asked. */
function breakCloud(app: MachineApp, { fault, hangs }: FaultCase, operation?: string): void {
  const pass: Fault = { kind: 'pass' };
  app.proxy.setPlan(
    operation === undefined ? fault : ({ path }) => (path.endsWith(operation) ? fault : pass),
  );
  if (hangs) app.way.timeoutMs = SHORT_MS;
}

function heal(app: MachineApp): void {
  app.proxy.setPlan({ kind: 'pass' });
  app.way.timeoutMs = LONG_MS;
}

/** Whether the cloud has acted on what came since. */
function hasActed(app: MachineApp, since: number): boolean {
  return app.proxy.requests.slice(since).some(({ targetStatus }) => targetStatus === 200);
}

async function findError(app: MachineApp) {
  const { licenses } = await app.sync();
  const error = licenses[0]?.error ?? null;
  return error === null ? null : { code: error.code, reason: error.reason };
}

async function assertBacklogIsSeen(app: MachineApp, { total, exports }: { total: number; exports: number }) {
  const meters = await listMeters(app);
  assert.deepEqual(countUntold(meters), { total, exports });
  const { cloud } = await app.status();
  const pending = meters.reduce((sum, meter) => sum + meter.pending, 0);
  const underWay = meters.filter(({ under_way }) => under_way !== null);
  assert.deepEqual([cloud.pending, cloud.reports_under_way], [pending, underWay.length]);
  assert.ok(underWay.length > 0, 'a report is on its way');
}

describe('adding a license while the cloud', () => {
  for (const item of TELLING_FAULTS) {
    test(item.name, async (t) => {
      const app = await openMachine(t, vendor);
      const { devices } = await vendor.readBooks();
      const before = await readTraces(app.store);
      breakCloud(app, item);
      assertAnswer(await add(app), item.comesTo);
      assert.equal(hasActed(app, 0), item.acts);
      if (item.comesTo !== 'ok')
        assert.deepEqual(await readTraces(app.store), before, 'nothing is half added');
      heal(app);
      assertAnswer(await add(app), 'ok');
      assert.equal((await vendor.readBooks()).devices, devices + 1, 'it is one activation');
      await useLicense(app, { total: 1, exports: 1 });
      await syncUntilTold(app);
    });
  }
});

describe('removing a license while the cloud', () => {
  for (const item of TELLING_FAULTS) {
    test(item.name, async (t) => {
      const app = await openMachine(t, vendor);
      const books = await vendor.readBooks();
      await add(app);
      await useLicense(app, { total: 2, exports: 3 });
      breakCloud(app, item, '/deactivate_license');
      const comesTo = item.onceHeld ?? item.comesTo;
      const answer = await remove(app);
      assertAnswer(answer, comesTo);
      if (comesTo !== 'ok') {
        await useLicense(app, { total: 1, exports: 1 });
        heal(app);
        assertAnswer(await remove(app), 'ok');
      }
      assert.deepEqual((await readHolding(app)).licenses, []);
      assert.equal(await vendor.isActivated(app.hardwareId), false);
      const more = comesTo === 'ok' ? { total: 2, exports: 3 } : { total: 3, exports: 4 };
      const { total, exports, devices } = books;
      assert.deepEqual(await vendor.readBooks(), {
        total: total + more.total,
        exports: exports + more.exports,
        devices,
      });
    });
  }
});

describe('checking a license while the cloud', () => {
  for (const item of FAULTS) {
    test(item.name, async (t) => {
      const app = await openMachine(t, vendor);
      await add(app);
      const before = await readHolding(app);
      breakCloud(app, item);
      const comesTo = item.onceHeld ?? item.comesTo;
      assert.deepEqual(await findError(app), describeOutcome(comesTo));
      const { cloud } = await app.status();
      if (typeof comesTo === 'string' && comesTo !== 'ok') {
        assert.deepEqual([cloud.state, cloud.error?.reason], ['failing', comesTo]);
        assert.match(cloud.error?.message ?? '', /licensing cloud .*[.?]$/);
      }
      if (item.comesTo !== 'ok') assert.deepEqual(await readHolding(app), before, 'nothing has changed');
      await useLicense(app, { total: 1, exports: 1 });
      heal(app);
      await syncUntilTold(app);
    });
  }
});

/**
 * Whether the cloud is known to count an id once when its answers begin to be lost, or is an older one that
 * knows neither ids nor nonces.
 */
const ACQUAINTANCES = ['known', 'new', 'without ids'] as const;

/** One way to lose a request, and two to lose an answer, stand for all. */
const BY_ACQUAINTANCE: readonly Fault['kind'][] = ['cut_before', 'cut_after', 'status_after'];

/** What the cloud has not got is no question of ids. */
function listAcquaintances({ acts, fault }: FaultCase) {
  // Nobody can tell a request that came twice from two of them.
  if (fault.kind === 'duplicate') return ACQUAINTANCES.filter((one) => one !== 'without ids');
  return BY_ACQUAINTANCE.includes(fault.kind) || (hasAll && acts) ? ACQUAINTANCES : (['new'] as const);
}

async function openAcquainted(t: TestContext, acquaintance: (typeof ACQUAINTANCES)[number]) {
  if (acquaintance !== 'without ids') return openMachine(t, vendor);
  const plan = { kind: 'strip', field: 'report_id' } as const;
  const hiding = await openChaosProxy({ target: vendor.cloud.url, plan });
  t.after(() => hiding.close());
  return openMachine(t, vendor, { target: hiding.url, hidesNonces: true });
}

describe('reporting while the cloud', () => {
  for (const item of TELLING_FAULTS) {
    for (const acquaintance of listAcquaintances(item)) {
      test(`${item.name} (${acquaintance})`, async (t) => {
        const app = await openAcquainted(t, acquaintance);
        await add(app);
        const books = await vendor.readBooks();
        const first = acquaintance === 'new' ? 0 : 1;
        if (first > 0) {
          await useLicense(app, { total: first, exports: first });
          await syncUntilTold(app);
        }
        const before = await readHolding(app);
        breakCloud(app, item);
        const since = app.proxy.requests.length;
        await useLicense(app, { total: 3, exports: 4 });
        const onceHeld = acquaintance === 'without ids' ? undefined : item.onceHeld;
        assert.deepEqual(await findError(app), describeOutcome(onceHeld ?? item.comesTo));
        assert.equal(hasActed(app, since), item.acts);
        await useLicense(app, { total: 20, exports: 30 });
        if (item.comesTo !== 'ok') {
          await findError(app);
          await assertBacklogIsSeen(app, { total: 23, exports: 34 });
          assert.deepEqual(await readHolding(app), before, 'nothing has changed');
        }
        heal(app);
        await syncUntilTold(app);
        const { total, exports } = await vendor.readBooks();
        assert.deepEqual(
          { total, exports },
          { total: books.total + 23 + first, exports: books.exports + 34 + first },
        );
      });
    }
  }
});

test('nobody followed a redirect', () => assert.deepEqual(trap.requests, []));
