import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Gathering, MAX_SUBJECTS, MAX_USERS } from '../../../src/core/notify/gather.ts';
import { writeMessage } from '../../../src/core/notify/write-message.ts';
import type { RecordedEvent } from '../../../src/core/nouns/audit-event.ts';
import { instant, MINUTE_MS, plus } from '../../../src/core/nouns/instant.ts';
import { licenseId } from '../../../src/core/nouns/license.ts';
import { TOPIC_NAMES } from '../../../src/core/nouns/topics.ts';

const NOW = instant(Date.UTC(2030, 0, 15, 12));
const CONTEXT = { zone: 'Europe/Berlin', now: NOW, nameOf: (id: number) => `cad-${id}`, told: {} };

function denied(user: string | null, facts: object = {}): RecordedEvent {
  return {
    kind: 'slot_denied',
    user,
    code: 'floating_not_available',
    repeated: 0,
    ...facts,
  } as RecordedEvent;
}

function gather(events: readonly RecordedEvent[], topics = TOPIC_NAMES): Gathering {
  const gathering = new Gathering(topics);
  for (const event of events) gathering.add({ licenseId: 1, at: plus(NOW, -MINUTE_MS), event });
  return gathering;
}

function write(events: readonly RecordedEvent[], facts: object = {}) {
  return writeMessage(gather(events), 'id', { ...CONTEXT, ...facts });
}

const JUMP = {
  kind: 'clock_jumped',
  direction: 'ahead',
  serverAt: NOW,
  wallAt: plus(NOW, 60 * MINUTE_MS),
  followed: false,
} as const;

describe('what is gathered', () => {
  test('counts every refusal once, recorded or only counted', () => {
    const events = [
      denied('ann'),
      denied('bob', { repeated: 4 }),
      denied('ann'),
      { kind: 'denials_repeated', user: null, code: 'floating_not_available', repeated: 90 } as const,
    ];
    const [subject] = gather(events).subjectsOf('slot_denied');
    assert.deepEqual([subject?.count, subject?.users.size], [97, 2]);
    assert.deepEqual(write(events).lines, [
      '97 refusals of cad-1 in the last minute, 2 users: all slots are in use.',
    ]);
  });

  test('keeps features and licenses apart, and leaves other topics out', () => {
    const gathering = gather([denied('ann'), denied('ann', { feature: 'render' }), JUMP], ['slot_denied']);
    gathering.add({ licenseId: 2, at: NOW, event: denied('ann') });
    assert.deepEqual(gathering.topics, ['slot_denied']);
    const { lines } = writeMessage(gathering, 'id', CONTEXT);
    assert.deepEqual(
      lines.map((line) => line.replace(/:.*/, '')),
      ['cad-1', 'render of cad-1', 'cad-2'].map((what) => `ann was refused a slot of ${what}`),
    );
  });

  test('is bounded, and still loses no count', () => {
    const users = Array.from({ length: MAX_USERS + 5 }, (_, at) => denied(`u${at}`));
    assert.match(write(users).lines[0] as string, /^1,005 refusals .*, more than 1,000 users:/);
    const gathering = new Gathering(TOPIC_NAMES);
    for (let id = 1; id <= MAX_SUBJECTS + 7; id += 1)
      gathering.add({ licenseId: id, at: NOW, event: denied('ann', { repeated: 1 }) });
    assert.equal(gathering.countOthers('slot_denied'), 14);
    const { lines, title } = writeMessage(gathering, 'id', CONTEXT);
    assert.equal(lines.length, 21);
    assert.match(title, /\(and 50 more\)$/);
    // 30 licenses and features with two each, and the 14.
    assert.equal(lines.at(-1), 'And 74 more refusals, elsewhere.');
  });

  test('is told with the largest counts first, and what is cut off in sum', () => {
    const gathering = new Gathering(TOPIC_NAMES);
    for (let id = 1; id <= 25; id += 1) {
      gathering.add({ licenseId: id, at: NOW, event: denied('ann', { repeated: id }) });
      const full = {
        kind: 'license_nearly_full',
        product: 'cad',
        feature: null,
        inUse: 9,
        slots: 10,
      } as const;
      if (id <= 3) gathering.add({ licenseId: id, at: NOW, event: { ...full, licenseId: licenseId(id) } });
    }
    const { lines } = writeMessage(gathering, 'id', CONTEXT);
    assert.match(lines[0] as string, /^26 refusals of cad-25 /);
    const told = lines.slice(0, 20).map((line) => Number(/^\d+/.exec(line)?.[0]));
    assert.deepEqual(
      told,
      Array.from({ length: 20 }, (_, at) => 26 - at),
    );
    assert.equal(lines.at(-1), 'And 20 more refusals and 3 more events, elsewhere.');
  });

  test('is told in the singular if one is cut off', () => {
    const gathering = new Gathering(TOPIC_NAMES);
    for (let id = 1; id <= 21; id += 1) gathering.add({ licenseId: id, at: NOW, event: denied('ann') });
    assert.equal(writeMessage(gathering, 'id', CONTEXT).lines.at(-1), 'And 1 more refusal, elsewhere.');
  });
});

