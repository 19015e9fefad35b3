import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { CloudCounts } from '../../../src/core/command.ts';
import { decide } from '../../../src/core/decide.ts';
import { decideAddLicense } from '../../../src/core/decisions/install-license.ts';
import { DAY_MS, HOUR_MS, type Instant, instant, plus } from '../../../src/core/nouns/instant.ts';
import type { Certificate, License } from '../../../src/core/nouns/license.ts';
import {
  exampleFeature,
  exampleLicense,
  exampleLimits,
  exampleSlot,
  exampleView,
  NOW,
  type ViewFacts,
} from '../examples.ts';

function install(license: License) {
  return { kind: 'install_license', license, by: 'admin' } as const;
}

function changeTo(license: License, facts: ViewFacts = {}) {
  return decide(install(license), exampleView(facts, null), NOW);
}

/** Of the license, and of the two features that it has. */
function endAllBy(endsBy: Instant) {
  const features = ['export', 'render'].map((feature) => ({ kind: 'end_feature_slots_by', feature, endsBy }));
  return [{ kind: 'end_registrations_by', endsBy }, ...features];
}

describe('a license is installed', () => {
  test('for the first time', () => {
    const license = exampleLicense();
    assert.deepEqual(decideAddLicense(install(license), exampleView({ license }, null), NOW), {
      outcome: { kind: 'done', count: 1 },
      changes: [{ kind: 'put_license', license }],
      events: [{ kind: 'license_added', product: 'cad', slots: 2, by: 'admin' }],
    });
  });

  test('again without changes, and leaves no event', () => {
    const ended = [exampleSlot('ada', { endsAt: NOW })];
    assert.deepEqual(changeTo(exampleLicense(), { slots: ended }), {
      outcome: { kind: 'done', count: 0 },
      changes: [],
      events: [],
    });
  });

  test('with other facts: the event names them', () => {
    const license = exampleLicense({ slots: 9, enabled: false });
    const { changes, events } = changeTo(license);
    assert.deepEqual(changes, [{ kind: 'put_license', license }]);
    assert.deepEqual(events, [
      { kind: 'license_changed', changed: ['slots', 'enabled'], slots: 9, by: 'admin' },
    ]);
  });

  test('by the cloud: it keeps the file that it came with', () => {
    const from = { fileAt: plus(NOW, -5), requestId: 'r', confirmationId: 'c' };
    const known = exampleLicense();
    const license = exampleLicense({ slots: 9 });
    const [change] = changeTo(license, { license: { ...known, tie: { ...known.tie, ...from } } }).changes;
    assert.deepEqual(change, {
      kind: 'put_license',
      license: { ...license, tie: { ...license.tie, ...from } },
    });
  });

  test('with fewer slots: nobody loses one', () => {
    const license = exampleLicense({ slots: 1 });
    const { changes } = changeTo(license, { slots: [exampleSlot('ada'), exampleSlot('bob')] });
    assert.deepEqual(changes, [{ kind: 'put_license', license }]);
  });

  test('with a shorter validity: slots end with it, including grace', () => {
    const validUntil = plus(NOW, HOUR_MS);
    const strict = changeTo(exampleLicense({ validUntil }));
    assert.deepEqual(strict.changes.slice(1), endAllBy(validUntil));
    const graceful = changeTo(exampleLicense({ validUntil, allowGracePeriod: true, graceHours: 2 }));
    assert.deepEqual(graceful.changes.slice(1), endAllBy(plus(NOW, 3 * HOUR_MS)));
  });

  test('a feature slot ends with the license or the feature, whichever comes first', () => {
    const validUntil = plus(NOW, HOUR_MS);
    const endOf = (expiresAt: Instant) => {
      const features = [exampleFeature('render', { expiresAt })];
      return changeTo(exampleLicense({ validUntil, features })).changes.at(-1);
    };
    const end = { kind: 'end_feature_slots_by', feature: 'render' };
    assert.deepEqual(endOf(plus(NOW, 1)), { ...end, endsBy: plus(NOW, 1) });
    assert.deepEqual(endOf(plus(NOW, 2 * HOUR_MS)), { ...end, endsBy: validUntil });
  });

  test('slots that had already ended keep their end', () => {
    const license = exampleLicense({ validUntil: plus(NOW, -HOUR_MS) });
    const { changes, events } = changeTo(license, { slots: [exampleSlot('ada', { endsAt: NOW })] });
    assert.deepEqual(
      changes.map(({ kind }) => kind),
      ['remove_registration', 'set_in_use', 'put_license', ...endAllBy(NOW).map(({ kind }) => kind)],
    );
    assert.deepEqual(events[0], { kind: 'slot_expired', user: 'ada', endedAt: NOW });
  });
});

describe('an answer with another period', () => {
  const license = exampleLicense({ consumption: exampleLimits({ period: 'daily' }) });
  const meter = {
    feature: '',
    windowStart: instant(Date.UTC(2030, 0, 15)),
    total: 0,
    pending: 2,
    reported: 0,
    cloudTotal: 100,
    cloudAt: plus(NOW, -2 * DAY_MS),
    storedInUse: 0,
  };
  const told = { askedAt: NOW, total: 5, features: [] };
  const totalAfter = (counted: CloudCounts) => {
    const command = { ...install(license), counted };
    const { changes } = decide(command, exampleView({ meters: [meter] }, null), NOW);
    return changes.flatMap((change) => (change.kind === 'put_meter' ? [change.meter.total] : []));
  };

  test('that may be old does not choose the window it is judged by', () => {
    assert.deepEqual(totalAfter({ ...told, takesLower: false }), [102]);
    assert.deepEqual(totalAfter({ ...told, total: 200, takesLower: false }), [202]);
  });

  test('is accepted when it is certainly new, or an administrator accepts it', () => {
    assert.deepEqual(totalAfter({ ...told, takesLower: true }), [7]);
    assert.deepEqual(totalAfter({ ...told, takesLower: false, acceptedBy: 'ada' }), [7]);
  });
});

describe('a certificate', () => {
  const certificate: Certificate = {
    texts: ['a', 'b'],
    kid: 'k',
    issuedAt: NOW,
    expiresAt: plus(NOW, DAY_MS),
  };
  const certified = exampleLicense({ tie: { ...exampleLicense().tie, certificate } });
  const listKinds = (command: Parameters<typeof decide>[0]) => {
    const { events } = decide(command, exampleView({ license: certified }, null), NOW);
    return events.map(({ kind }) => kind);
  };
  const others: [string, Certificate, readonly string[]][] = [
    ['that is known is no event', { ...certificate, texts: ['a', 'b'] }, []],
    ['in place of another one is an event', { ...certificate, texts: ['a', 'c'] }, ['certificate_added']],
  ];
  for (const [title, other, kinds] of others) {
    test(title, () => {
      const license = exampleLicense({ tie: { ...certified.tie, certificate: other } });
      assert.deepEqual(listKinds(install(license)), kinds);
      const certify = {
        kind: 'certify_license',
        licenseId: license.id,
        certificate: other,
        by: 'cloud',
      } as const;
      assert.deepEqual(listKinds(certify), kinds);
    });
  }
});
