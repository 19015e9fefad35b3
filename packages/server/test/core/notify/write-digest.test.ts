import assert from 'node:assert/strict';
import { test } from 'node:test';
import { writeDigest } from '../../../src/core/notify/write-digest.ts';
import { HOUR_MS, instant } from '../../../src/core/nouns/instant.ts';

/** In Berlin, where it is one hour later. */
const midnight = (day: number) => instant(Date.UTC(2030, 0, day) - HOUR_MS);
const period = { schedule: 'weekly', date: '2030-01-14', since: midnight(14), until: midnight(21) } as const;
const zone = 'Europe/Berlin';
const CAD = { name: 'cad', slots: 10, peak: 10, refusals: 96, enough: 13 };

test('a digest tells use, refusals, what would help and what ends, the worst first', () => {
  const licenses = [
    { name: 'render', slots: 20, peak: 3, refusals: 0, enough: null },
    { name: 'simulate', slots: 4, peak: 4, refusals: 1, enough: 4 },
    CAD,
    { name: 'x\ny', slots: 10, peak: 9, refusals: 0, enough: null },
  ];
  const ending = [{ what: 'The license cad', endsAt: instant(Date.UTC(2030, 1, 1)) }];
  const { title, lines, severity } = writeDigest({ id: 'd', period, zone, licenses, ending });
  assert.equal(title, 'Weekly digest: 97 refusals, 1 to renew');
  assert.equal(severity, 'info');
  assert.deepEqual(lines, [
    'Mon 14 Jan to Sun 20 Jan:',
    'cad: at most 10 of 10 slots in use; 96 refusals. With 13 slots, no one would have been refused.',
    'simulate: at most 4 of 4 slots in use; 1 refusal.',
    'x\\u{a}y: at most 9 of 10 slots in use.',
    'render: at most 3 of 20 slots in use.',
    'The license cad ends on Fri 1 Feb.',
  ]);
});

test('a quiet week is told, too', () => {
  const quiet = writeDigest({ id: 'd', period, zone, licenses: [], ending: [] });
  assert.equal(quiet.title, 'Weekly digest: no one was refused');
  assert.deepEqual(quiet.lines.slice(1), ['This server has no licenses.']);
  const many = Array.from({ length: 33 }, () => CAD);
  assert.equal(
    writeDigest({ id: 'd', period, zone, licenses: many, ending: [] }).lines.at(-1),
    'And 3 more licenses and features.',
  );
});

test('a digest names its span', () => {
  const name = (schedule: 'daily' | 'monthly', until: number) => {
    const facts = { id: 'd', zone, licenses: [], ending: [] };
    const { title, lines } = writeDigest({
      ...facts,
      period: { ...period, schedule, until: midnight(until) },
    });
    return [title, lines[0]];
  };
  assert.deepEqual(name('daily', 15), ['Daily digest: no one was refused', 'Mon 14 Jan:']);
  assert.deepEqual(name('monthly', 32), ['Monthly digest: no one was refused', 'Mon 14 Jan to Thu 31 Jan:']);
});
