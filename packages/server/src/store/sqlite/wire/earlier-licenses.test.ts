import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { copyEarlierData } from '../../../../../../test/support/earlier-data/open.ts';
import { DEMO_LICENSE } from '../../../core/nouns/demo-license.ts';
import type { License } from '../../../core/nouns/license.ts';
import { openWritable } from './database.ts';

/** The names of all members at any depth, as "features.floating.slots". */
function listPaths(value: unknown, at: readonly string[] = []): string[] {
  if (typeof value !== 'object' || value === null) return [at.join('.')];
  if (Array.isArray(value)) return value.flatMap((item) => listPaths(item, at));
  return Object.entries(value).flatMap(([name, member]) => listPaths(member, [...at, name]));
}

test('a license that an earlier release stored has every fact that licenses have now', (t) => {
  const db = openWritable(join(copyEarlierData(t).server, 'berth.db'));
  t.after(() => db.close());
  const rows = db.prepare('SELECT facts FROM license').all();
  const stored = rows.map(({ facts }) => JSON.parse(String(facts)) as License);
  const known = new Set(listPaths(stored.find(({ source }) => source === 'demo')));
  assert.deepEqual(
    listPaths(DEMO_LICENSE).filter((path) => !known.has(path)),
    [],
    'A migration adds them: UPDATE license SET facts = json_set(facts, …).',
  );
});
