import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { WhatIf } from '@berth/protocol/admin/history';
import { chooseColumns, sayFound, sayLineFigure, sayNeed, sayWhatIf } from '../../src/words/what-if.ts';

const HOUR_MS = 3_600_000;

const SUBJECT = { license_id: 1, product: 'cad', name: 'CAD', feature: null };

const NO_WAITS = {
  ...SUBJECT,
  served: 0,
  median_ms: null,
  p90_ms: null,
  longest_ms: null,
  unserved: 0,
  unserved_median_ms: null,
  unserved_longest_ms: null,
};

/** One denial less for each slot, up to the number that is enough. */
function whatIf(slots: number, enough: number, asked = Math.max(0, enough - slots)): WhatIf {
  const curve = Array.from({ length: Math.max(slots, enough) }, (_, index) => {
    const denials = Math.max(0, enough - index - 1);
    return { slots: index + 1, denials, waiting_ms: denials * HOUR_MS };
  });
  return { ...SUBJECT, slots, enough, asked, median_ms: 5 * HOUR_MS, waits: NO_WAITS, curve };
}

describe('the what-if table', () => {
  for (const [slots, enough] of [
    [24, 35],
    [24, 300],
    [300, 24],
    [1, 1],
    [24, 26],
    [60, 2],
  ] as const) {
    test(`shows ${slots} slots, and the ${enough} that the heading names`, () => {
      const columns = chooseColumns(whatIf(slots, enough)).map((column) => column.slots);
      assert.ok(columns.length <= 10, `${columns}`);
      for (const number of [slots, enough]) assert.ok(columns.includes(number), `${columns}`);
      assert.deepEqual(
        columns,
        [...new Set(columns)].sort((a, b) => a - b),
      );
    });
  }
});

describe('what the report says', () => {
  test('how many slots are needed', () => {
    const need = (slots: number, enough: number) => sayNeed('CAD', whatIf(slots, enough), 'a month');
    assert.equal(need(24, 35), 'CAD needs 35 slots for a month without denials');
    assert.equal(need(24, 20), 'CAD has enough slots: 20 would do for a month');
    assert.equal(need(24, 24), 'CAD has just enough slots for a month');
    assert.equal(need(24, 0), 'CAD lent no slots');
  });

  test('what happened, and what would have happened', () => {
    const changed = whatIf(24, 35, 40);
    assert.match(sayFound(changed, null), /^It has 24 slots, and 40 times somebody found all of them in use/);
    const text = sayWhatIf(changed);
    assert.match(
      text,
      /^The slots have changed: with today's 24, 11 requests would have been refused\. With 35: no/,
    );
    assert.match(text, /instead of 11, and no waiting instead of 11 h in all\. .*for 5 h, /);
    assert.match(sayWhatIf(whatIf(24, 35)), /^With 35: no denials instead of 11,/);
    assert.match(sayWhatIf(whatIf(24, 20)), /^Replayed /);
    const waits = { ...NO_WAITS, served: 1 };
    const served = /^1 user waited in line and got a slot, which counts as served\. Replayed /;
    assert.match(sayWhatIf({ ...whatIf(24, 20), waits }), served);
  });

  test('how long users waited in line', () => {
    const waits = { ...NO_WAITS, served: 310, median_ms: 3000 };
    assert.deepEqual(sayLineFigure(waits), ['3 s', 'by 310 who got a slot']);
    const some = { ...waits, unserved: 12 };
    assert.deepEqual(sayLineFigure(some), ['3 s', 'by 310 who got a slot, 12 gave up']);
    const none = { ...NO_WAITS, unserved: 2, unserved_median_ms: 120_000 };
    assert.deepEqual(sayLineFigure(none), ['2 min', 'by 2, who all gave up']);
  });
});
