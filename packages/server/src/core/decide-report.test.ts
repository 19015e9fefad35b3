import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { decide, needsOf } from './decide.ts';
import { exampleView, LICENSE_ID, NOW, type ViewFacts } from './examples.ts';
import { instant } from './instant.ts';
import { NO_NEEDS, type Report } from './view.ts';

const CUT = { kind: 'cut_report', licenseId: LICENSE_ID, feature: null, reportId: 'r1' } as const;
const SETTLE = { ...CUT, kind: 'settle_report', isCounted: true } as const;
const REPORT: Report = { id: 'r1', feature: '', amount: 4, cutAt: NOW };
const METER = { total: 9, pending: 5, reported: 1 };
const NOTHING = { outcome: { kind: 'done', count: 0 }, changes: [], events: [] };

function decideOn(command: typeof CUT | typeof SETTLE, facts: ViewFacts) {
  return decide(command, exampleView({ meter: METER, ...facts }, null), NOW);
}

function meterAfter(facts: Partial<typeof METER>) {
  return { feature: '', windowStart: instant(0), ...METER, ...facts };
}

describe('a report', () => {
  test('takes all that is pending, and leaves the total alone', () => {
    assert.deepEqual(decideOn(CUT, {}), {
      outcome: { kind: 'done', count: 5 },
      changes: [
        { kind: 'put_meter', meter: meterAfter({ pending: 0 }) },
        { kind: 'add_report', report: { ...REPORT, amount: 5 } },
      ],
      events: [],
    });
  });

  test('is cut once under an id, and not of nothing', () => {
    assert.deepEqual(decideOn(CUT, { report: REPORT }), NOTHING);
    assert.deepEqual(decideOn(CUT, { meter: { ...METER, pending: 0 } }), NOTHING);
  });

  test('that was counted is reported, with an event', () => {
    assert.deepEqual(decideOn(SETTLE, { report: REPORT }), {
      outcome: { kind: 'done', count: 4 },
      changes: [
        { kind: 'put_meter', meter: meterAfter({ reported: 5 }) },
        { kind: 'remove_report', reportId: 'r1' },
      ],
      events: [{ kind: 'consumption_reported', feature: null, amount: 4, reportId: 'r1' }],
    });
  });

  test('that was not counted is pending again', () => {
    const settle = { ...SETTLE, isCounted: false } as unknown as typeof SETTLE;
    const { outcome, changes, events } = decideOn(settle, { report: REPORT });
    assert.deepEqual(outcome, { kind: 'done', count: 4 });
    assert.deepEqual(changes[0], { kind: 'put_meter', meter: meterAfter({ pending: 9 }) });
    assert.deepEqual(events, []);
  });

  test('never makes a number that cannot be read again', () => {
    const most = Number.MAX_SAFE_INTEGER;
    const full = { report: REPORT, meter: { ...METER, reported: most } };
    const [change] = decideOn(SETTLE, full).changes;
    assert.equal(change?.kind === 'put_meter' && change.meter.reported, most);
  });

  test('is settled once', () => assert.deepEqual(decideOn(SETTLE, {}), NOTHING));

  test('is all that the decision asks for', () => {
    for (const command of [CUT, SETTLE]) {
      assert.deepEqual(needsOf(command, exampleView({}, null), NOW), { ...NO_NEEDS, reportId: 'r1' });
    }
  });
});
