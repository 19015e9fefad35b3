import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readProducts, sayLimit, sayRole } from '../../src/words/role.ts';

test('a role names the products that it is limited to', () => {
  assert.equal(sayRole({ role: 'operator', products: null }), 'operator');
  assert.equal(sayRole({ role: 'operator', products: ['cad', 'cam'] }), 'operator of cad, cam');
  assert.equal(sayLimit(['cad']), 'Limited to cad');
  assert.equal(sayLimit(['a', 'b', 'c', 'd', 'e']), 'Limited to a, b, c and 2 more');
});

test('only operators are limited, and only to products that were typed', () => {
  assert.deepEqual(readProducts('operator', ' cad,, cam '), ['cad', 'cam']);
  assert.equal(readProducts('operator', ' , '), undefined);
  assert.equal(readProducts('viewer', 'cad'), undefined);
});
