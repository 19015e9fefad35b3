import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseMoment } from '../src/moment.ts';

const NOW = Date.parse('2026-11-16T05:30:00.000Z');

test('a period is named by dates, days and times ago, in UTC', () => {
  for (const [text, since, until] of [
    ['2026-11-15', '2026-11-15T00:00:00.000Z', '2026-11-16T00:00:00.000Z'],
    ['today', '2026-11-16T00:00:00.000Z', '2026-11-17T00:00:00.000Z'],
    [' Yesterday ', '2026-11-15T00:00:00.000Z', '2026-11-16T00:00:00.000Z'],
    ['2026-11-15T20:56:03+01:00', '2026-11-15T19:56:03.000Z', '2026-11-15T19:56:03.000Z'],
    ['2026-11-15 08:00', '2026-11-15T08:00:00.000Z', '2026-11-15T08:00:00.000Z'],
    ['90m', '2026-11-16T04:00:00.000Z', '2026-11-16T04:00:00.000Z'],
    ['24h', '2026-11-15T05:30:00.000Z', '2026-11-15T05:30:00.000Z'],
    ['7d', '2026-11-09T05:30:00.000Z', '2026-11-09T05:30:00.000Z'],
    ['2w', '2026-11-02T05:30:00.000Z', '2026-11-02T05:30:00.000Z'],
  ] as const) {
    assert.equal(new Date(parseMoment(text, 'since', NOW) ?? 0).toISOString(), since, text);
    assert.equal(new Date(parseMoment(text, 'until', NOW) ?? 0).toISOString(), until, text);
  }
});

test('anything else is none', () => {
  for (const text of ['', ' ', 'tomorrow', '2026-02-30', '2026-11', '24', 'h', '-1d', '1.5h', '0001-01-01']) {
    assert.equal(parseMoment(text, 'since', NOW), undefined, text);
  }
});
