import assert from 'node:assert/strict';
import { test } from 'node:test';
import { licenseId } from '../../../../src/core/nouns/license.ts';
import { RowTable } from '../../../../src/store/postgres/write/row-table.ts';

const LICENSE = licenseId(1);
const rowOf = (user: string, endsAt: number) => ({ license_id: LICENSE, user, ends_at: endsAt });

/** Knows the two that end first, of more. */
function knowTwo(): RowTable {
  const table = new RowTable('registration', () => {});
  table.learnSoonest(LICENSE, [rowOf('ada', 10), rowOf('bob', 20)], 2);
  return table;
}

test('nothing ends before the first of those that end first', () => {
  const table = knowTwo();
  assert.deepEqual([table.boundEnds(LICENSE), table.findEnd(LICENSE, 0)], [10, 10]);
});

test('after all of them were renewed, nothing ends before the last of them would have', () => {
  const table = knowTwo();
  for (const user of ['ada', 'bob']) table.renew(rowOf(user, 90));
  assert.deepEqual([table.boundEnds(LICENSE), table.findEnd(LICENSE, 0)], [20, undefined]);
});

test('where all are known, the bound is the next end; without any, there is none', () => {
  const table = new RowTable('registration', () => {});
  assert.equal(table.boundEnds(LICENSE), undefined, 'nothing was read');
  table.learnSoonest(LICENSE, [rowOf('ada', 10)], 2);
  table.renew(rowOf('ada', 90));
  assert.equal(table.boundEnds(LICENSE), 90);
  table.remove(rowOf('ada', 90));
  assert.equal(table.boundEnds(LICENSE), null);
});

test('what ends soon says nothing of later ends', () => {
  const table = new RowTable('registration', () => {});
  table.learnSoonest(LICENSE, [rowOf('ada', 10)], 2, 50);
  assert.deepEqual(table.listEnded(LICENSE, 49, 2), [rowOf('ada', 10)]);
  assert.deepEqual([table.listEnded(LICENSE, 50, 2), table.findEnd(LICENSE, 10)], [undefined, undefined]);
  table.renew(rowOf('ada', 90));
  assert.deepEqual([table.listEnded(LICENSE, 49, 2), table.boundEnds(LICENSE)], [[], 50]);
});