describe('a message', () => {
  test('says "more" when the topic was told recently', () => {
    const events = [denied('ann'), denied('bob')];
    const told = (minutes: number) => ({ told: { slot_denied: plus(NOW, -minutes * MINUTE_MS) } });
    assert.match(write(events, told(10)).lines[0] as string, /^2 more refusals of/);
    assert.match(write(events, told(61)).lines[0] as string, /^2 refusals of/);
  });

  test('says why only if that was the same for all', () => {
    const events = [denied('ann'), denied('bob', { code: 'user_barred' })];
    assert.deepEqual(write(events).lines, ['2 refusals of cad-1 in the last minute, 2 users.']);
    assert.deepEqual(write([...events, denied('ann')]).lines, [
      '3 refusals of cad-1 in the last minute, 2 users.',
    ]);
  });

  test('says of what does not end how often it happened', () => {
    assert.match(write([JUMP, JUMP]).lines[0] as string, /13:00 \(2 times\)\.$/);
  });

  test('keeps why a backup failed next to one that is overdue', () => {
    const events = [
      { kind: 'backup_failed', reason: 'No room.' } as const,
      { kind: 'backup_overdue', dueAt: NOW } as const,
    ];
    assert.deepEqual(write(events).lines, [
      'The backup failed: No room.',
      'The backup that was due Tue 15 Jan, 13:00 was not made.',
    ]);
  });

  test('says how long ago the first refusal was', () => {
    const spans = [1, 119, 120, 47 * 60, 48 * 60].map((minutes) => {
      const { lines } = write([denied('ann'), denied('bob')], { now: plus(NOW, (minutes - 1) * MINUTE_MS) });
      return / in the last (.*), 2 users/.exec(lines[0] as string)?.[1];
    });
    assert.deepEqual(spans, ['minute', '119 minutes', '2 hours', '47 hours', '2 days']);
  });

  test('names nobody who is not known', () => {
    assert.match(write([denied(null)]).title, /^Someone was refused a slot of cad-1: /);
    assert.match(write([denied(null), denied(null)]).title, /^2 refusals of cad-1 in the last minute: /);
  });

  test('has a title of bounded length', () => {
    const { title, lines } = write([denied('ann')], { nameOf: () => 'c'.repeat(1000) });
    assert.match(title, /^ann was refused a slot of c+…$/);
    assert.ok(title.length <= 200, title);
    assert.match(lines[0] as string, /c{1000}/);
  });

  test('begins with what is critical', () => {
    const { severity, title, lines } = write([denied('ann'), JUMP]);
    assert.equal(severity, 'critical');
    const clock =
      'The clock of the machine is ahead: it says Tue 15 Jan, 14:00, and the server Tue 15 Jan, 13:00';
    assert.equal(title, `${clock} (and 1 more)`);
    assert.equal(lines[0], `${clock}.`);
    assert.equal(write([denied('ann')]).severity, 'warning');
  });

  test('tells what is true now of a condition that came and went', () => {
    const part = { licenseId: licenseId(3), product: 'cad', feature: null, slots: 10 };
    const { lines, severity } = write([
      { kind: 'license_nearly_full', ...part, inUse: 9 },
      { kind: 'license_has_room', ...part, inUse: 7 },
    ]);
    assert.deepEqual(lines, ['cad-3 has room again: 7 of 10 slots are in use (changed 2 times).']);
    assert.equal(severity, 'info');
  });

  test('stays one line whatever names contain', () => {
    const { title, lines } = write([denied('ann\r\nBcc: all@example.com\u2028x\u202e')], {
      nameOf: () => 'cad\r\nX: y',
    });
    for (const text of [title, ...lines]) assert.doesNotMatch(text, /[\r\n\u2028\u202e]/);
    assert.match(title, /\\u\{d\}\\u\{a\}Bcc/);
  });

  test('has a sentence for every kind of event', () => {
    const at = NOW;
    const id = licenseId(1);
    const host = { hostname: 'lic-01', folder: '/data', freeMegabytes: 1500 };
    const used = { licenseId: id, product: 'cad', feature: 'render', total: 95, max: 100 };
    const events: readonly RecordedEvent[] = [
      { kind: 'license_expiring', licenseId: id, product: 'cad', validUntil: at },
      { kind: 'token_expiring', tokenId: 't1', name: null, expiresAt: at },
      { kind: 'cloud_unreachable', failingAt: at, code: 'c', reason: 'timeout' },
      { kind: 'certificate_expiring', hostname: 'lic-01', fingerprint: 'f', validUntil: at },
      { kind: 'certificate_missing', licenseId: id, product: 'cad', kid: null },
      { kind: 'disk_space_low', ...host },
      { kind: 'consumption_nearly_used_up', ...used },
      { kind: 'backup_overdue', dueAt: at },
    ];
    assert.deepEqual(write(events).lines, [
      'The licensing cloud has not been reached since Tue 15 Jan, 13:00 (timeout).',
      'The disk of /data on lic-01 is filling up: 1,500 MB are free.',
      'The vendor no longer certifies a key for cad-1.',
      'The backup that was due Tue 15 Jan, 13:00 was not made.',
      'The license cad-1 ends on Tue 15 Jan.',
      'The token t1 ends on Tue 15 Jan.',
      'The TLS certificate of lic-01 ends on Tue 15 Jan.',
      '95 of 100 of render of cad-1 are used up.',
    ]);
  });

  test('also if it is about a change for the better', () => {
    const id = licenseId(1);
    const part = { licenseId: id, product: 'cad', feature: null };
    const events: readonly RecordedEvent[] = [
      { kind: 'cloud_reachable', failingAt: NOW },
      { kind: 'cloud_reachable', failingAt: NOW, reason: 'not_configured' },
      { kind: 'disk_space_recovered', hostname: 'lic-01', folder: '/data', freeMegabytes: 1500 },
      { kind: 'certificate_wrong', licenseId: id, product: 'cad', kid: 'k' },
      { kind: 'certificate_right', licenseId: id, product: 'cad', kid: 'k', after: 'certificate_missing' },
      { kind: 'license_nearly_full', ...part, inUse: 9, slots: 10 },
      { kind: 'consumption_has_room', ...part, total: 1, max: 100 },
      { kind: 'groups_outdated', groups: ['cad'], answeredAt: NOW, reason: 'Away.' },
      { kind: 'groups_outdated', groups: ['cad', 'cam', 'cae'], answeredAt: NOW, reason: 'Away.' },
      { kind: 'groups_up_to_date' },
    ];
    assert.deepEqual(
      events.flatMap((event) => write([event]).lines),
      [
        'The licensing cloud is reached again; it was away since Tue 15 Jan, 13:00.',
        'The licensing cloud is no longer used; it was away since Tue 15 Jan, 13:00.',
        'The disk of /data on lic-01 has room again: 1,500 MB are free.',
        'The vendor has certified another key for cad-1.',
        'The vendor certifies the key for cad-1 again.',
        '9 of 10 slots of cad-1 are in use.',
        'cad-1 can be consumed again: 1 of 100 are used up.',
        'The directory has not told who is in cad since Tue 15 Jan, 13:00: Away.',
        'The directory has not told who is in cad and 2 more since Tue 15 Jan, 13:00: Away.',
        'The directory tells again who is in the groups of the rules.',
      ],
    );
  });
});
