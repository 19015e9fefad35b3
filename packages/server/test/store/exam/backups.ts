import assert from 'node:assert/strict';
import type { Command } from '../../../src/core/command.ts';
import { type Instant, plus } from '../../../src/core/nouns/instant.ts';
import { licenseId, NO_TIE } from '../../../src/core/nouns/license.ts';
import { backupKey } from '../../../src/core/nouns/notice-key.ts';
import { consume, NOW } from '../../core/examples.ts';
import type { ExamStore } from './exam-store.ts';

async function count(exam: ExamStore, command: Command): Promise<number> {
  const outcome = await exam.execute(command);
  return outcome.kind === 'done' ? outcome.count : Number.NaN;
}

const FAILED: Command = { kind: 'note', notice: { kind: 'backup_failed', reason: 'The disk is full.' } };

function made(file: string | null): Command {
  return { kind: 'note', notice: { kind: 'backup_made', file, bytes: 1, withKey: false, by: 'ada' } };
}

const RESTORED = {
  kind: 'backup_restored',
  madeAt: NOW,
  madeBy: '1',
  replacedAt: null,
  by: 'ada',
} as const;

/** What is remembered of backups is there after the store was opened anew. */
export function backupCases(again: 'restart' | 'crash') {
  return {
    'that backups fail is told once until one succeeds': async (exam: ExamStore) => {
      assert.equal(await count(exam, FAILED), 1);
      await exam[again]();
      assert.equal(await count(exam, FAILED), 0);
      assert.equal(await count(exam, made(null)), 1, 'one on request changes nothing about the schedule');
      assert.equal(await count(exam, FAILED), 0);
      assert.equal(await count(exam, made('/backups/one')), 1);
      assert.equal(await count(exam, FAILED), 1);
      const key = backupKey('schedule');
      assert.equal(await exam.store.read({ kind: 'find_notice', key }), exam.clock.readWall());
    },
    'after a restore, only what a cloud vouches for counts at once': async (exam: ExamStore) => {
      const license = await exam.install({ source: 'cloud', type: 'consumption' });
      assert.equal(await count(exam, { kind: 'restore_backup', event: RESTORED, givenBack: [] }), 1);
      await exam[again]();
      const refused = await exam.execute(consume(1));
      assert.equal(refused.kind === 'refused' && refused.code, 'license_check_overdue');
      const granted = await exam.register('ada');
      assert.equal(granted.kind, 'granted', 'lending does not wait');
      await exam.execute({ kind: 'install_license', license, by: 'cloud' });
      assert.equal((await exam.execute(consume(1))).kind, 'measured');
    },
    'after a restore, what was given back since is marked, unless it has come again': async (
      exam: ExamStore,
    ) => {
      const install = (id: number, fileAt: Instant) =>
        exam.install({ id: licenseId(id), source: 'offline', tie: { ...NO_TIE, fileAt, requestId: 'old' } });
      const [old, renewed, other] = [install(1, NOW), install(2, plus(NOW, 2)), install(3, NOW)];
      await other;
      const returned = { fileAt: plus(NOW, 1), requestId: 'last', isGivenBack: true };
      const givenBack = [await old, await renewed].map((license) => {
        return { ...license, tie: { ...license.tie, ...returned } };
      });
      assert.equal(await count(exam, { kind: 'restore_backup', event: RESTORED, givenBack }), 1);
      await exam[again]();
      const ties = (await exam.listLicenses()).map(({ license: { id, tie } }) => [
        id,
        tie.isGivenBack,
        tie.fileAt,
        tie.requestId,
      ]);
      assert.deepEqual(ties.sort(), [
        [1, true, plus(NOW, 1), 'last'],
        [2, false, plus(NOW, 2), 'old'],
        [3, false, NOW, 'old'],
      ]);
    },
  };
}
