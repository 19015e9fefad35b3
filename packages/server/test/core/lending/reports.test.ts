import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { LicenseCommand } from '../../../src/core/command.ts';
import { decide } from '../../../src/core/decide.ts';
import { DAY_MS, type Instant, instant, plus } from '../../../src/core/nouns/instant.ts';
import type { Report } from '../../../src/core/view.ts';
import {
  exampleLicense,
  exampleLimits,
  exampleView,
  LICENSE_ID,
  NOW,
  readsOf,
  type ViewFacts,
} from '../examples.ts';

const CUT = { kind: 'cut_report', licenseId: LICENSE_ID, feature: null, reportId: 'r1' } as const;
const SETTLE = {
  ...CUT,
  kind: 'settle_report',
  isCounted: true,
  cloudTotal: null,
  isSure: true,
  takesLower: true,
  by: 'cloud',
} as const;
const RESOLVE = { ...CUT, kind: 'resolve_report', takesLower: true } as const;
const REPORT: Report = { id: 'r1', feature: '', amount: 4, cutAt: NOW, uncertainAt: null };
const METER = {
  total: 9,
  pending: 5,
  reported: 1,
  cloudTotal: null as number | null,
  cloudAt: null as Instant | null,
};
const NOTHING = { outcome: { kind: 'done', count: 0 }, changes: [], events: [] };

function decideOn(command: LicenseCommand, facts: ViewFacts) {
  return decide(command, exampleView({ meter: METER, ...facts }, null), NOW);
}

function meterAfter(facts: Partial<typeof METER>) {
  return { feature: '', windowStart: instant(0), ...METER, ...facts };
}

describe('a report', () => {
  test('takes everything pending, and leaves the total unchanged', () => {
    assert.deepEqual(decideOn(CUT, {}), {
      outcome: { kind: 'done', count: 5 },
      changes: [
        { kind: 'put_meter', meter: meterAfter({ pending: 0 }) },
        { kind: 'add_report', report: { ...REPORT, amount: 5 } },
      ],
      events: [],
    });
  });

  test('is created while none is under way, and not for 0', () => {
    assert.deepEqual(decideOn(CUT, { reports: [REPORT] }), NOTHING);
    assert.deepEqual(decideOn(CUT, { meter: { ...METER, pending: 0 } }), NOTHING);
  });

  test('that was counted is reported, with an event', () => {
    assert.deepEqual(decideOn(SETTLE, { reports: [REPORT] }), {
      outcome: { kind: 'done', count: 4 },
      changes: [
        { kind: 'put_meter', meter: meterAfter({ reported: 5, cloudAt: NOW }) },
        { kind: 'remove_report', reportId: 'r1' },
      ],
      events: [{ kind: 'consumption_reported', feature: null, amount: 4, reportId: 'r1', by: 'cloud' }],
    });
  });

  test('that was not counted is pending again', () => {
    const settle = { ...SETTLE, isCounted: false } as unknown as typeof SETTLE;
    const { outcome, changes, events } = decideOn(settle, { reports: [REPORT] });
    assert.deepEqual(outcome, { kind: 'done', count: 4 });
    assert.deepEqual(changes[0], { kind: 'put_meter', meter: meterAfter({ pending: 9 }) });
    assert.deepEqual(events, []);
  });

  test('never produces a number that cannot be read back', () => {
    const most = Number.MAX_SAFE_INTEGER;
    const full = { reports: [REPORT], meter: { ...METER, reported: most } };
    const [change] = decideOn(SETTLE, full).changes;
    assert.equal(change?.kind === 'put_meter' && change.meter.reported, most);
  });

  test('is settled once', () => assert.deepEqual(decideOn(SETTLE, {}), NOTHING));

  test('is all that the decision asks for', () => {
    for (const command of [CUT, SETTLE, { ...RESOLVE, cloudTotal: 1 }]) {
      assert.deepEqual(readsOf(command, exampleView({}, null)), { listReports: [] });
    }
  });

  test("answered with the cloud's total updates the server's: others may have counted too", () => {
    const { changes, events } = decideOn({ ...SETTLE, cloudTotal: 14 }, { reports: [REPORT] });
    const meter = meterAfter({ reported: 5, cloudTotal: 14, cloudAt: NOW, total: 19 });
    assert.deepEqual(changes[0], { kind: 'put_meter', meter });
    assert.deepEqual(events.at(-1), { kind: 'total_corrected', feature: null, before: 9, total: 19 });
  });
});

