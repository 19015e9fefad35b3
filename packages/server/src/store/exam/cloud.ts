import assert from 'node:assert/strict';
import type { ApplyVerdict, CloudCounts } from '../../core/command.ts';
import { exampleLimits, NOW } from '../../core/examples.ts';
import { DAY_MS, instant, MINUTE_MS, plus } from '../../core/nouns/instant.ts';
import { type License, licenseId, NO_TIE, type Verdict } from '../../core/nouns/license.ts';
import { type Bench, codeOf, grantedOf, measuredOf } from './exam-store.ts';

export const REPORTS = {
  'nothing that was counted is lost or told twice': async (bench: Bench) => {
    const license = await bench.install({ consumption: exampleLimits({ max: 100, allowNegative: true }) });
    await bench.consume(5);
    assert.equal(await bench.cutReport(license, 'a'), 5);
    assert.equal(await bench.cutReport(license, 'a'), 0, 'an id takes once');
    await bench.consume(3);
    assert.equal(await bench.cutReport(license, 'b'), 0, 'one is on its way');
    assert.equal(await bench.settleReport(license, 'a', false), 5, 'it was not counted: pending again');
    assert.equal(await bench.settleReport(license, 'a', true), 0, 'it is settled');
    assert.equal(await bench.cutReport(license, 'b'), 8);
    assert.equal(await bench.settleReport(license, 'b', true), 8);
    assert.equal(await bench.settleReport(license, 'unknown', true), 0);
    await bench.consume(-1);
    assert.equal(await bench.cutReport(license, 'c'), -1, 'what is taken back is told too');
    assert.deepEqual(await bench.listEventsOf('consumption_reported', license.id), [
      { kind: 'consumption_reported', feature: null, amount: 8, reportId: 'b', by: 'cloud' },
    ]);
  },

  'each meter is told apart': async (bench: Bench) => {
    const license = await bench.install();
    await bench.consume(5);
    await bench.consume(2, { feature: 'export' });
    assert.equal(await bench.cutReport(license, 'f', 'export'), 2);
    assert.equal(await bench.cutReport(license, 'l'), 5);
    assert.equal(await bench.settleReport(license, 'f', true, 'export'), 2);
    const [event] = await bench.listEventsOf('consumption_reported', license.id);
    assert.deepEqual([event?.feature, event?.amount], ['export', 2]);
    assert.equal(await bench.cutReport(license, 'f', 'export'), 0);
  },

  'an id that another license used takes nothing and changes nothing': async (bench: Bench) => {
    const first = await bench.install({ id: licenseId(1), product: 'a' });
    const second = await bench.install({ id: licenseId(2), product: 'b' });
    for (const { product } of [first, second]) await bench.consume(1, { product });
    assert.equal(await bench.cutReport(first, 'same'), 1);
    await assert.rejects(bench.cutReport(second, 'same'));
    assert.equal(await bench.cutReport(second, 'own'), 1);
  },
};

export const CLOUD = { source: 'cloud', consumption: exampleLimits({ max: 100 }) } as const;

/** The cloud was asked about the license, and says what it has counted. */
export async function check(
  bench: Bench,
  license: License,
  total: number,
  features: Record<string, number> = {},
  more: Partial<CloudCounts> = {},
) {
  const counted = {
    askedAt: await bench.now(),
    takesLower: true,
    total,
    features: Object.entries(features).map(([code, amount]) => ({ code, total: amount })),
    ...more,
  };
  return bench.execute({ kind: 'install_license', license, counted, by: 'cloud' });
}

async function settleWith(bench: Bench, license: License, reportId: string, cloudTotal: number) {
  const told = { isCounted: true, cloudTotal, isSure: true, takesLower: true, by: 'cloud' } as const;
  await bench.execute({ kind: 'settle_report', licenseId: license.id, feature: null, reportId, ...told });
}

function resolve(bench: Bench, license: License, reportId: string, cloudTotal: number) {
  return bench.execute({
    kind: 'resolve_report',
    licenseId: license.id,
    feature: null,
    reportId,
    cloudTotal,
    takesLower: true,
  });
}

export async function totalOf(bench: Bench, license: License): Promise<number> {
  return (await bench.readStanding(license)).total;
}

