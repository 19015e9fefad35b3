import assert from 'node:assert/strict';
import { HOUR_MS, plus } from '../../../src/core/nouns/instant.ts';
import { NOW } from '../../core/examples.ts';
import { bar, unbar } from './bars.ts';
import { YEAR_MS } from './clock.ts';
import { codeOf, type ExamStore } from './exam-store.ts';
import { deny } from './rules.ts';

/** With a single server, all commands have one order, whatever they are about. */
export const ONE_ORDER = {
  'rules apply to later commands, even in the same batch': async (exam: ExamStore) => {
    await exam.install({ product: 'cad' });
    const outcomes = await Promise.all([
      exam.register('ada'),
      deny(exam, { users: ['a*'] }),
      exam.register('ann'),
      deny(exam, {}),
      exam.register('ann'),
    ]);
    assert.deepEqual(outcomes.map(codeOf), ['granted', 'done', 'blacklisted', 'done', 'granted']);
  },

  'bars apply to later commands, even in the same batch': async (exam: ExamStore) => {
    await exam.install({ product: 'cad' });
    const outcomes = await Promise.all([
      bar(exam, 'a*'),
      exam.register('ann'),
      unbar(exam, 'A*'),
      exam.register('ann'),
    ]);
    assert.deepEqual(outcomes.map(codeOf), ['done', 'blacklisted', 'done', 'granted']);
  },

  'counts in the same batch as a clock reset use the right window': async (exam: ExamStore) => {
    const license = await exam.install();
    await exam.consume(5);
    await exam.restart(() => exam.clock.setWall(plus(exam.clock.readWall(), YEAR_MS)));
    await exam.consume(2);
    exam.clock.setWall(plus(exam.clock.readWall(), -YEAR_MS));
    const reset = exam.execute({ kind: 'reset_clock', by: 'admin' });
    await Promise.all([reset, exam.consume(1), exam.consume(1)]);
    assert.equal((await exam.readTotals(license)).total, 7);
    assert.equal(await exam.cutReport(license, 'r'), 9);
  },

  'a clock command that throws moves no time': async (exam: ExamStore) => {
    const by = 10n as unknown as string;
    await exam.install();
    await exam.register('ada');
    const before = await exam.listSlots();
    exam.clock.setWall(plus(NOW, HOUR_MS));
    await assert.rejects(exam.execute({ kind: 'accept_clock', by }));
    exam.clock.setWall(plus(NOW, -HOUR_MS));
    await assert.rejects(exam.execute({ kind: 'reset_clock', by }));
    assert.equal(await exam.now(), NOW);
    assert.deepEqual(await exam.listSlots(), before);
  },
};
