import assert from 'node:assert/strict';
import type { ApplyVerdict, CloudCounts } from '../../../src/core/command.ts';
import { DAY_MS, instant, MINUTE_MS, plus } from '../../../src/core/nouns/instant.ts';
import { type License, licenseId, NO_TIE, type Verdict } from '../../../src/core/nouns/license.ts';
import { exampleLimits, NOW } from '../../core/examples.ts';
import { codeOf, type ExamStore, grantedOf, measuredOf } from './exam-store.ts';

export const REPORTS = {
  'nothing that was counted is lost or reported twice': async (exam: ExamStore) => {
    const license = await exam.install({ consumption: exampleLimits({ max: 100, allowNegative: true }) });
    await exam.consume(5);
    assert.equal(await exam.cutReport(license, 'a'), 5);
    assert.equal(await exam.cutReport(license, 'a'), 0, 'an id takes once');
    await exam.consume(3);
    assert.equal(await exam.cutReport(license, 'b'), 0, 'one is on its way');
    assert.equal(await exam.settleReport(license, 'a', false), 5, 'it was not counted: pending again');
    assert.equal(await exam.settleReport(license, 'a', true), 0, 'it is settled');
    assert.equal(await exam.cutReport(license, 'b'), 8);
    assert.equal(await exam.settleReport(license, 'b', true), 8);
    assert.equal(await exam.settleReport(license, 'unknown', true), 0);
    await exam.consume(-1);
    assert.equal(await exam.cutReport(license, 'c'), -1, 'what is taken back is told too');
    assert.deepEqual(await exam.listEventsOf('consumption_reported', license.id), [
      { kind: 'consumption_reported', feature: null, amount: 8, reportId: 'b', by: 'cloud' },
    ]);
  },

  'each meter is reported separately': async (exam: ExamStore) => {
    const license = await exam.install();
    await exam.consume(5);
    await exam.consume(2, { feature: 'export' });
    assert.equal(await exam.cutReport(license, 'f', 'export'), 2);
    assert.equal(await exam.cutReport(license, 'l'), 5);
    assert.equal(await exam.settleReport(license, 'f', true, 'export'), 2);
    const [event] = await exam.listEventsOf('consumption_reported', license.id);
    assert.deepEqual([event?.feature, event?.amount], ['export', 2]);
    assert.equal(await exam.cutReport(license, 'f', 'export'), 0);
  },

  'an id that another license used takes nothing and changes nothing': async (exam: ExamStore) => {
    const first = await exam.install({ id: licenseId(1), product: 'a' });
    const second = await exam.install({ id: licenseId(2), product: 'b' });
    for (const { product } of [first, second]) await exam.consume(1, { product });
    assert.equal(await exam.cutReport(first, 'same'), 1);
    await assert.rejects(exam.cutReport(second, 'same'));
    assert.equal(await exam.cutReport(second, 'own'), 1);
  },
};

export const CLOUD = { source: 'cloud', consumption: exampleLimits({ max: 100 }) } as const;

/** The cloud was asked about the license, and says what it has counted. */
export async function check(
  exam: ExamStore,
  license: License,
  total: number,
  features: Record<string, number> = {},
  more: Partial<CloudCounts> = {},
) {
  const counted = {
    askedAt: await exam.now(),
    takesLower: true,
    total,
    features: Object.entries(features).map(([code, amount]) => ({ code, total: amount })),
    ...more,
  };
  return exam.execute({ kind: 'install_license', license, counted, by: 'cloud' });
}

async function settleWith(exam: ExamStore, license: License, reportId: string, cloudTotal: number) {
  const told = { isCounted: true, cloudTotal, isSure: true, takesLower: true, by: 'cloud' } as const;
  await exam.execute({ kind: 'settle_report', licenseId: license.id, feature: null, reportId, ...told });
}

