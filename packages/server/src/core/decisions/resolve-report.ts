import type { ResolveReport } from '../command.ts';
import type { CommandModule } from '../command-module.ts';
import { knownTotal } from '../lending/cloud-total.ts';
import { collect, withoutEffect } from '../lending/collect.ts';
import { findReport, NOTHING_DONE, ON_REPORT, putAside } from '../lending/reports.ts';
import type { Meter } from '../nouns/consumption.ts';
import { settleReport } from './settle-report.ts';

/** The vendor's answer was lost, but its total shows whether the report was counted, if it is known. */
export const resolveReport = {
  ...ON_REPORT,

  decide(command, view, now) {
    const base = collect(view, now);
    const report = findReport(view, command.reportId);
    if (report === undefined || report.uncertainAt !== null) return withoutEffect(view, base, NOTHING_DONE);
    const { cloudTotal } = command;
    const before = knownTotal(view.license, view.meter as Meter, now);
    if (cloudTotal !== null && before === cloudTotal) return withoutEffect(view, base, NOTHING_DONE);
    if (cloudTotal !== null && before !== null && before + report.amount === cloudTotal) {
      const settle = { kind: 'settle_report', isCounted: true, isSure: true, by: 'cloud' } as const;
      return settleReport.decide({ ...command, ...settle }, view, now);
    }
    return putAside(command, view, base, report, now);
  },
} satisfies CommandModule<ResolveReport>;
