import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { exampleLicense, NOW } from '../examples.ts';
import { DAY_MS, type Instant, plus } from '../nouns/instant.ts';
import type { License } from '../nouns/license.ts';
import type { Note } from '../system-command.ts';
import type { SystemView } from '../view.ts';
import { decideNotice, isExpiring, noticeKeyOf } from './notice.ts';

function viewOf(notedValue: number | null): SystemView {
  return {
    account: null,
    isSetUp: false,
    administrators: 0,
    token: null,
    usageSequence: 0,
    masterKeyFingerprint: null,
    notedValue,
    webhookCursor: null,
  };
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
const BACK: Note = { kind: 'note', notice: { kind: 'cloud_reachable' } };
const NOTHING = { outcome: { kind: 'done', count: 0 }, changes: [], events: [] };

describe('the end of a license', () => {
  test('is told once', () => {
    const key = { kind: 'license_expiring', subject: String(licenseId) } as const;
    assert.deepEqual(noticeKeyOf(expiring(END)), key);
    assert.deepEqual(decideNotice(expiring(END), viewOf(null), NOW), {
      outcome: { kind: 'done', count: 1 },
      changes: [{ kind: 'put_notice', key, value: END }],
      events: [{ kind: 'license_expiring', licenseId, product, validUntil: END }],
    });
    assert.deepEqual(decideNotice(expiring(END), viewOf(END), NOW), NOTHING);
  });

  test('is told again when it is another one', () => {
    const later = plus(END, DAY_MS);
    assert.equal(decideNotice(expiring(later), viewOf(END), NOW).events.length, 1);
  });

  const cases: readonly (readonly [string, Partial<License>, boolean])[] = [
    ['for ever', { validUntil: null }, false],
    ['in exactly so many days', { validUntil: plus(NOW, 14 * DAY_MS) }, true],
    ['a moment later', { validUntil: plus(NOW, 14 * DAY_MS + 1) }, false],
    ['in a moment', { validUntil: plus(NOW, 1) }, true],
    ['now', { validUntil: NOW }, false],
    ['now, with grace', { validUntil: NOW, allowGracePeriod: true, graceHours: 24 }, false],
    ['soon, but it is disabled', { validUntil: END, enabled: false }, false],
    ['soon, but it is not active', { validUntil: END, active: false }, false],
  ];
  for (const [when, facts, expected] of cases) {
    test(`${when}: ${expected ? 'worth a word' : 'nothing to tell'}`, () => {
      assert.equal(isExpiring(exampleLicense(facts), NOW, 14), expected);
    });
  }
});

describe('an outage of the cloud', () => {
  test('is told once, though it seems to begin anew with every start of the server', () => {
    const { changes, events } = decideNotice(AWAY, viewOf(null), NOW);
    assert.deepEqual(changes, [{ kind: 'put_notice', key: noticeKeyOf(AWAY), value: NOW }]);
    assert.deepEqual(events, [AWAY.notice]);
    assert.deepEqual(decideNotice(AWAY, viewOf(NOW - 1), NOW), NOTHING);
  });

  test('is over once, and only if it was told', () => {
    assert.deepEqual(decideNotice(BACK, viewOf(null), NOW), NOTHING);
    assert.deepEqual(decideNotice(BACK, viewOf(NOW), NOW), {
      outcome: { kind: 'done', count: 1 },
      changes: [{ kind: 'remove_notice', key: noticeKeyOf(AWAY) }],
      events: [{ kind: 'cloud_reachable', failingAt: NOW }],
    });
  });
});

test('how far the webhook was told is noted, and is no event', () => {
  const position = { seq: 7, index: 1 };
  const { changes, events } = decideNotice({ kind: 'set_webhook_cursor', position }, viewOf(null), NOW);
  assert.deepEqual(changes, [{ kind: 'set_webhook_cursor', position }]);
  assert.deepEqual(events, []);
});
