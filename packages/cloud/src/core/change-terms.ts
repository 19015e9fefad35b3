import {
  type ConsumptionLimits,
  DEFAULT_TIMEOUT_MINUTES,
  type Feature,
  type Lending,
  type LicenseType,
  NO_CONSUMPTION,
  type Terms,
} from './terms.ts';

export type FeatureDraft = Omit<Feature, 'id'>;

/** The changes the vendor wants; missing fields stay unchanged. */
export interface TermsChange {
  readonly type?: LicenseType;
  readonly slots?: number;
  readonly timeoutMinutes?: number;
  readonly borrowHours?: number;
  readonly startsAt?: number | null;
  readonly validUntil?: number | null;
  readonly graceHours?: number;
  readonly maxActivations?: number | null;
  readonly consumption?: Partial<ConsumptionLimits>;
  readonly features?: readonly FeatureDraft[];
  readonly withoutFeatures?: readonly string[];
  readonly maxOfflineDays?: number;
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly company?: string;
}

/** The terms after the change. A replaced feature keeps its id and therefore its consumption. */
export function changeTerms(terms: Terms, change: TermsChange, takeId: () => number): Terms {
  const consumption = { ...terms.consumption, ...change.consumption };
  const validUntil = given(change.validUntil, terms.validUntil);
  const type = change.type ?? impliedType(terms, change, validUntil);
  return {
    type,
    lending: changeLending(terms.lending, change),
    startsAt: given(change.startsAt, terms.startsAt),
    validUntil,
    graceHours: change.graceHours ?? terms.graceHours,
    maxActivations: given(change.maxActivations, terms.maxActivations),
    consumption: type === 'consumption' ? consumption : NO_CONSUMPTION,
    features: changeFeatures(terms.features, change, takeId),
    metadata: changeMetadata(terms.metadata, change),
    company: change.company ?? terms.company,
  };
}

/** `null` is a value here: "never expires", "unlimited". */
function given<T>(wanted: T | undefined, current: T): T {
  return wanted === undefined ? current : wanted;
}

/**
 * A license with consumption limits has that type. An end makes a perpetual license time-limited; removing
 * the end makes it perpetual again.
 */
function impliedType(terms: Terms, change: TermsChange, validUntil: number | null): LicenseType {
  if (change.consumption?.max !== undefined) return 'consumption';
  if (terms.type === 'perpetual' && validUntil !== null) return 'time-limited';
  if (terms.type === 'time-limited' && validUntil === null) return 'perpetual';
  return terms.type;
}

function changeLending(lending: Lending | null, change: TermsChange): Lending | null {
  const slots = change.slots ?? lending?.slots ?? 0;
  if (slots === 0) return null;
  return {
    slots,
    timeoutMinutes: change.timeoutMinutes ?? lending?.timeoutMinutes ?? DEFAULT_TIMEOUT_MINUTES,
    borrowHours: change.borrowHours ?? lending?.borrowHours ?? 0,
  };
}

function changeFeatures(features: readonly Feature[], change: TermsChange, takeId: () => number) {
  const changed = new Map(features.map((feature) => [feature.code, feature]));
  for (const code of change.withoutFeatures ?? []) changed.delete(code);
  for (const draft of change.features ?? []) {
    changed.set(draft.code, { ...draft, id: changed.get(draft.code)?.id ?? takeId() });
  }
  return [...changed.values()];
}

function changeMetadata(metadata: Terms['metadata'], change: TermsChange): Terms['metadata'] {
  const base = change.metadata ?? metadata;
  return change.maxOfflineDays === undefined ? base : { ...base, max_offline_days: change.maxOfflineDays };
}

/** Why the change as a whole is invalid, as a sentence; `null` if it is valid. */
export function findFaultInChange(terms: Terms, change: TermsChange, after: Terms): string | null {
  const unknown = change.withoutFeatures?.find((code) => !terms.features.some((one) => one.code === code));
  if (unknown !== undefined) return `The license has no feature "${unknown}".`;
  if (change.consumption !== undefined && after.type !== 'consumption') {
    return `A license of type ${after.type} does not count consumption without --consumptions.`;
  }
  const lends = change.timeoutMinutes ?? change.borrowHours;
  if (lends !== undefined && after.lending === null) {
    return 'Only a floating license has a timeout and lends slots. Set the number of slots with --slots.';
  }
  return findFaultInDates(after);
}

function findFaultInDates({ type, startsAt, validUntil, graceHours }: Terms): string | null {
  if (type === 'perpetual' && validUntil !== null) {
    return 'A perpetual license does not end. Use --type time-limited, or omit --valid-until.';
  }
  if (type === 'time-limited' && validUntil === null) {
    return 'A time-limited license needs an end. Set it with --valid-until.';
  }
  if (graceHours > 0 && validUntil === null) return 'A grace period needs an end. Set it with --valid-until.';
  if (startsAt !== null && validUntil !== null && startsAt >= validUntil) {
    return 'The license would end before it starts.';
  }
  return null;
}
