import type { Outcome } from '@berth/server/core/decision';
import { plus } from '@berth/server/core/instant';
import type { LicenseId } from '@berth/server/core/license';
import type { Bench } from '@berth/server/store/exercise-bench';
import { bodyOf, type Consumed, type Counted, DAY_MS } from './counting-model.ts';
import { command, expectOutcome, type LendingCommand, sayWho, type Who } from './lending-commands.ts';

function consumeOn(bench: Bench, request: Consumed): Promise<Outcome> {
  const { count, user, licenseId, feature, maxOverages, key } = request;
  return bench.consume(count, {
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

export function consume(request: Consumed): LendingCommand {
  return command({
    title: `consume ${sayCount(request)}`,
    run: async (model, bench) => expectOutcome(await consumeOn(bench, request), model.consume(request)),
  });
}

/** Several at once, in one batch. */
export function consumeCrowd(requests: readonly Consumed[]): LendingCommand {
  return command({
    title: `consume at once ${requests.map(sayCount).join(', ')}`,
    run: async (model, bench) => {
      const outcomes = await Promise.all(requests.map((request) => consumeOn(bench, request)));
      for (const [index, request] of requests.entries()) {
        expectOutcome(outcomes[index] as Outcome, model.consume(request));
      }
    },
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

export function cutReport(report: ReportOf): LendingCommand {
  const reportId = nameReport(report);
  return command({
    title: `cut report ${reportId}`,
    run: async (model, bench) => {
      const { licenseId, feature } = report;
      const outcome = await bench.execute({ kind: 'cut_report', licenseId, feature, reportId });
      expectOutcome(outcome, model.cutReport(licenseId, feature, reportId));
    },
  });
}

export function settleReport(report: ReportOf, isCounted: boolean): LendingCommand {
  const reportId = nameReport(report);
  return command({
    title: `settle report ${reportId}: ${isCounted}`,
    run: async (model, bench) => {
      const { licenseId, feature } = report;
      const told = { isCounted, cloudTotal: null, by: 'cloud' };
      const command_ = { kind: 'settle_report', licenseId, feature, reportId, ...told } as const;
      expectOutcome(
        await bench.execute(command_),
        model.settleReport(licenseId, feature, reportId, isCounted),
      );
    },
  });
}

/** `until`: milliseconds from now, a word, or `null` for a heartbeat. */
export function registerFeature(who: Who, until: number | 'longest' | 'unreadable' | null): LendingCommand {
  return command({
    title: `register feature ${sayWho(who)} until ${until}`,
    run: async (model, bench) => {
      const { user, licenseId } = who;
      const wanted = typeof until === 'number' ? plus(model.now, until) : until;
      const outcome = await bench.registerFeature(user, { licenseId, product: 'cad', until: wanted });
      expectOutcome(outcome, model.registerFeature(user, licenseId, wanted));
    },
  });
}

/** The license's slot and the feature's, in one batch. */
export function registerBoth(who: Who): LendingCommand {
  return command({
    title: `register with feature ${sayWho(who)}`,
    run: async (model, bench) => {
      const { user, licenseId } = who;
      const [license, feature] = await Promise.all([
        bench.register(user, { licenseId, product: 'cad' }),
        bench.registerFeature(user, { licenseId, product: 'cad' }),
      ]);
      expectOutcome(license, model.register(user, licenseId));
      expectOutcome(feature, model.registerFeature(user, licenseId, null));
    },
  });
}

export function releaseFeature(who: Who): LendingCommand {
  return command({
    title: `release feature ${sayWho(who)}`,
    run: async (model, bench) => {
      const { user, licenseId } = who;
      const outcome = await bench.releaseFeature(user, { licenseId, product: 'cad' });
      expectOutcome(outcome, model.releaseFeature(user, licenseId));
    },
  });
}

export function releaseAllFeatures(licenseId: LicenseId): LendingCommand {
  return command({
    title: `release all features of ${licenseId}`,
    run: async (model, bench) => {
      const outcome = await bench.execute({ kind: 'release_all_features', licenseId, by: 'admin' });
      expectOutcome(outcome, model.releaseAllFeatures(licenseId));
    },
  });
}

/** To midnight, at which windows end, or a millisecond before it. */
export function tickToMidnight(besideMs: -1 | 0): LendingCommand {
  return command({
    title: `tick to midnight ${besideMs}`,
    run: async (model, bench) => {
      const midnight = Math.floor(model.now / DAY_MS + 1) * DAY_MS;
      const millis = midnight - model.now + besideMs;
      bench.clock.advance(millis);
      model.tick(millis);
    },
  });
}
