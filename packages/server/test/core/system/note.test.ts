import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { DAY_MS, type Instant, plus } from '../../../src/core/nouns/instant.ts';
import type { License } from '../../../src/core/nouns/license.ts';
import { isExpiring, judgeDisk, judgeSlots, judgeUse, note } from '../../../src/core/system/note.ts';
import type { Note } from '../../../src/core/system-command.ts';
import { exampleLicense, NOW } from '../examples.ts';

function decide(command: Note, notedValue: number | null) {
  return note.decide(command, { notedValue }, NOW);
}

const { id: licenseId, product } = exampleLicense();
const END = plus(NOW, DAY_MS);

function expiring(validUntil: Instant): Note {
  return { kind: 'note', notice: { kind: 'license_expiring', licenseId, product, validUntil } };
}

const AWAY: Note = {
  kind: 'note',
  notice: { kind: 'cloud_unreachable', failingAt: NOW, code: 'cloud_unavailable', reason: 'timeout' },
};
const OUTAGE = { kind: 'cloud_unreachable', subject: '' };
const BACK: Note = { kind: 'note', notice: { kind: 'cloud_reachable' } };
const NOTHING = { outcome: { kind: 'done', count: 0 }, changes: [], events: [] };

describe('the end of a license', () => {
  test('is reported once', () => {
    const key = { kind: 'license_expiring', subject: String(licenseId) } as const;
    assert.deepEqual(note.needs(expiring(END)), { notice: key });
    assert.deepEqual(decide(expiring(END), null), {
      outcome: { kind: 'done', count: 1 },
      changes: [{ kind: 'put_notice', key, value: END }],
      events: [{ kind: 'license_expiring', licenseId, product, validUntil: END }],
    });
    assert.deepEqual(decide(expiring(END), END), NOTHING);
  });

  test('is reported again when it changes', () => {
    const later = plus(END, DAY_MS);
    assert.equal(decide(expiring(later), END).events.length, 1);
  });

  const cases: readonly (readonly [string, Partial<License>, boolean])[] = [
    ['for ever', { validUntil: null }, false],
    ['in exactly the configured days', { validUntil: plus(NOW, 14 * DAY_MS) }, true],
    ['a moment later', { validUntil: plus(NOW, 14 * DAY_MS + 1) }, false],
    ['in a moment', { validUntil: plus(NOW, 1) }, true],
    ['now', { validUntil: NOW }, false],
    ['now, with grace', { validUntil: NOW, allowGracePeriod: true, graceHours: 24 }, false],
    ['soon, but it is disabled', { validUntil: END, enabled: false }, false],
    ['soon, but it is not active', { validUntil: END, active: false }, false],
  ];
  for (const [when, facts, expected] of cases) {
    test(`${when}: ${expected ? 'reported' : 'not reported'}`, () => {
      assert.equal(isExpiring(exampleLicense(facts), NOW, 14), expected);
    });
  }
});

describe('an outage of the cloud', () => {
  test('is reported once, though it seems to begin again with every start of the server', () => {
    const { changes, events } = decide(AWAY, null);
    assert.deepEqual(changes, [{ kind: 'put_notice', key: OUTAGE, value: NOW }]);
    assert.deepEqual(events, [AWAY.notice]);
    assert.deepEqual(decide(AWAY, NOW - 1), NOTHING);
  });

  test('is over once, and only if it was reported', () => {
    assert.deepEqual(decide(BACK, null), NOTHING);
    assert.deepEqual(decide(BACK, NOW), {
      outcome: { kind: 'done', count: 1 },
      changes: [{ kind: 'remove_notice', key: OUTAGE }],
      events: [{ kind: 'cloud_reachable', failingAt: NOW }],
    });
  });
});

describe('a limit', () => {
  test('is reached at its percentage and left well below it', () => {
    const levels = (percent: number) => [0, 40, 79, 80, 89, 90, 100].map((n) => judgeUse(n, 100, percent));
    assert.deepEqual(levels(90), ['left', 'left', 'left', 'between', 'between', 'reached', 'reached']);
    assert.deepEqual(levels(0), Array(7).fill('left'));
    assert.deepEqual(
      [judgeUse(1, 100, 4), judgeUse(3, 100, 4), judgeUse(4, 100, 4)],
      ['left', 'between', 'reached'],
    );
    assert.equal(judgeUse(5, 0, 90), 'left', 'without a limit');
  });

  test('of a single slot is never reached', () => {
    assert.deepEqual([judgeSlots(1, 1, 90), judgeSlots(2, 2, 90)], ['left', 'reached']);
  });

  test('of a disk is left with a fifth more', () => {
    assert.deepEqual(
      [99, 100, 119, 120].map((free) => judgeDisk(free, 100)),
      ['reached', 'between', 'between', 'left'],
    );
  });
});

describe('a condition', () => {
  const part = { licenseId, product, feature: 'render', inUse: 9, slots: 10 };
  const full: Note = { kind: 'note', notice: { kind: 'license_nearly_full', ...part } };
  const room: Note = { kind: 'note', notice: { kind: 'license_has_room', ...part } };

  test('is told once until it is over, for each part of a license', () => {
    const key = { kind: 'license_nearly_full', subject: `${licenseId} render` };
    assert.deepEqual([note.needs(full), note.needs(room)], [{ notice: key }, { notice: key }]);
    assert.deepEqual(decide(full, null).changes, [{ kind: 'put_notice', key, value: NOW }]);
    assert.deepEqual(decide(full, NOW), NOTHING);
    assert.deepEqual(decide(room, NOW).changes, [{ kind: 'remove_notice', key }]);
    assert.deepEqual(decide(room, null), NOTHING);
  });
});

test('there is room below the lower limit, to the exact slot', () => {
  assert.deepEqual(
    [795, 799, 800].map((used) => judgeUse(used, 1000, 90)),
    ['left', 'left', 'between'],
  );
});
