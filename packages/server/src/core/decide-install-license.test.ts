import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { decide } from './decide.ts';
import { decideAddLicense } from './decide-install-license.ts';
import { exampleLicense, exampleSlot, exampleView, NOW, type ViewFacts } from './examples.ts';
import { HOUR_MS, plus } from './instant.ts';
import type { License } from './license.ts';

function install(license: License) {
  return { kind: 'install_license', license, by: 'admin' } as const;
}

function changeTo(license: License, facts: ViewFacts = {}) {
  return decide(install(license), exampleView(facts, null), NOW);
}

describe('a license is installed', () => {
  test('a new one', () => {
    const license = exampleLicense();
    assert.deepEqual(decideAddLicense(install(license), exampleView({ license }, null), NOW), {
      outcome: { kind: 'done', count: 1 },
      changes: [{ kind: 'put_license', license }],
      events: [{ kind: 'license_added', product: 'cad', slots: 2, by: 'admin' }],
    });
  });

  test('the same again changes nothing and leaves no event', () => {
    const ended = [exampleSlot('ada', { endsAt: NOW })];
    assert.deepEqual(changeTo(exampleLicense(), { slots: ended }), {
      outcome: { kind: 'done', count: 0 },
      changes: [],
      events: [],
    });
  });

  test('other facts: the event names them', () => {
    const license = exampleLicense({ slots: 9, enabled: false });
    const { changes, events } = changeTo(license);
    assert.deepEqual(changes, [{ kind: 'put_license', license }]);
    assert.deepEqual(events, [
      { kind: 'license_changed', changed: ['slots', 'enabled'], slots: 9, by: 'admin' },
    ]);
  });

  test('fewer slots throw nobody out', () => {
    const license = exampleLicense({ slots: 1 });
    const { changes } = changeTo(license, { slots: [exampleSlot('ada'), exampleSlot('bob')] });
    assert.deepEqual(changes, [{ kind: 'put_license', license }]);
  });

  test('a shorter validity ends what is held by then, grace included', () => {
    const validUntil = plus(NOW, HOUR_MS);
    const strict = changeTo(exampleLicense({ validUntil }));
    assert.deepEqual(strict.changes.at(-1), { kind: 'end_registrations_by', endsBy: validUntil });
    const graceful = changeTo(exampleLicense({ validUntil, allowGracePeriod: true, graceHours: 2 }));
    const endsBy = plus(NOW, 3 * HOUR_MS);
    assert.deepEqual(graceful.changes.at(-1), { kind: 'end_registrations_by', endsBy });
  });

  test('what had ended before ends by its own time', () => {
    const license = exampleLicense({ validUntil: plus(NOW, -HOUR_MS) });
    const { changes, events } = changeTo(license, { slots: [exampleSlot('ada', { endsAt: NOW })] });
    assert.deepEqual(
      changes.map(({ kind }) => kind),
      ['remove_registration', 'set_in_use', 'put_license', 'end_registrations_by'],
    );
    assert.deepEqual(events[0], { kind: 'slot_expired', user: 'ada', endedAt: NOW });
  });
});
