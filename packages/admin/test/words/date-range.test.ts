import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { readPeriod, readRange, sayRange, writeDay } from '../../src/words/date-range.ts';

const at = (text: string) => new Date(text).getTime();

describe('a period in the address', () => {
  const now = at('2026-11-19T14:32:08');

  test('covers whole days of the reader', () => {
    assert.deepEqual(readPeriod('today', now), {
      since: at('2026-11-19T00:00'),
      until: at('2026-11-20T00:00'),
    });
    assert.deepEqual(readPeriod('yesterday', now), {
      since: at('2026-11-18T00:00'),
      until: at('2026-11-19T00:00'),
    });
    assert.deepEqual(readPeriod('7d', now), { since: at('2026-11-13T00:00'), until: at('2026-11-20T00:00') });
    assert.deepEqual(readPeriod('2026-11-02..2026-11-06', now), {
      since: at('2026-11-02T00:00'),
      until: at('2026-11-07T00:00'),
    });
  });

  test('is ignored if it is no period', () => {
    for (const text of [null, '', '0d', '7', '2026-11-06..2026-11-02', '2026-02-30..2026-03-02', '..']) {
      assert.equal(readPeriod(text, now), null, String(text));
    }
  });

  test('is said in days', () => {
    const range = readRange('2026-11-02..2026-11-06');
    assert.ok(range !== null);
    assert.equal(sayRange(range, now), '2 Nov to 6 Nov');
    const day = readRange('2025-12-31..2025-12-31');
    assert.ok(day !== null);
    assert.equal(sayRange(day, now), '31 Dec 2025');
    assert.equal(writeDay(now), '2026-11-19');
  });
});
