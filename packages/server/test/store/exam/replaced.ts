import assert from 'node:assert/strict';
import { DAY_MS, HOUR_MS, MINUTE_MS, plus } from '../../../src/core/nouns/instant.ts';
import { type License, licenseId } from '../../../src/core/nouns/license.ts';
import { exampleFeature, exampleLimits, NOW } from '../../core/examples.ts';
import { CLOUD, check } from './cloud.ts';
import { codeOf, type ExamStore, grantedOf, measuredOf } from './exam-store.ts';

const [OLD, NEW, THIRD] = [licenseId(10), licenseId(12), licenseId(14)];
/** An administrator adds a license. */
const ADDED = { replacesSame: true, by: 'admin' } as const;
const LENDING = { ...CLOUD, key: 'SOLD', slots: 3, canBorrow: true, features: [exampleFeature('render')] };

/** Adds the license again, as the cloud knows it now. */
async function replace(exam: ExamStore, old: License, facts: Partial<License> = {}) {
  const license = { ...old, id: NEW, ...facts };
  await exam.execute({ kind: 'install_license', license, ...ADDED });
  return license;
}

function resolved({ id }: License, reportId: string) {
  return { kind: 'resolve_report', licenseId: id, feature: null, reportId } as const;
}

async function listHolders(exam: ExamStore) {
  const ids = (await exam.listLicenses()).map(({ license }) => license.id);
  const held = ids.map(async (id) => (await exam.listSlots(id)).map(({ user }) => `${user} ${id}`));
  return (await Promise.all(held)).flat().sort();
}

/** A license that the cloud has forgotten, and knows under another id. */
export function replacedCases(again: 'restart' | 'crash') {
  return { ...movingCases(again), ...countingCases(again), ...mixedCases(again), ...rareCases(again) };
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

function countingCases(again: 'restart' | 'crash') {
  return {
    'what was not reported is reported for it, and no report twice': async (exam: ExamStore) => {
      const old = await exam.install({ ...LENDING, id: OLD, consumption: exampleLimits({ max: 100 }) });
      await check(exam, old, 30);
      await exam.consume(4);
      await exam.cutReport(old, 'unclear');
      await exam.execute({ ...resolved(old, 'unclear'), cloudTotal: 99, takesLower: true });
      await check(exam, old, 30);
      await exam.consume(5);
      await exam.cutReport(old, 'under way');
      await exam.consume(2);
      const license = await replace(exam, old);
      await exam[again]();
      assert.equal((await exam.readTotals(license)).total, 11, 'the cloud has lost the others');
      const backlog = await exam.readBacklog(license);
      assert.deepEqual([backlog?.underWay?.id, backlog?.underWay?.amount], ['under way', 5]);
      assert.deepEqual(
        backlog?.uncertain.map(({ id, amount }) => [id, amount]),
        [['unclear', 4]],
      );
      assert.equal(await exam.readBacklog(old), undefined);
      assert.equal(await exam.settleReport(old, 'under way', true), 0, 'its answer comes late');
      assert.equal(await exam.cutReport(license, 'again'), 0, 'one is on its way');
      assert.equal(await exam.settleReport(license, 'under way', true), 5);
      assert.equal(await exam.cutReport(license, 'again'), 2);
    },

    'a repeated count is not counted again': async (exam: ExamStore) => {
      const old = await exam.install({ ...LENDING, id: OLD, consumption: exampleLimits({ max: 100 }) });
      const idempotency = { key: 'once', bodyHash: '1:a' };
      for (const product of [null, 'cad']) {
        const named = { product, licenseId: OLD, user: product, idempotency };
        assert.equal(measuredOf(await exam.consume(5, named)).total, product === null ? 5 : 10);
      }
      const license = await replace(exam, old);
      await exam[again]();
      await exam.execute({ kind: 'install_license', license: { ...license, id: THIRD }, ...ADDED });
      for (const product of [null, 'cad']) {
        const named = { product, licenseId: OLD, user: product, idempotency };
        assert.equal(measuredOf(await exam.consume(5, named)).total, product === null ? 5 : 10);
      }
      const other = { licenseId: OLD, user: 'cad', idempotency: { ...idempotency, bodyHash: '1:b' } };
      assert.equal(codeOf(await exam.consume(5, other)), 'idempotency_key_reused');
      assert.equal((await exam.listLicenses())[0]?.totals.total, 10);
    },
  };
}

function mixedCases(again: 'restart' | 'crash') {
  return {
    'who holds both keeps the longer borrow and all features': async (exam: ExamStore) => {
      const old = await exam.install({ ...LENDING, id: OLD });
      const until = plus(NOW, DAY_MS / 2);
      grantedOf(await exam.borrow('ada', until, { licenseId: OLD }));
      await exam.registerFeature('ada', { feature: 'render', licenseId: OLD });
      grantedOf(await exam.register('bob', { licenseId: OLD }));
      exam.clock.advance(MINUTE_MS);
      await exam.install({ ...LENDING, id: NEW });
      grantedOf(await exam.register('ada', { licenseId: NEW }));
      const later = plus(until, HOUR_MS);
      grantedOf(await exam.borrow('bob', later, { licenseId: NEW }));
      await replace(exam, old);
      await exam[again]();
      assert.equal((await exam.listLicenses())[0]?.totals.features[0]?.inUse, 1);
      exam.clock.advance(HOUR_MS);
      const slots = await exam.listSlots();
      assert.deepEqual(slots.map(({ user, borrowedUntil }) => `${user} ${borrowedUntil}`).sort(), [
        `ada ${until}`,
        `bob ${later}`,
      ]);
    },

    'a slot that has ended does not stand for one that is lent': async (exam: ExamStore) => {
      await exam.install({ ...LENDING, id: NEW });
      grantedOf(await exam.register('ada', { licenseId: NEW }));
      exam.clock.advance(HOUR_MS);
      const old = await exam.install({ ...LENDING, id: OLD });
      grantedOf(await exam.register('ada', { licenseId: OLD }));
      await replace(exam, old);
      await exam[again]();
      assert.deepEqual(await listHolders(exam), ['ada 12']);
      assert.equal((await exam.listLicenses())[0]?.inUse, 1);
    },

    'what is refused replaces nothing, and a late check brings nothing back': async (exam: ExamStore) => {
      const old = await exam.install({ ...LENDING, id: OLD });
      await exam.install({ ...LENDING, id: NEW, key: 'OTHER' });
      const license = { ...old, id: NEW };
      const refused = await exam.execute({ kind: 'install_license', license, ...ADDED });
      assert.equal(codeOf(refused), 'validation_error');
      assert.equal((await exam.listLicenses()).length, 2);
      await exam.execute({ kind: 'remove_license', licenseId: NEW, by: 'admin' });
      await replace(exam, old);
      await exam[again]();
      const late = { kind: 'install_license', license: old, by: 'cloud' } as const;
      assert.equal(codeOf(await exam.execute(late)), 'license_not_found');
      assert.deepEqual(
        (await exam.listLicenses()).map(({ license: { id } }) => id),
        [NEW],
      );
    },
  };
}

function rareCases(again: 'restart' | 'crash') {
  return {
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
      const other = { ...old, key: 'OTHER', slots: 1 };
      await exam.execute({ kind: 'install_license', license: other, ...ADDED });
      await exam[again]();
      assert.equal(grantedOf(await exam.register('bob', { licenseId: OLD })).inUse, 1);
      assert.deepEqual(await listHolders(exam), ['bob 10', `ada ${license.id}`].sort());
    },
  };
}