function resolve(exam: ExamStore, license: License, reportId: string, cloudTotal: number) {
  return exam.execute({
    kind: 'resolve_report',
    licenseId: license.id,
    feature: null,
    reportId,
    cloudTotal,
    takesLower: true,
  });
}

export async function totalOf(exam: ExamStore, license: License): Promise<number> {
  return (await exam.readTotals(license)).total;
}

/** Who owns a total: see `core/lending/cloud-total.ts`. */
export const CLOUD_TOTALS = {
  "a total is the cloud's count plus what was counted here since": async (exam: ExamStore) => {
    const license = await exam.install(CLOUD);
    await exam.consume(5);
    await check(exam, license, 40, { export: 3 });
    assert.equal(await totalOf(exam, license), 45);
    assert.equal((await exam.readTotals(license)).features[0]?.total, 3);
    assert.equal(codeOf(await exam.consume(56)), 'license_not_enough_consumptions');
    assert.equal(measuredOf(await exam.consume(55)).total, 100);
  },

  'while a report is under way, the total of the cloud is ignored': async (exam: ExamStore) => {
    const license = await exam.install(CLOUD);
    await exam.consume(5);
    await exam.cutReport(license, 'a');
    await exam.consume(2);
    await check(exam, license, 5);
    assert.equal(await totalOf(exam, license), 7);
    await settleWith(exam, license, 'a', 9);
    assert.equal(await totalOf(exam, license), 11, 'others have counted 4');
    await check(exam, license, 9);
    assert.equal(await totalOf(exam, license), 11);
  },

  'a total from before a report was settled is ignored after it': async (exam: ExamStore) => {
    const license = await exam.install(CLOUD);
    await check(exam, license, 10);
    await exam.consume(5);
    exam.clock.advance(MINUTE_MS);
    const early = { askedAt: await exam.now(), total: 10, features: [], takesLower: true };
    exam.clock.advance(MINUTE_MS);
    await exam.cutReport(license, 'a');
    await settleWith(exam, license, 'a', 15);
    await exam.execute({ kind: 'install_license', license, counted: early, by: 'cloud' });
    assert.equal(await totalOf(exam, license), 15);
    await check(exam, license, 10);
    assert.equal(await totalOf(exam, license), 10, 'what it says later is');
  },

  "a reset of the cloud's total resets ours": async (exam: ExamStore) => {
    const license = await exam.install(CLOUD);
    await exam.consume(5);
    await exam.cutReport(license, 'a');
    await settleWith(exam, license, 'a', 5);
    await check(exam, license, 0);
    assert.equal(await totalOf(exam, license), 0);
    assert.deepEqual(await exam.listEventsOf('total_corrected', license.id), [
      { kind: 'total_corrected', feature: null, before: 5, total: 0 },
    ]);
  },

  "near the end of a window the cloud's total may be of another one": async (exam: ExamStore) => {
    const consumption = exampleLimits({ max: 100, period: 'daily' });
    const license = await exam.install({ ...CLOUD, consumption });
    const midnight = instant(Math.ceil(NOW / DAY_MS) * DAY_MS);
    for (const minutes of [-14, 14]) {
      exam.clock.advance(midnight + minutes * MINUTE_MS - (await exam.now()));
      await check(exam, license, 50);
      assert.equal(await totalOf(exam, license), 0);
    }
    exam.clock.advance(2 * MINUTE_MS);
    await check(exam, license, 50);
    assert.equal(await totalOf(exam, license), 50);
  },

  'an unclear report is settled by the total, or held': async (exam: ExamStore) => {
    const license = await exam.install(CLOUD);
    await check(exam, license, 10);
    await exam.consume(5);
    await exam.cutReport(license, 'a');
    await resolve(exam, license, 'a', 10);
    assert.equal((await exam.readBacklog(license))?.underWay?.amount, 5, 'unmoved: it will be sent again');
    await resolve(exam, license, 'a', 15);
    assert.equal((await exam.readBacklog(license))?.underWay, null);
    assert.equal(await totalOf(exam, license), 15);
    await exam.consume(3);
    await exam.cutReport(license, 'b');
    await resolve(exam, license, 'b', 17);
    const [held] = (await exam.readBacklog(license))?.uncertain ?? [];
    assert.equal(held?.uncertainAt, await exam.now());
    await resolve(exam, license, 'b', 18);
    assert.equal((await exam.readBacklog(license))?.uncertain.length, 1, 'it is held');
    assert.equal(await totalOf(exam, license), 17, 'the total is that of the cloud');
    await exam.settleReport(license, 'b', false);
    assert.equal((await exam.readBacklog(license))?.pending, 3);
    assert.equal(await totalOf(exam, license), 20);
  },

  'while a report is held, others continue': async (exam: ExamStore) => {
    const license = await exam.install(CLOUD);
    await check(exam, license, 10);
    await exam.consume(5);
    await exam.cutReport(license, 'a');
    await resolve(exam, license, 'a', 12);
    await exam.consume(1);
    assert.equal(await totalOf(exam, license), 13);
    assert.equal(await exam.cutReport(license, 'b'), 1);
    await resolve(exam, license, 'b', 13);
    assert.equal((await exam.readBacklog(license))?.underWay, null, 'moved by 1 from 12');
    await check(exam, license, 14);
    assert.equal(await totalOf(exam, license), 14);
    await exam.settleReport(license, 'a', true);
    assert.equal(await totalOf(exam, license), 14, 'it was in it all along');
    assert.equal((await exam.readBacklog(license))?.reported, 6);
  },
};

