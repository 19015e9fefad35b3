import type { AddConsumption } from '../command.ts';
import { type CommandModule, ON_POOL } from '../command-module.ts';
import type { Change, Decision } from '../decision.ts';
import {
  type Collected,
  collect,
  collectedChanges,
  countFeatureInUse,
  withoutEffect,
} from '../lending/collect.ts';
import { denyConsumption } from '../lending/deny.ts';
import { meterOf } from '../lending/meter-need.ts';
import { answerScope, repeatAnswer } from '../lending/repeat-answer.ts';
import { highestTotal, LARGEST_AMOUNT, type Meter } from '../nouns/consumption.ts';
import type { ConsumptionLimits, Feature } from '../nouns/feature.ts';
import { findFeature, isFeatureExpired } from '../nouns/feature-slot.ts';
import type { Instant } from '../nouns/instant.ts';
import type { License } from '../nouns/license.ts';
import { type Measured, type Refused, refuse } from '../outcome.ts';
import { refuseByState, refuseFeatureExpired, refuseRestored, refuseUnknownFeature } from '../refusals.ts';
import { refuseCounter } from '../rules/rules.ts';
import type { LicenseHead, LicenseView } from '../view.ts';

/**
 * Adds to a total, all or nothing: of the license, or of one of its features. What is accepted is pending for
 * the vendor from the same commit on. A request that carries a known key gets its first answer again.
 */
export const addConsumption = {
  ...ON_POOL,
  isFromClients: true,
  subject: (command) => ({ ...ON_POOL.subject(command), holder: null, answer: answerScope(command) }),
  meter: meterOf,

  decide(command, view, now) {
    const base = collect(view, now);
    const repeated = repeatAnswer(command.idempotency, view.findAnswer(), now);
    if (repeated !== null) return withoutEffect(view, base, repeated);
    const target = chooseCounted(command, view, now);
    return 'code' in target
      ? refuseConsumption(command, view, base, target, now)
      : count(command, view, base, target, now);
  },

  deny: refuseConsumption,
} satisfies CommandModule<AddConsumption>;

function refuseConsumption(
  command: AddConsumption,
  view: LicenseView,
  base: Collected,
  refusal: Refused,
  now: Instant,
): Decision {
  if (refusal.code === 'validation_error') return withoutEffect(view, base, refusal);
  return denyConsumption(command, view, base, refusal, now);
}

/** The license or the feature that is counted, with its limits. */
interface Counted {
  readonly feature: Feature | null;
  readonly limits: ConsumptionLimits;
}

/** What the count goes to, or why it cannot be added. */
function chooseCounted(command: AddConsumption, head: LicenseHead, now: Instant): Counted | Refused {
  const target =
    refuseByState(head.license, now) ??
    refuseRestored(head.license) ??
    refuseCounter(head.rules, command, head.license.product, command.feature) ??
    chooseTarget(command.feature, head.license, now);
  if ('code' in target) return target;
  return refuseCount(command, target, head.meter as Meter) ?? target;
}

function chooseTarget(code: string | null, license: License, now: Instant): Counted | Refused {
  if (code !== null) return chooseFeature(license, code, now);
  if (license.type === 'consumption') return { feature: null, limits: license.consumption };
  return refuse('license_not_consumption', `The license of "${license.product}" does not count consumption.`);
}

function chooseFeature(license: License, code: string, now: Instant): Counted | Refused {
  const feature = findFeature(license, code);
  if (feature === undefined) return refuseUnknownFeature(license, code);
  if (isFeatureExpired(feature, now)) return refuseFeatureExpired(feature);
  if (feature.type !== 'consumption') {
    return refuse('feature_not_consumption', `The feature "${code}" does not count consumption.`);
  }
  return { feature, limits: feature.consumption };
}

function refuseCount(
  { count: added, narrowing }: AddConsumption,
  { feature, limits }: Counted,
  { total, pending, reported }: Meter,
) {
  if (added < 0) return refuseNegative(added, limits, total);
  const highest = Math.min(highestTotal(limits, narrowing) ?? LARGEST_AMOUNT, LARGEST_AMOUNT);
  // The sum over all windows must stay a number that the store can hold.
  const left = Math.max(0, Math.min(highest - total, LARGEST_AMOUNT - pending - reported));
  if (added === 0 || added <= left) return null;
  return refuse(
    feature === null ? 'license_not_enough_consumptions' : 'feature_not_enough_consumptions',
    `${added} cannot be added: ${left} of ${highest} are left.`,
    { left, totalConsumptions: total, maxConsumptions: limits.max },
  );
}

function refuseNegative(added: number, limits: ConsumptionLimits, total: number): Refused | null {
  if (!limits.allowNegative) {
    return refuse('validation_error', '"consumptions" must not be negative: the license does not allow it.', {
      field: 'consumptions',
    });
  }
  if (total + added >= 0) return null;
  return refuse(
    'validation_error',
    `"consumptions" can take back at most ${total}: the total never falls below 0.`,
    {
      field: 'consumptions',
      totalConsumptions: total,
    },
  );
}

function count(
  command: AddConsumption,
  view: LicenseView,
  base: Collected,
  target: Counted,
  now: Instant,
): Decision {
  const { storedInUse: _, ...before } = view.meter as Meter;
  const total = before.total + command.count;
  const outcome = measure(view, target, total, now);
  const tidied = collectedChanges(view, base);
  const remembered = rememberAnswer(command, view, outcome, now);
  if (command.count === 0) return { outcome, changes: [...tidied, ...remembered], events: base.events };
  const { feature, user } = command;
  return {
    outcome,
    changes: [
      ...tidied,
      { kind: 'put_meter', meter: { ...before, total, pending: before.pending + command.count } },
      ...remembered,
    ],
    events: [...base.events, { kind: 'consumption_added', feature, user, count: command.count, total }],
  };
}

function measure(view: LicenseView, { feature, limits }: Counted, total: number, now: Instant): Measured {
  const inUse = feature === null ? 0 : countFeatureInUse(view, feature.code);
  return { kind: 'measured', licenseId: view.license.id, feature, limits, total, inUse, slot: null, now };
}

/** A refusal is not remembered: a retry is decided anew. */
function rememberAnswer(
  command: AddConsumption,
  view: LicenseView,
  outcome: Measured,
  now: Instant,
): readonly Change[] {
  const scope = answerScope(command);
  if (scope === null || command.idempotency === null) return [];
  const { bodyHash } = command.idempotency;
  const answer = { ...scope, bodyHash, answeredAt: now, outcome };
  return [{ kind: 'remember_answer', answer, isNew: view.findAnswer() === null }];
}
