import assert from 'node:assert/strict';
import { test } from 'node:test';
import { applyVerdict } from '../../../src/core/decisions/apply-verdict.ts';
import { periodOf, rebaseAll } from '../../../src/core/lending/cloud-total.ts';
import { parseSchedule } from '../../../src/core/nouns/backup-schedule.ts';
import { DEMO_LICENSE } from '../../../src/core/nouns/demo-license.ts';
import { findCertificate } from '../../../src/core/nouns/grant-key.ts';
import { DAY_MS, HOUR_MS, plus } from '../../../src/core/nouns/instant.ts';
import { type Certificate, NO_TIE } from '../../../src/core/nouns/license.ts';
import { WEBHOOK_TOPICS } from '../../../src/core/nouns/webhook-topics.ts';
import { refuseFull } from '../../../src/core/refusals.ts';
import { judgeUse } from '../../../src/core/system/note.ts';
import { setWebhookSecret } from '../../../src/core/system/secrets.ts';
import { advanceTestClock } from '../../../src/core/system/test-clock.ts';
import {
  exampleFeature,
  exampleLicense,
  exampleLimits,
  exampleView,
  expectRefused,
  NOW,
} from '../examples.ts';

test('a period of backups is from five minutes to 31 days', () => {
  const valid = ['4m', '5m', '744h', '745h'].map((text) => parseSchedule(text) !== null);
  assert.deepEqual(valid, [false, true, true, false]);
});

test('every topic of webhooks has the event that it is called after', () => {
  for (const [topic, kinds] of Object.entries(WEBHOOK_TOPICS)) {
    assert.ok((kinds as readonly string[]).includes(topic), topic);
  }
});

test('the demo has a product that no vendor has', () => {
  assert.equal(DEMO_LICENSE.particulars.productDetails.id, 999_000_000);
});

test('a certificate counts until it ends, and on the machine that it was made for', () => {
  const certificate: Certificate = { texts: ['jws'], kid: 'k', issuedAt: NOW, expiresAt: plus(NOW, DAY_MS) };
  const find = (tie: object, now = NOW) =>
    findCertificate(exampleLicense({ tie: { ...NO_TIE, ...tie } }), now);
  assert.equal(find({ certificate }), certificate);
  assert.equal(find({ certificate }, plus(NOW, DAY_MS)), null);
  assert.equal(find({ certificate, movedAt: NOW }), null);
  assert.equal(find({}), null);
});

test('a total is reset as its license or its feature says', () => {
  const consumption = exampleLimits({ period: 'monthly' });
  const features = [exampleFeature('export', { consumption: exampleLimits({ period: 'daily' }) })];
  const license = exampleLicense({ consumption, features });
  assert.deepEqual(
    ['', 'export', 'none'].map((feature) => periodOf(license, feature)),
    ['monthly', 'daily', null],
  );
});

test('without counts of the cloud, no total is kept', () => {
  const license = exampleLicense();
  const { keptTotal } = rebaseAll(license, undefined, exampleView({ license }, null), NOW, () => true);
  assert.equal(keptTotal, false);
});

test('a first verdict of the cloud says nothing of totals', () => {
  const { changes } = applyVerdict.decide(
    { kind: 'apply_verdict', licenseId: exampleLicense().id, verdict: 'license_not_enabled', proof: 'bound' },
    exampleView({}, null),
    NOW,
  );
  const [change] = changes;
  assert.ok(change?.kind === 'put_license');
  assert.deepEqual(change.license.tie.assurance, { isBound: true, unconfirmed: null, keptTotal: false });
});

test('a refusal counts in the singular, too', () => {
  const message = (slots: number) =>
    refuseFull({ name: 'cad', slots, inUse: slots, nextFreeAt: null }).message;
  assert.match(message(1), /^The only slot of "cad" is in use \(1\)\.$/);
  assert.match(message(2), /^All 2 slots of "cad" are in use \(2\)\.$/);
});

test('there is room below the lower limit, to the exact slot', () => {
  assert.deepEqual(
    [795, 799, 800].map((used) => judgeUse(used, 1000, 90)),
    ['left', 'left', 'between'],
  );
});

test('a secret of the webhook is one change', () => {
  const command = { kind: 'set_webhook_secret', secret: 's', fingerprint: 'f', by: 'ada' } as const;
  assert.deepEqual(setWebhookSecret.decide(command).outcome, { kind: 'done', count: 1 });
});

test('the time of real licenses is not moved, and the refusal names one', () => {
  const command = { kind: 'advance_test_clock', millis: HOUR_MS } as const;
  const licenses = [exampleLicense({ source: 'cloud' })];
  for (const testClockMs of [null, 0]) {
    const { outcome } = advanceTestClock.decide(command, { licenses, testClockMs }, NOW);
    assert.match(expectRefused(outcome).message, /real license of "cad"/);
  }
});