export function judge(exam: ExamStore, license: License, verdict: Verdict, proof: ApplyVerdict['proof']) {
  return exam.execute({ kind: 'apply_verdict', licenseId: license.id, verdict, proof });
}

export const VERDICTS = {
  "the cloud's answer about a license changes it, and the next good check repairs it": async (
    exam: ExamStore,
  ) => {
    const license = await exam.install(CLOUD);
    for (const [verdict, code] of [
      ['license_not_enabled', 'license_not_enabled'],
      ['license_not_active', 'license_not_active'],
      ['device_not_found', 'license_not_active'],
      ['blacklisted', 'license_not_active'],
      ['license_not_found', 'license_not_active'],
      ['license_expired', 'license_expired'],
    ] as const) {
      await judge(exam, license, verdict, 'bound');
      await judge(exam, license, verdict, 'bound');
      assert.equal(codeOf(await exam.register('ada')), code, verdict);
      assert.equal((await exam.listEventsOf('license_changed', license.id)).at(-1)?.verdict, verdict);
      await check(exam, license, 0);
      assert.equal((await exam.register('ada')).kind, 'granted');
    }
    assert.equal((await exam.listEventsOf('license_changed', license.id)).length, 12);
  },

  'a license that requires checks lends nothing new without them; holders renew': async (exam: ExamStore) => {
    const license = await exam.install({ ...CLOUD, maxOfflineDays: 1, timeoutMinutes: 3 * 24 * 60 });
    await exam.register('ada');
    exam.clock.advance(DAY_MS - 1);
    grantedOf(await exam.register('bob'));
    exam.clock.advance(1);
    await exam.unregister('bob');
    assert.equal(codeOf(await exam.register('bob')), 'license_check_overdue');
    assert.equal(codeOf(await exam.borrow('ada', 'longest')), 'license_check_overdue');
    assert.equal(codeOf(await exam.consume(1)), 'license_check_overdue');
    grantedOf(await exam.register('ada'));
    await check(exam, license, 0);
    grantedOf(await exam.register('bob'));
  },
};

const HOME = { ...NO_TIE, hardwareId: 'home' };

