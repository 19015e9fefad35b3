import assert from 'node:assert/strict';
import { DAY_MS, HOUR_MS, MINUTE_MS, plus } from '../../../src/core/nouns/instant.ts';
import { type License, licenseId } from '../../../src/core/nouns/license.ts';
import { exampleFeature, exampleLimits, NOW } from '../../core/examples.ts';
import { CLOUD, check } from './cloud.ts';
import { codeOf, type ExamStore, grantedOf, measuredOf } from './exam-store.ts';

const [OLD, NEW] = [licenseId(10), licenseId(12)];
const LENDING = { ...CLOUD, key: 'SOLD', slots: 3, canBorrow: true, features: [exampleFeature('render')] };

/** Adds the license again, as the cloud knows it now. */
async function replace(exam: ExamStore, old: License, facts: Partial<License> = {}) {
  const license = { ...old, id: NEW, ...facts };
  await exam.execute({ kind: 'install_license', license, replaces: [old.id], by: 'admin' });
  return license;
}

async function listHolders(exam: ExamStore) {
  const ids = (await exam.listLicenses()).map(({ license }) => license.id);
  const held = ids.map(async (id) => (await exam.listSlots(id)).map(({ user }) => `${user} ${id}`));
  return (await Promise.all(held)).flat().sort();
}

/** A license that the cloud has forgotten, and knows under another id. */
export function replacedCases(again: 'restart' | 'crash') {
  return { ...movingCases(again), ...mixedCases(again) };
}

function movingCases(again: 'restart' | 'crash') {
  return {
    'answers for another license end new slots after a day': async (exam: ExamStore) => {
      const license = await exam.install({ ...CLOUD, timeoutMinutes: 5 * 24 * 60, slots: 5 });
      grantedOf(await exam.register('ada'));
      const doubt = { kind: 'doubt_license', licenseId: license.id, otherId: NEW, by: 'cloud' } as const;
      for (const hours of [0, 12, 11]) {
        exam.clock.advance(hours * HOUR_MS);
        await exam.execute(doubt);
      }
      await exam[again]();
      grantedOf(await exam.register('bob'));
      exam.clock.advance(HOUR_MS);
      await exam.execute(doubt);
      await exam[again]();
      assert.equal(codeOf(await exam.register('cleo')), 'license_check_overdue');
      grantedOf(await exam.register('ada'));
      assert.equal((await exam.listEventsOf('license_doubted', license.id)).length, 2);
      await check(exam, license, 0);
      grantedOf(await exam.register('cleo'));
    },

    'its slots, borrows and features move to the license that replaces it': async (exam: ExamStore) => {
      const old = await exam.install({ ...LENDING, id: OLD });
      grantedOf(await exam.register('ada'));
      await exam.registerFeature('ada', { feature: 'render' });
      const until = plus(NOW, DAY_MS / 2);
      grantedOf(await exam.borrow('bob', until));
      await replace(exam, old);
      await exam[again]();
      assert.deepEqual(await listHolders(exam), ['ada 12', 'bob 12']);
      const [record, ...others] = await exam.listLicenses();
      assert.deepEqual([record?.license.id, record?.inUse, record?.borrowed, others], [NEW, 2, 1, []]);
      assert.equal(record?.totals.features[0]?.inUse, 1);
      exam.clock.advance(HOUR_MS);
      const [lent, ...gone] = await exam.listSlots();
      assert.deepEqual([lent?.user, lent?.borrowedUntil, gone], ['bob', until, []], 'ada sent no heartbeat');
      grantedOf(await exam.register('ada'));
      grantedOf(await exam.register('cleo'));
      assert.equal(codeOf(await exam.register('dan')), 'floating_not_available');
      const [removed] = await exam.listEventsOf('license_removed', OLD);
      assert.equal(removed?.replacedBy, NEW);
      assert.equal((await exam.listEventsOf('slot_lent', NEW)).length, 4);
    },

    'clients that name the old id stay with it': async (exam: ExamStore) => {
      const old = await exam.install({ ...LENDING, id: OLD });
      grantedOf(await exam.register('ada', { product: null, licenseId: OLD }));
      await replace(exam, old);
      await exam[again]();
      for (const product of [null, 'cad']) {
        const { license, inUse } = grantedOf(await exam.register('ada', { product, licenseId: OLD }));
        assert.deepEqual([license.id, inUse], [NEW, 1]);
        assert.equal(measuredOf(await exam.consume(1, { product, licenseId: OLD })).licenseId, NEW);
      }
      await exam.unregister('ada', { licenseId: OLD });
      assert.deepEqual(await listHolders(exam), []);
      const [lent] = await exam.listEventsOf('slot_returned', NEW);
      assert.equal(lent?.user, 'ada');
    },
  };
}

function mixedCases(again: 'restart' | 'crash') {
  return {
    'what was not reported is reported for it, once': async (exam: ExamStore) => {
      const old = await exam.install({ ...LENDING, id: OLD, consumption: exampleLimits({ max: 100 }) });
      await check(exam, old, 30);
      await exam.consume(5);
      await exam.cutReport(old, 'under way');
      await exam.consume(2);
      const license = await replace(exam, old);
      await exam[again]();
      assert.equal((await exam.readTotals(license)).total, 7, 'the cloud has lost the others');
      assert.equal(await exam.cutReport(license, 'again'), 7);
      assert.equal(await exam.readBacklog(old), undefined);
      assert.equal(await exam.settleReport(license, 'under way', true), 0);
    },

    'two licenses become one, and nothing more is lent until there is room': async (exam: ExamStore) => {
      const old = await exam.install({ ...LENDING, id: OLD });
      for (const user of ['ada', 'bob', 'cleo']) grantedOf(await exam.register(user, { licenseId: OLD }));
      exam.clock.advance(MINUTE_MS);
      await exam.install({ ...LENDING, id: NEW });
      for (const user of ['ada', 'dan']) grantedOf(await exam.register(user, { licenseId: NEW }));
      await replace(exam, old);
      await exam[again]();
      assert.deepEqual(await listHolders(exam), ['ada 12', 'bob 12', 'cleo 12', 'dan 12']);
      assert.equal((await exam.listLicenses())[0]?.inUse, 4);
      assert.equal(codeOf(await exam.register('eve')), 'floating_not_available');
      for (const user of ['bob', 'cleo']) await exam.unregister(user);
      assert.equal(grantedOf(await exam.register('eve')).inUse, 3);
    },

    'another license may get its id, and gets nothing else of it': async (exam: ExamStore) => {
      const old = await exam.install({ ...LENDING, id: OLD });
      grantedOf(await exam.register('ada'));
      const license = await replace(exam, old);
      await exam.install({ ...LENDING, id: OLD, key: 'OTHER', slots: 1 });
      assert.equal(grantedOf(await exam.register('bob', { licenseId: OLD })).inUse, 1);
      await exam.execute({ kind: 'remove_license', licenseId: OLD, by: 'admin' });
      await exam.install({ ...LENDING, id: OLD, key: 'THIRD', slots: 1 });
      await exam[again]();
      assert.equal(grantedOf(await exam.register('cleo', { licenseId: OLD })).inUse, 1);
      assert.deepEqual(await listHolders(exam), [`ada ${license.id}`, 'cleo 10']);
    },
  };
}
