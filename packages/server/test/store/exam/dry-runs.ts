import assert from 'node:assert/strict';
import { MINUTE_MS } from '../../../src/core/nouns/instant.ts';
import { codeOf, type ExamStore, grantedOf } from './exam-store.ts';
import { installPool } from './pools.ts';

const DRY = { isDryRun: true } as const;

/** What a server may be asked without any effect. */
export const DRY_RUNS = {
  'a slot is not lent, and a refusal is not recorded': async (exam: ExamStore) => {
    const license = await exam.install({ slots: 1 });
    grantedOf(await exam.register('ada', DRY));
    grantedOf(await exam.register('bob', DRY));
    assert.deepEqual(await exam.listUsers(), []);
    await exam.register('ada');
    assert.equal(codeOf(await exam.register('bob', DRY)), 'floating_not_available');
    const events = await exam.listEvents(license.id);
    assert.deepEqual(
      events.map(({ kind }) => kind),
      ['license_added', 'slot_lent'],
    );
    assert.equal(exam.store.tally.denials.get('floating_not_available'), 0);
  },

  'a slot is not renewed': async (exam: ExamStore) => {
    await exam.install();
    const { endsAt } = grantedOf(await exam.register('ada')).registration;
    exam.clock.advance(MINUTE_MS);
    assert.ok(grantedOf(await exam.register('ada', DRY)).registration.endsAt > endsAt);
    assert.equal((await exam.findSlot('ada'))?.endsAt, endsAt);
  },

  'a pool lends nothing either, nor a feature': async (exam: ExamStore) => {
    await installPool(exam, { slots: 1 }, { slots: 1 });
    grantedOf(await exam.register('ada', DRY));
    const { license } = grantedOf(await exam.register('bob'));
    assert.equal((await exam.registerFeature('bob', DRY)).kind, 'measured');
    assert.equal(await exam.countFeatureSlots(license), 0);
    assert.deepEqual(await exam.listUsers(), ['bob']);
  },
};
