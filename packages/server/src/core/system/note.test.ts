import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { exampleLicense, NOW } from '../examples.ts';
import { DAY_MS, type Instant, plus } from '../nouns/instant.ts';
import type { License } from '../nouns/license.ts';
import type { Note } from '../system-command.ts';
import { isExpiring, note } from './note.ts';

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
