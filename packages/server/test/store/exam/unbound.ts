import assert from 'node:assert/strict';
import { DAY_MS } from '../../../src/core/nouns/instant.ts';
import { NO_TIE } from '../../../src/core/nouns/license.ts';
import { exampleLimits, NOW } from '../../core/examples.ts';
import { CLOUD, check, judge, totalOf } from './cloud.ts';
import { codeOf, type ExamStore, grantedOf } from './exam-store.ts';

const OLD = { takesLower: false };

async function readAssurance(exam: ExamStore) {
  return (await exam.listLicenses())[0]?.license.tie.assurance;
}

/** Answers of the cloud that may be old, because nothing binds them to a request. */
export function unboundCases(again: 'restart' | 'crash') {
  return { ...countCases(again), ...verdictCases(again) };
}

function countCases(again: 'restart' | 'crash') {
  return {
    'a lower total of the cloud is ignored until an administrator accepts it': async (exam: ExamStore) => {
      const assurance = { isBound: false, unconfirmed: null, keptTotal: false };
      const license = await exam.install({ ...CLOUD, tie: { ...NO_TIE, assurance } });
      await check(exam, license, 60, { export: 4 }, OLD);
      await check(exam, license, 40, { export: 5 }, OLD);
      await exam[again]();
      assert.equal(await totalOf(exam, license), 60);
      assert.equal((await exam.readTotals(license)).features[0]?.total, 5, 'each for itself');
      assert.equal((await readAssurance(exam))?.keptTotal, true);
      await check(exam, license, 40, {}, { ...OLD, acceptedBy: 'ada' });
      assert.equal(await totalOf(exam, license), 40);
      assert.equal((await readAssurance(exam))?.keptTotal, false);
      const { by, before, total } = (await exam.listEventsOf('total_corrected', license.id)).at(-1) ?? {};
      assert.deepEqual([by, before, total], ['ada', 60, 40]);
    },

    'a lower total is accepted when a new window has begun': async (exam: ExamStore) => {
      const consumption = exampleLimits({ max: 100, period: 'daily' });
      const license = await exam.install({ ...CLOUD, consumption });
      await check(exam, license, 60, {}, OLD);
      exam.clock.advance(DAY_MS);
      await check(exam, license, 3, {}, OLD);
      assert.equal(await totalOf(exam, license), 3);
      await check(exam, license, 2, {}, OLD);
      assert.equal(await totalOf(exam, license), 3);
    },

    'an old answer does not settle a report': async (exam: ExamStore) => {
      const license = await exam.install(CLOUD);
      await check(exam, license, 10, {}, OLD);
      await exam.consume(5);
      await exam.cutReport(license, 'a');
      const told = { isCounted: true, isSure: false, takesLower: false, by: 'cloud' } as const;
      const report = { licenseId: license.id, feature: null, reportId: 'a' } as const;
      await exam.execute({ kind: 'settle_report', ...report, ...told, cloudTotal: 14 });
      await exam[again]();
      assert.equal((await exam.readBacklog(license))?.underWay?.amount, 5);
      await exam.execute({ kind: 'settle_report', ...report, ...told, cloudTotal: 15 });
      assert.equal((await exam.readBacklog(license))?.underWay, null);
      assert.equal(await totalOf(exam, license), 15);
    },
  };
}

function verdictCases(again: 'restart' | 'crash') {
  return {
    'a verdict waits for the next check, even over a restart': async (exam: ExamStore) => {
      const license = await exam.install(CLOUD);
      await judge(exam, license, 'license_not_found', 'none');
      await exam[again]();
      assert.equal((await readAssurance(exam))?.unconfirmed, 'license_not_found');
      grantedOf(await exam.register('ada'));
      await judge(exam, license, 'license_not_enabled', 'none');
      grantedOf(await exam.register('ada'));
      await judge(exam, license, 'license_not_enabled', 'none');
      assert.equal(codeOf(await exam.register('ada')), 'license_not_enabled');
      assert.equal((await readAssurance(exam))?.unconfirmed, null);
      await judge(exam, license, 'license_not_enabled', 'none');
      assert.equal((await readAssurance(exam))?.unconfirmed, null, 'it is in force already');
      assert.equal((await exam.listEventsOf('license_changed', license.id)).length, 1);
    },

    'a good check in between cancels a waiting verdict': async (exam: ExamStore) => {
      const license = await exam.install(CLOUD);
      for (let round = 0; round < 3; round++) {
        await judge(exam, license, 'license_expired', 'none');
        await check(exam, license, 0);
      }
      grantedOf(await exam.register('ada'));
      await judge(exam, license, 'license_expired', 'license');
      assert.equal(codeOf(await exam.register('ada')), 'license_expired', 'with its signature it counts');
    },

    'the server remembers and reports once that a cloud binds its answers, until released': async (
      exam: ExamStore,
    ) => {
      const find = (subject: string) =>
        exam.store.read({ kind: 'find_notice', key: { kind: 'cloud_held', subject } });
      const hold = { kind: 'cloud_held_to_nonces', fingerprint: 'one' } as const;
      for (let round = 0; round < 2; round++) {
        await exam.execute({ kind: 'note', notice: hold });
        await exam[again]();
      }
      assert.equal(await find('one'), NOW);
      assert.equal(await find('two'), null);
      const release = { kind: 'cloud_released_from_nonces', fingerprint: 'one', by: 'ada' } as const;
      for (let round = 0; round < 2; round++) await exam.execute({ kind: 'note', notice: release });
      assert.equal(await find('one'), null);
      assert.deepEqual(await exam.listEvents('system'), [hold, release]);
    },
  };
}
