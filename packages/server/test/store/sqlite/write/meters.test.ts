import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { instant } from '../../../../src/core/nouns/instant.ts';
import { licenseId } from '../../../../src/core/nouns/license.ts';
import { Meters } from '../../../../src/store/engine/meters.ts';
import { openWritable } from '../../../../src/store/sqlite/wire/database.ts';
import { prepareStatements } from '../../../../src/store/sqlite/write/statements.ts';

const EARLY = { feature: 'export', windowStart: instant(1000) };
const LATE = { feature: 'export', windowStart: instant(2000) };

function setUp(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'berth-meters-'));
  const db = openWritable(join(folder, 'berth.db'));
  t.after(() => {
    db.close();
    rmSync(folder, { recursive: true });
  });
  return { statements: prepareStatements(db), meters: new Meters(licenseId(7)) };
}

describe('the meters of a license', () => {
  test('keep the counts of a window when another one is used', (t) => {
    const { statements, meters } = setUp(t);
    meters.put({ ...meters.get(statements, EARLY), total: 5, pending: 5 });
    const late = meters.get(statements, LATE);
    assert.deepEqual([late.total, late.pending], [0, 5], 'another total, the same debt');
    meters.put({ ...late, total: 2, pending: 7 });
    const early = meters.get(statements, EARLY);
    assert.deepEqual([early.total, early.pending], [5, 7]);
    meters.flush(statements);
    const again = new Meters(licenseId(7));
    assert.deepEqual(again.get(statements, EARLY), early);
    assert.equal(again.get(statements, LATE).total, 2);
    assert.deepEqual([meters.changed.size, again.changed.size], [0, 0]);
  });

  test('are restored when a command is undone', (t) => {
    const { statements, meters } = setUp(t);
    meters.put({ ...meters.get(statements, EARLY), total: 5, pending: 5 });
    const { revision } = meters;
    const stepCount = meters.steps.length;
    meters.put({ ...meters.get(statements, EARLY), total: 9, pending: 9 });
    meters.addInUse(statements, 'render', 1);
    const late = meters.get(statements, LATE);
    meters.put({ ...late, total: 3, pending: 12 });
    assert.notEqual(meters.revision, revision, 'whoever kept something of it has to look again');
    meters.undoAfter(stepCount);
    const { total, pending } = meters.get(statements, EARLY);
    assert.deepEqual([total, pending], [5, 5]);
    assert.equal(meters.countInUse(statements, 'render'), 0);
    meters.flush(statements);
    assert.equal(statements.meter.find({ license_id: licenseId(7), feature: 'render' }), undefined);
  });
});