/** Who owns a total: see `core/lending/cloud-total.ts`. */
export const CLOUD_TOTALS = {
  'a total is what the cloud has counted, and what was counted here since': async (bench: Bench) => {
    const license = await bench.install(CLOUD);
    await bench.consume(5);
    await check(bench, license, 40, { export: 3 });
    assert.equal(await totalOf(bench, license), 45);
    assert.equal((await bench.readStanding(license)).features[0]?.total, 3);
    assert.equal(codeOf(await bench.consume(56)), 'license_not_enough_consumptions');
    assert.equal(measuredOf(await bench.consume(55)).total, 100);
  },

  'while a report is on its way, the total of the cloud is left alone': async (bench: Bench) => {
    const license = await bench.install(CLOUD);
    await bench.consume(5);
    await bench.cutReport(license, 'a');
    await bench.consume(2);
    await check(bench, license, 5);
    assert.equal(await totalOf(bench, license), 7);
    await settleWith(bench, license, 'a', 9);
    assert.equal(await totalOf(bench, license), 11, 'others have counted 4');
    await check(bench, license, 9);
    assert.equal(await totalOf(bench, license), 11);
  },

  'what the cloud said before a report was settled is no news after it': async (bench: Bench) => {
    const license = await bench.install(CLOUD);
    await check(bench, license, 10);
    await bench.consume(5);
    bench.clock.advance(MINUTE_MS);
    const early = { askedAt: await bench.now(), total: 10, features: [], takesLower: true };
    bench.clock.advance(MINUTE_MS);
    await bench.cutReport(license, 'a');
    await settleWith(bench, license, 'a', 15);
    await bench.execute({ kind: 'install_license', license, counted: early, by: 'cloud' });
    assert.equal(await totalOf(bench, license), 15);
    await check(bench, license, 10);
    assert.equal(await totalOf(bench, license), 10, 'what it says later is');
  },

  'a total of the cloud that is reset resets ours': async (bench: Bench) => {
    const license = await bench.install(CLOUD);
    await bench.consume(5);
    await bench.cutReport(license, 'a');
    await settleWith(bench, license, 'a', 5);
    await check(bench, license, 0);
    assert.equal(await totalOf(bench, license), 0);
    assert.deepEqual(await bench.listEventsOf('total_corrected', license.id), [
      { kind: 'total_corrected', feature: null, before: 5, total: 0 },
    ]);
  },

  'near the end of a window the total of the cloud may be of another one': async (bench: Bench) => {
    const consumption = exampleLimits({ max: 100, period: 'daily' });
    const license = await bench.install({ ...CLOUD, consumption });
    const midnight = instant(Math.ceil(NOW / DAY_MS) * DAY_MS);
    for (const minutes of [-14, 14]) {
      bench.clock.advance(midnight + minutes * MINUTE_MS - (await bench.now()));
      await check(bench, license, 50);
      assert.equal(await totalOf(bench, license), 0);
    }
    bench.clock.advance(2 * MINUTE_MS);
    await check(bench, license, 50);
    assert.equal(await totalOf(bench, license), 50);
  },

  'an unclear report is settled by the total, or held': async (bench: Bench) => {
    const license = await bench.install(CLOUD);
    await check(bench, license, 10);
    await bench.consume(5);
    await bench.cutReport(license, 'a');
    await resolve(bench, license, 'a', 10);
    assert.equal((await bench.readBacklog(license))?.underWay?.amount, 5, 'unmoved: it will be sent again');
    await resolve(bench, license, 'a', 15);
    assert.equal((await bench.readBacklog(license))?.underWay, null);
    assert.equal(await totalOf(bench, license), 15);
    await bench.consume(3);
    await bench.cutReport(license, 'b');
    await resolve(bench, license, 'b', 17);
    const [held] = (await bench.readBacklog(license))?.uncertain ?? [];
    assert.equal(held?.uncertainAt, await bench.now());
    await resolve(bench, license, 'b', 18);
    assert.equal((await bench.readBacklog(license))?.uncertain.length, 1, 'it is held');
    assert.equal(await totalOf(bench, license), 17, 'the total is that of the cloud');
    await bench.settleReport(license, 'b', false);
    assert.equal((await bench.readBacklog(license))?.pending, 3);
    assert.equal(await totalOf(bench, license), 20);
  },

  'while a report is held, others go on': async (bench: Bench) => {
    const license = await bench.install(CLOUD);
    await check(bench, license, 10);
    await bench.consume(5);
    await bench.cutReport(license, 'a');
    await resolve(bench, license, 'a', 12);
    await bench.consume(1);
    assert.equal(await totalOf(bench, license), 13);
    assert.equal(await bench.cutReport(license, 'b'), 1);
    await resolve(bench, license, 'b', 13);
    assert.equal((await bench.readBacklog(license))?.underWay, null, 'moved by 1 from 12');
    await check(bench, license, 14);
    assert.equal(await totalOf(bench, license), 14);
    await bench.settleReport(license, 'a', true);
    assert.equal(await totalOf(bench, license), 14, 'it was in it all along');
    assert.equal((await bench.readBacklog(license))?.reported, 6);
  },
};

export function judge(bench: Bench, license: License, verdict: Verdict, proof: ApplyVerdict['proof']) {
  return bench.execute({ kind: 'apply_verdict', licenseId: license.id, verdict, proof });
}

