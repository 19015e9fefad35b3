import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  endOfLink,
  eventId,
  isAfter,
  linkBefore,
  readPosition,
} from '../../../src/core/nouns/audit-position.ts';

test('an id is read as it was written', () => {
  for (const position of [
    { seq: 1, index: 0 },
    { seq: 123456789, index: 999 },
  ]) {
    assert.deepEqual(readPosition(eventId(position)), position);
  }
  assert.deepEqual(readPosition('12'), endOfLink(12));
});

test('an invalid id is rejected', () => {
  for (const text of ['', ' 1', '-1', '1.', '.1', '1.2.3', '1e3', '0x1', 'x', '9'.repeat(16), '1.-1']) {
    assert.equal(readPosition(text), null, text);
  }
});

test('events are ordered by link, and within a link by place', () => {
  const order = [{ seq: 1, index: 0 }, { seq: 1, index: 1 }, endOfLink(1), { seq: 2, index: 0 }];
  for (const [place, position] of order.entries()) {
    for (const [other, earlier] of order.entries()) {
      assert.equal(isAfter(position, earlier), place > other, `${place} ${other}`);
    }
  }
});

test('a reader in the middle of a link reads it again', () => {
  assert.equal(linkBefore({ seq: 5, index: 0 }), 4);
  assert.equal(linkBefore(endOfLink(5)), 5);
});
