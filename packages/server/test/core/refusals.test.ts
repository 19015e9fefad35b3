import assert from 'node:assert/strict';
import { test } from 'node:test';
import { refuseFull } from '../../src/core/refusals.ts';

test('a refusal counts in the singular, too', () => {
  const message = (slots: number) =>
    refuseFull({ name: 'cad', slots, inUse: slots, nextFreeAt: null }).message;
  assert.match(message(1), /^The only slot of "cad" is in use \(1\)\.$/);
  assert.match(message(2), /^All 2 slots of "cad" are in use \(2\)\.$/);
});