export const MACHINES = {
  'a cloud license lends for seven days on another machine': async (exam: ExamStore) => {
    await exam.execute({ kind: 'bind_hardware', hardwareId: 'home' });
    const license = await exam.install({ ...CLOUD, tie: HOME });
    await exam.execute({ kind: 'bind_hardware', hardwareId: 'copy' });
    await exam.execute({ kind: 'bind_hardware', hardwareId: 'copy' });
    assert.equal((await exam.listEventsOf('identity_changed', 'system')).length, 1);
    exam.clock.advance(7 * DAY_MS - 1);
    grantedOf(await exam.register('ada'));
    exam.clock.advance(1);
    assert.equal(codeOf(await exam.register('bob')), 'server_identity_changed');
    grantedOf(await exam.register('ada'));
    await check(exam, { ...license, tie: { ...HOME, hardwareId: 'copy' } }, 0);
    grantedOf(await exam.register('bob'));
  },

  'others lend nothing new there, and everything back home': async (exam: ExamStore) => {
    await exam.execute({ kind: 'bind_hardware', hardwareId: 'home' });
    await exam.install({ source: 'offline', tie: HOME });
    grantedOf(await exam.register('ada'));
    await exam.execute({ kind: 'bind_hardware', hardwareId: 'copy' });
    assert.equal(codeOf(await exam.register('bob')), 'server_identity_changed');
    grantedOf(await exam.register('ada'));
    await exam.execute({ kind: 'bind_hardware', hardwareId: 'home' });
    grantedOf(await exam.register('bob'));
  },
};

/** A license that was removed and is added again. */
export function removalCases(again: 'restart' | 'crash') {
  return {
    'it is no longer found; another license of the product answers': async (exam: ExamStore) => {
      const [old, other] = [
        await exam.install({ id: licenseId(1) }),
        await exam.install({ id: licenseId(2) }),
      ];
      await exam.execute({ kind: 'remove_license', licenseId: other.id, by: 'admin' });
      await exam[again]();
      assert.equal(grantedOf(await exam.register('ada')).license.id, old.id);
      assert.equal(codeOf(await exam.register('ada', { licenseId: other.id })), 'license_not_found');
      await exam.execute({ kind: 'remove_license', licenseId: old.id, by: 'admin' });
      assert.equal(codeOf(await exam.register('ada', { product: 'cad' })), 'unknown_product');
      assert.deepEqual(await exam.listLicenses(), []);
    },

    'added again, its slots, totals and records continue': async (exam: ExamStore) => {
      const license = await exam.install({ consumption: exampleLimits({ max: 100 }) });
      grantedOf(await exam.borrow('ada', plus(NOW, 60 * MINUTE_MS)));
      grantedOf(await exam.register('bob'));
      await exam.consume(7);
      await exam.execute({ kind: 'remove_license', licenseId: license.id, by: 'admin' });
      exam.clock.advance(30 * MINUTE_MS);
      await exam.now();
      await exam[again]();
      await exam.install({ consumption: exampleLimits({ max: 100 }) });
      const granted = grantedOf(await exam.register('cleo'));
      assert.equal(granted.inUse, 2, 'what is borrowed stays borrowed');
      assert.equal(codeOf(await exam.register('dan')), 'floating_not_available');
      assert.equal(measuredOf(await exam.consume(1)).total, 8);
      assert.equal((await exam.listEventsOf('license_removed', license.id)).length, 1);
      assert.equal((await exam.listEventsOf('license_added', license.id)).length, 2);
    },

    'it becomes the most recently added': async (exam: ExamStore) => {
      const first = await exam.install({ id: licenseId(1) });
      const second = await exam.install({ id: licenseId(2) });
      await exam.execute({ kind: 'remove_license', licenseId: first.id, by: 'admin' });
      await exam.install({ id: licenseId(1) });
      await exam[again]();
      assert.deepEqual(
        (await exam.listLicenses()).map(({ license }) => license.id),
        [first.id, second.id],
      );
    },
  };
}
