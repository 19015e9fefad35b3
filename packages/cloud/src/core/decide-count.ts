import type { Count } from './command.ts';
import {
  type Counted,
  type Decision,
  justAnswer,
  type Report,
  type View,
  WHOLE_LICENSE,
} from './decision.ts';
import { findFeature, isFeatureExpired, nameOf, say } from './license.ts';
import { type Refusal, refuse } from './refusal.ts';
import {
  refuseBlocked,
  refuseDisabled,
  refuseExpired,
  refuseNoDevice,
  refuseNotStarted,
} from './refuse-by-state.ts';
import type { ConsumptionLimits, Feature } from './terms.ts';

/** The largest total: numbers are exact only up to here. */
const LARGEST_TOTAL = Number.MAX_SAFE_INTEGER;

/**
 * Adds to a total, all or nothing. A report from a floating server is always accepted, whatever the limit or
 * the state of the license, because the consumption has already happened. A report id counts only once,
 * forever.
 */
export function decideCount(command: Count, view: View, now: number): Decision {
  const hasHappened = command.isSync || view.report !== null;
  const target = (hasHappened ? null : refuseByState(view, now)) ?? chooseTarget(command, view, hasHappened);
  if ('code' in target) return justAnswer(target);
  if (view.report !== null) return justAnswer(repeat(command, view.report, target));
  const refusal =
    (view.device === null ? refuseNoDevice(view.license, command.who.hardwareId) : null) ??
    (hasHappened ? null : refuseByUse(command, target.feature, view, now)) ??
    refuseAmount(command, target);
  return refusal === null ? count(command, target) : justAnswer(refusal);
}

/** The counted license or feature and its current total. */
type Target = Counted & { readonly limits: ConsumptionLimits };

/** Past consumption counts even if the vendor has changed the terms since. */
function chooseTarget(
  { feature: code }: Count,
  { license, totals }: View,
  hasHappened: boolean,
): Target | Refusal {
  if (code !== null) return chooseFeature(code, license, totals, hasHappened);
  if (license.terms.type !== 'consumption' && !hasHappened) {
    return refuse('license_not_consumption', `The license ${nameOf(license)} does not count consumption.`);
  }
  const total = totals.get(WHOLE_LICENSE) ?? 0;
  return { kind: 'counted', license, feature: null, total, limits: license.terms.consumption };
}

function chooseFeature(
  code: string,
  license: View['license'],
  totals: View['totals'],
  hasHappened: boolean,
): Target | Refusal {
  const granted = findFeature(license.terms, code);
  const isGone = granted?.type !== 'consumption';
  const feature = isGone && hasHappened ? bygoneFeature(code) : granted;
  if (feature === undefined) {
    const message = `The license ${nameOf(license)} has no feature "${code}".`;
    return refuse('invalid_license_feature_code', message);
  }
  if (feature.type !== 'consumption') {
    return refuse('feature_not_consumption', `The feature "${code}" does not count consumption.`);
  }
  const total = totals.get(code) ?? 0;
  return { kind: 'counted', license, feature, total, limits: feature.consumption };
}

/** A feature that was counted before, but is no longer granted or no longer counted. */
function bygoneFeature(code: string): Feature {
  const consumption = { max: null, overages: 0, allowNegative: true, period: null };
  return { id: 0, code, name: code, type: 'consumption', consumption, lending: null, expiresAt: null };
}

/** A repeated report returns the total. A different report with the same id is an error. */
function repeat({ feature, amount }: Count, report: Report, target: Target): Counted | Refusal {
  if (report.feature === (feature ?? WHOLE_LICENSE) && report.amount === amount) return target;
  return refuse(
    'idempotency_key_reused',
    `The report "${report.id}" was already counted with a different amount or feature.`,
  );
}

function refuseByState({ license }: View, now: number): Refusal | null {
  return refuseDisabled(license) ?? refuseNotStarted(license, now) ?? refuseExpired(license, now);
}

function refuseByUse({ who }: Count, feature: Feature | null, view: View, now: number): Refusal | null {
  if (feature !== null && isFeatureExpired(feature, now)) {
    const expiresAt = say(feature.expiresAt as number);
    const message = `The feature "${feature.code}" expired at ${expiresAt}.`;
    return refuse('license_feature_expired', message, { expires_at: expiresAt });
  }
  return refuseBlocked(view.isBlocked, who.hardwareId);
}

function refuseAmount(command: Count, target: Target): Refusal | null {
  if (command.amount < 0) return refuseNegative(command, target);
  const { feature, limits, total } = target;
  const left = Math.max(0, highestTotal(command, limits) - total);
  if (command.amount <= left) return null;
  return refuse(
    feature === null ? 'license_not_enough_consumptions' : 'feature_not_enough_consumptions',
    `${command.amount} cannot be added: ${left} are left.`,
    { left, total_consumptions: total, max_consumptions: limits.max },
  );
}

/** A server's total may drop below zero for a while, because its reports can arrive out of order. */
function refuseNegative({ amount, isSync }: Count, { limits, total }: Target): Refusal | null {
  if (!limits.allowNegative) return refuseField('must not be negative: the license does not allow it.');
  const lowest = isSync ? -LARGEST_TOTAL : 0;
  if (total + amount >= lowest) return null;
  return refuseField(`can take back at most ${total - lowest}.`);
}

function refuseField(problem: string): Refusal {
  return refuse('validation_error', `"consumptions" ${problem}`, { field: 'consumptions' });
}

/** The caller can only lower the allowed overage. */
function highestTotal({ isSync, allowOverages, maxOverages }: Count, limits: ConsumptionLimits): number {
  if (isSync || limits.max === null) return LARGEST_TOTAL;
  const wanted = allowOverages === false ? 0 : (maxOverages ?? limits.overages);
  return Math.min(limits.max + Math.min(limits.overages, wanted), LARGEST_TOTAL);
}

function count({ who, amount, isSync, reportId }: Count, target: Target): Decision {
  if (amount === 0 && reportId === null) return justAnswer(target);
  const feature = target.feature?.code ?? WHOLE_LICENSE;
  const total = target.total + amount;
  const facts = { hardware_id: who.hardwareId, feature: target.feature?.code ?? null, amount, total };
  return {
    outcome: { ...target, total },
    changes: [
      { kind: 'put_total', feature, total },
      ...(reportId === null
        ? []
        : [{ kind: 'add_report', report: { id: reportId, feature, amount } } as const]),
    ],
    events: [{ kind: 'consumption_added', facts: { ...facts, is_sync: isSync, report_id: reportId } }],
  };
}
