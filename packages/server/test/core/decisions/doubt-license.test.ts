import assert from 'node:assert/strict';
import { test } from 'node:test';
import { applyVerdict } from '../../../src/core/decisions/apply-verdict.ts';
import { doubtLicense } from '../../../src/core/decisions/doubt-license.ts';
import { DAY_MS, HOUR_MS, type Instant, plus } from '../../../src/core/nouns/instant.ts';
import { isUsable, type License, licenseId } from '../../../src/core/nouns/license.ts';
import { refuseByState, refuseRenewal } from '../../../src/core/refusals.ts';
import { exampleLicense, exampleView, NOW } from '../examples.ts';

const OTHER = licenseId(12);

/** The license after the cloud has answered for another one. */
function doubt(license: License, at: Instant) {
  const command = { kind: 'doubt_license', licenseId: license.id, otherId: OTHER, by: 'cloud' } as const;
  const { changes, events } = doubtLicense.decide(command, exampleView({ license }, null), at);
  const put = changes.find((change) => change.kind === 'put_license');
  return { license: put?.license ?? license, events: events.map((event) => event) };
}

function doubtAt(...hours: readonly number[]) {
  return hours.reduce((license, hour) => doubt(license, plus(NOW, hour * HOUR_MS)).license, cloudLicense());
}

function cloudLicense() {
  return exampleLicense({ source: 'cloud' });
}

for (const [title, hours, expected] of [
  ['once', [0], false],
  ['twice over a day', [0, 24], false],
  ['three times within a day', [0, 12, 23.9], false],
  ['often within a day', [0, 1, 2, 3, 4, 5, 6], false],
  ['three times over a day', [0, 12, 24], true],
  ['hourly for a day', Array.from({ length: 25 }, (_, hour) => hour), true],
  ['while the clock was set back', [48, 0, 1], false],
  ['for a day after the clock was set back', [48, 0, 24], true],
] as const) {
  test(`answers for another license ${title}: ${expected ? 'no new slots' : 'nothing changes'}`, () => {
    const license = doubtAt(...hours);
    const later = plus(NOW, 2 * DAY_MS);
    assert.equal(license.tie.assurance?.doubt?.stopsLending, expected);
    assert.equal(isUsable(license, later), !expected);
    assert.equal(refuseByState(license, later)?.code ?? null, expected ? 'license_check_overdue' : null);
    assert.equal(refuseRenewal(license, later), null, 'who holds a slot keeps it');
  });
}

test('the first answer and the one that stops the license are audited, and no other', () => {
  const told = [0, 12, 24, 25].reduce(
    ({ license, events }, hour) => {
      const next = doubt(license, plus(NOW, hour * HOUR_MS));
      return { license: next.license, events: [...events, next.events] };
    },
    { license: cloudLicense(), events: [] as unknown[] },
  );
  const event = { kind: 'license_doubted', otherId: OTHER, by: 'cloud' };
  const [first, stops] = [false, true].map((stopsLending) => [{ ...event, stopsLending }]);
  assert.deepEqual(told.events, [first, [], stops, []]);
});

test('a refusal of the license itself ends the doubt', () => {
  const license = doubtAt(0, 12);
  const { changes } = applyVerdict.decide(
    { kind: 'apply_verdict', licenseId: license.id, verdict: 'license_not_enabled', proof: 'bound' },
    exampleView({ license }, null),
    NOW,
  );
  const [change] = changes;
  assert.ok(change?.kind === 'put_license');
  assert.equal(change.license.tie.assurance?.doubt, undefined);
});
