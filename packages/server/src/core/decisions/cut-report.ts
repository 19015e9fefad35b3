import type { CutReport } from '../command.ts';
import type { CommandModule } from '../command-module.ts';
import { listUnderWay } from '../lending/cloud-total.ts';
import { collect, collectedChanges, withoutEffect } from '../lending/collect.ts';
import { NOTHING_DONE, ON_REPORT } from '../lending/reports.ts';
import type { Meter } from '../nouns/consumption.ts';

/** Takes everything that is pending and puts it under an id. A repeated cut takes nothing. */
export const cutReport = {
  ...ON_REPORT,

  decide({ reportId: id }, view, now) {
    const base = collect(view, now);
    const { storedInUse: _, ...meter } = view.meter as Meter;
    const { feature, pending: amount } = meter;
    const isUnderWay = listUnderWay(view).some((report) => report.feature === feature);
    if (isUnderWay || amount === 0) return withoutEffect(view, base, NOTHING_DONE);
    return {
      outcome: { kind: 'done', count: amount },
      changes: [
        ...collectedChanges(view, base),
        { kind: 'put_meter', meter: { ...meter, pending: 0 } },
        { kind: 'add_report', report: { id, feature, amount, cutAt: now, uncertainAt: null } },
      ],
      events: base.events,
    };
  },
} satisfies CommandModule<CutReport>;
