import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toWire } from '../../../src/http/reply/to-wire.ts';

test('instants become dates on the wire, and other numbers stay numbers', () => {
  assert.deepEqual(toWire({ at: 0, borrowedUntil: 8.64e15, endsAt: 8.64e15 + 1, readAt: null }), {
    at: '1970-01-01T00:00:00.000Z',
    borrowed_until: '9999-12-31T23:59:59.999Z',
    ends_at: 8.64e15 + 1,
    read_at: null,
  });
});