export const VERDICTS = {
  'what the cloud says about a license changes it, and the next good check repairs it': async (
    bench: Bench,
  ) => {
    const license = await bench.install(CLOUD);
    for (const [verdict, code] of [
      ['license_not_enabled', 'license_not_enabled'],
      ['license_not_active', 'license_not_active'],
      ['device_not_found', 'license_not_active'],
      ['blacklisted', 'license_not_active'],
      ['license_not_found', 'license_not_active'],
      ['license_expired', 'license_expired'],
    ] as const) {
      await judge(bench, license, verdict, 'bound');
      await judge(bench, license, verdict, 'bound');
      assert.equal(codeOf(await bench.register('ada')), code, verdict);
      assert.equal((await bench.listEventsOf('license_changed', license.id)).at(-1)?.verdict, verdict);
      await check(bench, license, 0);
      assert.equal((await bench.register('ada')).kind, 'granted');
    }
    assert.equal((await bench.listEventsOf('license_changed', license.id)).length, 12);
  },

  'a license that asks for checks lends nothing new without them; holders renew': async (bench: Bench) => {
    const license = await bench.install({ ...CLOUD, maxOfflineDays: 1, timeoutMinutes: 3 * 24 * 60 });
    await bench.register('ada');
    bench.clock.advance(DAY_MS - 1);
    grantedOf(await bench.register('bob'));
    bench.clock.advance(1);
    await bench.unregister('bob');
    assert.equal(codeOf(await bench.register('bob')), 'license_check_overdue');
    assert.equal(codeOf(await bench.borrow('ada', 'longest')), 'license_check_overdue');
    assert.equal(codeOf(await bench.consume(1)), 'license_check_overdue');
    grantedOf(await bench.register('ada'));
    await check(bench, license, 0);
    grantedOf(await bench.register('bob'));
  },
};

const HOME = { ...NO_TIE, hardwareId: 'home' };

export const MACHINES = {
  'a cloud license lends for seven days on another machine': async (bench: Bench) => {
    await bench.execute({ kind: 'bind_hardware', hardwareId: 'home' });
    const license = await bench.install({ ...CLOUD, tie: HOME });
    await bench.execute({ kind: 'bind_hardware', hardwareId: 'copy' });
    await bench.execute({ kind: 'bind_hardware', hardwareId: 'copy' });
    assert.equal((await bench.listEventsOf('identity_changed', 'system')).length, 1);
    bench.clock.advance(7 * DAY_MS - 1);
    grantedOf(await bench.register('ada'));
    bench.clock.advance(1);
    assert.equal(codeOf(await bench.register('bob')), 'server_identity_changed');
    grantedOf(await bench.register('ada'));
    await check(bench, { ...license, tie: { ...HOME, hardwareId: 'copy' } }, 0);
    grantedOf(await bench.register('bob'));
  },

  'others lend nothing new there, and everything at home again': async (bench: Bench) => {
    await bench.execute({ kind: 'bind_hardware', hardwareId: 'home' });
    await bench.install({ source: 'offline', tie: HOME });
    grantedOf(await bench.register('ada'));
    await bench.execute({ kind: 'bind_hardware', hardwareId: 'copy' });
    assert.equal(codeOf(await bench.register('bob')), 'server_identity_changed');
    grantedOf(await bench.register('ada'));
    await bench.execute({ kind: 'bind_hardware', hardwareId: 'home' });
    grantedOf(await bench.register('bob'));
  },
};

/** A license that was given up, and comes back. */
export function removalCases(again: 'restart' | 'crash') {
  return {
    'nobody finds it any more; another license of the product answers': async (bench: Bench) => {
      const [old, other] = [
        await bench.install({ id: licenseId(1) }),
        await bench.install({ id: licenseId(2) }),
      ];
      await bench.execute({ kind: 'remove_license', licenseId: other.id, by: 'admin' });
      await bench[again]();
      assert.equal(grantedOf(await bench.register('ada')).license.id, old.id);
      assert.equal(codeOf(await bench.register('ada', { licenseId: other.id })), 'license_not_found');
      await bench.execute({ kind: 'remove_license', licenseId: old.id, by: 'admin' });
      assert.equal(codeOf(await bench.register('ada', { product: 'cad' })), 'unknown_product');
      assert.deepEqual(await bench.listLicenses(), []);
    },

    'added again, its slots, totals and records go on': async (bench: Bench) => {
      const license = await bench.install({ consumption: exampleLimits({ max: 100 }) });
      grantedOf(await bench.borrow('ada', plus(NOW, 60 * MINUTE_MS)));
      grantedOf(await bench.register('bob'));
      await bench.consume(7);
      await bench.execute({ kind: 'remove_license', licenseId: license.id, by: 'admin' });
      bench.clock.advance(30 * MINUTE_MS);
      await bench.now();
      await bench[again]();
      await bench.install({ consumption: exampleLimits({ max: 100 }) });
      const granted = grantedOf(await bench.register('cleo'));
      assert.equal(granted.inUse, 2, 'what is borrowed stays borrowed');
      assert.equal(codeOf(await bench.register('dan')), 'floating_not_available');
      assert.equal(measuredOf(await bench.consume(1)).total, 8);
      assert.equal((await bench.listEventsOf('license_removed', license.id)).length, 1);
      assert.equal((await bench.listEventsOf('license_added', license.id)).length, 2);
    },

    'what comes back is the most recently added': async (bench: Bench) => {
      const first = await bench.install({ id: licenseId(1) });
      const second = await bench.install({ id: licenseId(2) });
      await bench.execute({ kind: 'remove_license', licenseId: first.id, by: 'admin' });
      await bench.install({ id: licenseId(1) });
      await bench[again]();
      assert.deepEqual(
        (await bench.listLicenses()).map(({ license }) => license.id),
        [first.id, second.id],
      );
    },
  };
}
