import assert from 'node:assert/strict';
import { test } from 'node:test';
import { attachAll } from '../../src/compose/write-reports.ts';

test('a report that is too long in bytes is left out, which the digest says', () => {
  const short = { name: 'a.csv', content: 'a' };
  // Two bytes for each character.
  const long = { name: 'b.csv', content: 'ä'.repeat(1024 * 1024 + 1) };
  assert.deepEqual(attachAll([short, long], ['c is cut.']), {
    files: [short],
    remarks: ['c is cut.', 'b.csv is too long to be attached.'],
  });
});
