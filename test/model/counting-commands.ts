import { plus } from '@berth/server/core/nouns/instant';
import type { LicenseId } from '@berth/server/core/nouns/license';
import type { Outcome } from '@berth/server/core/outcome';
import type { ExamStore } from '../../packages/server/test/store/exam/exam-store.ts';
import { bodyOf, type Consumed, type Counted, DAY_MS } from './counting-model.ts';
import { type HistoryCommand, inHistory } from './history-command.ts';
import { named, sayWho, tickBy, type Who } from './lending-commands.ts';
import type { WaitingModel } from './waiting-model.ts';

function consumeOn(exam: ExamStore, request: Consumed): Promise<Outcome> {
  const { count, user, licenseId, feature, maxOverages, key } = request;
  return exam.consume(count, {
    user,
    licenseId,
    product: 'cad',
    feature,
    narrowing: { allowOverages: null, maxOverages },
    idempotency: key === null ? null : { key, bodyHash: bodyOf(request) },
  });
}

function sayCount({ user, licenseId, feature, count, key, maxOverages }: Consumed): string {
  return JSON.stringify({ user, licenseId, feature, count, key, maxOverages });
}

/** Several are sent at once, in one batch. */
export function consume(...requests: readonly Consumed[]): HistoryCommand {
  return inHistory({
    title: `consume ${requests.map(sayCount).join(', ')}`,
    act: ({ exam }) => Promise.all(requests.map((request) => consumeOn(exam, request))),
    expect: (model) => requests.map((request) => model.consume(request)),
  });
}

interface ReportOf {
  readonly licenseId: LicenseId;
  readonly feature: Counted;
  readonly reportId: string;
}

/** The id is made unique to its meter: one id belongs to one report. */
function nameReport({ licenseId, feature, reportId }: ReportOf): string {
  return `${reportId}-${licenseId}-${feature}`;
}

export function cutReport(report: ReportOf): HistoryCommand {
  const reportId = nameReport(report);
  const { licenseId, feature } = report;
  return inHistory({
    title: `cut report ${reportId}`,
    act: async ({ exam }) => [await exam.execute({ kind: 'cut_report', licenseId, feature, reportId })],
    expect: (model) => [model.cutReport(licenseId, feature, reportId)],
  });
}

export function settleReport(report: ReportOf, isCounted: boolean): HistoryCommand {
  const reportId = nameReport(report);
  const { licenseId, feature } = report;
  const certain = { isSure: true, takesLower: true };
  const told = { licenseId, feature, reportId, isCounted, cloudTotal: null, ...certain, by: 'cloud' };
  return inHistory({
    title: `settle report ${reportId}: ${isCounted}`,
    act: async ({ exam }) => [await exam.execute({ kind: 'settle_report', ...told })],
    expect: (model) => [model.settleReport(licenseId, feature, reportId, isCounted)],
  });
}

/** `until`: milliseconds from now, a word, or `null` for a heartbeat. */
export function registerFeature(who: Who, until: number | 'longest' | 'unreadable' | null): HistoryCommand {
  const { user, licenseId, instance } = who;
  const wanted = ({ now }: WaitingModel) => (typeof until === 'number' ? plus(now, until) : until);
  return inHistory({
    title: `register feature ${sayWho(who)} until ${until}`,
    act: async ({ exam }, model) => [
      await exam.registerFeature(user, {
        licenseId,
        product: 'cad',
        until: wanted(model),
        ...named(instance),
      }),
    ],
    expect: (model) => [model.registerFeature(user, licenseId, wanted(model), instance)],
  });
}

/** The license's slot and the feature's, in one batch. */
export function registerBoth(who: Who): HistoryCommand {
  const { user, licenseId, instance } = who;
  const facts = { licenseId, product: 'cad', ...named(instance) };
  return inHistory({
    title: `register with feature ${sayWho(who)}`,
    act: ({ exam }) => Promise.all([exam.register(user, facts), exam.registerFeature(user, facts)]),
    expect: (model) => [
      model.register(user, licenseId, undefined, instance),
      model.registerFeature(user, licenseId, null, instance),
    ],
  });
}

export function releaseFeature(who: Who): HistoryCommand {
  const { user, licenseId, instance } = who;
  return inHistory({
    title: `release feature ${sayWho(who)}`,
    act: async ({ exam }) => [
      await exam.releaseFeature(user, { licenseId, product: 'cad', ...named(instance) }),
    ],
    expect: (model) => [model.releaseFeature(user, licenseId, instance)],
  });
}

export function releaseAllFeatures(licenseId: LicenseId): HistoryCommand {
  return inHistory({
    title: `release all features of ${licenseId}`,
    act: async ({ exam }) => [await exam.execute({ kind: 'release_all_features', licenseId, by: 'admin' })],
    expect: (model) => [model.releaseAllFeatures(licenseId)],
  });
}

/** To midnight, at which windows end, or a millisecond before it. */
export function tickToMidnight(besideMs: -1 | 0): HistoryCommand {
  return tickBy(
    `tick to midnight ${besideMs}`,
    ({ now }) => Math.floor(now / DAY_MS + 1) * DAY_MS - now + besideMs,
  );
}
