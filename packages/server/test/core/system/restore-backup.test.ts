import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { plus } from '../../../src/core/nouns/instant.ts';
import type { License } from '../../../src/core/nouns/license.ts';
import { restoreBackup } from '../../../src/core/system/restore-backup.ts';
import { exampleLicense, NOW } from '../examples.ts';

const event = { kind: 'backup_restored', madeAt: NOW, madeBy: '1', replacedAt: null, by: 'root' } as const;

function license(source: License['source'], tie: Partial<License['tie']>): License {
  const { tie: whole, ...facts } = exampleLicense({ source });
  return { ...facts, tie: { ...whole, ...tie } };
}

/** The ties that are changed. */
function restore(restored: License, givenBack: readonly License[] = []) {
  const command = { kind: 'restore_backup', event, givenBack } as const;
  const { outcome, changes, events } = restoreBackup.decide(command, { licenses: [restored] }, NOW);
  assert.deepEqual([outcome, events], [{ kind: 'done', count: changes.length }, [event]]);
  return changes.map((change) => (change.kind === 'put_tie' ? change.license : null));
}

describe('data from a backup', () => {
  test('licenses of a cloud must be checked before they count', () => {
    const cloud = license('cloud', {});
    assert.deepEqual(restore(cloud), [{ ...cloud, tie: { ...cloud.tie, restoredAt: NOW } }]);
    assert.deepEqual(restore(license('offline', {})), []);
  });

  test('what was given back stays given back, with what brought it here', () => {
    const file = { fileAt: NOW, requestId: 'r', confirmationId: 'c' };
    const returned = license('offline', { ...file, isGivenBack: true });
    const old = license('offline', { fileAt: NOW, requestId: 'q' });
    assert.deepEqual(restore(old, [returned]), [{ ...old, tie: { ...old.tie, ...file, isGivenBack: true } }]);
    assert.deepEqual(
      restore(license('offline', { fileAt: plus(NOW, 1) }), [returned]),
      [],
      'by a newer file',
    );
    assert.deepEqual(restore({ ...old, id: 9 as License['id'] }, [returned]), []);
  });

  test('a license of a cloud comes again by a later check only', () => {
    const isBack = (checkedAt: License['tie']['checkedAt'], returnedAt: License['tie']['checkedAt']) =>
      restore(license('cloud', { checkedAt }), [license('cloud', { checkedAt: returnedAt })])[0]?.tie
        .isGivenBack;
    assert.equal(isBack(NOW, NOW), true);
    assert.equal(isBack(null, NOW), true);
    assert.equal(isBack(null, null), true);
    assert.notEqual(isBack(plus(NOW, 1), NOW), true);
    assert.notEqual(isBack(NOW, null), true);
  });
});