describe('a report whose answer was lost', () => {
  const facts = { reports: [REPORT], meter: { ...METER, cloudTotal: 7, cloudAt: NOW } };

  test('was counted if the total moved by exactly its amount', () => {
    const { changes } = decideOn({ ...RESOLVE, cloudTotal: 11 }, facts);
    assert.deepEqual(
      changes.map(({ kind }) => kind),
      ['put_meter', 'remove_report'],
    );
  });

  test('was not counted if the total did not move: it stays, to be sent again', () => {
    assert.deepEqual(decideOn({ ...RESOLVE, cloudTotal: 7 }, facts), NOTHING);
  });

  for (const cloudTotal of [6, 8, 10, 12, 15]) {
    test(`is uncertain when the total is ${cloudTotal}`, () => {
      const { changes, events } = decideOn({ ...RESOLVE, cloudTotal }, facts);
      const meter = meterAfter({ cloudTotal, cloudAt: NOW, total: cloudTotal + METER.pending });
      assert.deepEqual(changes, [
        { kind: 'mark_report_uncertain', reportId: 'r1' },
        { kind: 'put_meter', meter },
      ]);
      assert.equal(events[0]?.kind, 'report_uncertain');
    });
  }

  test('is uncertain if the total before it is unknown', () => {
    const { changes } = decideOn({ ...RESOLVE, cloudTotal: 11 }, { reports: [REPORT] });
    assert.equal(changes[0]?.kind, 'mark_report_uncertain');
  });

  test('is uncertain when the total before it is of another window', () => {
    const consumption = exampleLimits({ period: 'daily' });
    const yesterday = { ...METER, cloudTotal: 7, cloudAt: plus(NOW, -DAY_MS) };
    const other = { ...facts, license: exampleLicense({ consumption }), meter: yesterday };
    for (const cloudTotal of [7, 11]) {
      const { changes } = decideOn({ ...RESOLVE, cloudTotal }, other);
      assert.equal(changes[0]?.kind, 'mark_report_uncertain', 'the same number, and not the same total');
    }
  });

  test('is uncertain if nothing can decide any more', () => {
    const { changes } = decideOn({ ...RESOLVE, cloudTotal: null }, facts);
    assert.deepEqual(changes, [{ kind: 'mark_report_uncertain', reportId: 'r1' }]);
  });

  test('is withdrawn with an event, and its amount pending again, when a person says so', () => {
    const uncertain = { ...facts, reports: [{ ...REPORT, uncertainAt: NOW }] };
    const { changes, events } = decideOn({ ...SETTLE, isCounted: false, by: 'admin' }, uncertain);
    const meter = meterAfter({ pending: 9, total: 13, cloudTotal: 7, cloudAt: NOW });
    assert.deepEqual(changes[0], { kind: 'put_meter', meter });
    assert.deepEqual(
      events.map(({ kind }) => kind),
      ['report_withdrawn', 'total_corrected'],
    );
  });

  test('stays uncertain, whatever the total becomes', () => {
    const uncertain = { ...facts, reports: [{ ...REPORT, uncertainAt: NOW }] };
    assert.deepEqual(decideOn({ ...RESOLVE, cloudTotal: 11 }, uncertain), NOTHING);
  });
});

describe('an unbound answer to a report', () => {
  const UNBOUND = { ...SETTLE, isSure: false, takesLower: false };
  const ECHOED = { ...UNBOUND, isEchoed: true };
  const facts = { reports: [REPORT], meter: { ...METER, cloudTotal: 7, cloudAt: NOW } };
  const kindsOf = (command: LicenseCommand, view: ViewFacts = facts) =>
    decideOn(command, view).changes.map(({ kind }) => kind);

  test('settles it if its total can contain it, with its id or without', () => {
    for (const told of [UNBOUND, ECHOED]) {
      for (const cloudTotal of [11, 15]) {
        assert.deepEqual(kindsOf({ ...told, cloudTotal }), ['put_meter', 'remove_report']);
      }
    }
  });

  test('leaves it alone if its total cannot contain it', () => {
    assert.deepEqual(decideOn({ ...UNBOUND, cloudTotal: 8 }, facts), NOTHING);
  });

  test('makes it uncertain if its total cannot contain it although its id is used up', () => {
    const { outcome, changes, events } = decideOn({ ...ECHOED, cloudTotal: 8 }, facts);
    const meter = meterAfter({ cloudTotal: 8, cloudAt: NOW, total: 8 + METER.pending });
    assert.deepEqual(outcome, NOTHING.outcome);
    assert.deepEqual(changes, [
      { kind: 'mark_report_uncertain', reportId: 'r1' },
      { kind: 'put_meter', meter },
    ]);
    assert.equal(events[0]?.kind, 'report_uncertain');
    assert.deepEqual(
      kindsOf({ ...ECHOED, cloudTotal: 6 }),
      ['mark_report_uncertain'],
      'and takes no lower total',
    );
  });

  test('settles by its id what may have been counted before the total was reset', () => {
    const license = exampleLicense({ consumption: exampleLimits({ period: 'daily' }) });
    const meter = { ...METER, cloudTotal: 7, cloudAt: plus(NOW, -DAY_MS) };
    const before = { license, meter, reports: [{ ...REPORT, cutAt: plus(NOW, -DAY_MS) }] };
    assert.deepEqual(kindsOf({ ...ECHOED, cloudTotal: 0 }, before), ['put_meter', 'remove_report']);
    assert.deepEqual(decideOn({ ...UNBOUND, cloudTotal: 0 }, before), NOTHING);
    const today = { ...before, reports: [REPORT] };
    assert.equal(kindsOf({ ...ECHOED, cloudTotal: 3 }, today)[0], 'mark_report_uncertain');
    assert.deepEqual(kindsOf({ ...ECHOED, cloudTotal: 4 }, today), ['put_meter', 'remove_report']);
  });
});
