import assert from 'node:assert/strict';
import { test } from 'node:test';
import { countChanges, repeatOf, sayFixed } from '../../src/words/settings.ts';

test('a fixed value says where it is fixed', () => {
  const say = (source: 'flag' | 'environment' | 'file' | 'stored' | 'default', place: string | null) =>
    sayFixed({ name: 'backup.keep', source, place });
  assert.equal(say('file', '/etc/berth/berth.yaml'), 'Fixed by backup.keep in /etc/berth/berth.yaml');
  assert.equal(say('environment', 'BERTH_BACKUP_KEEP'), 'Fixed by the variable BERTH_BACKUP_KEEP');
  assert.equal(say('flag', '--backup-keep'), 'Fixed by the flag --backup-keep');
  assert.deepEqual([say('stored', null), say('default', null)], [null, null]);
});

test('changes are counted and named, and schedules recognized', () => {
  assert.equal(countChanges(['page.name']), 'One change is not saved: page.name.');
  assert.equal(countChanges(['a', 'b']), '2 changes are not saved: a, b.');
  assert.deepEqual(['', '02:00', '6h'].map(repeatOf), ['never', 'daily', 'every']);
});
