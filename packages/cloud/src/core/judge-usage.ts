import type { Usage } from '@berth/protocol/carried/usage-file';
import { WHOLE_LICENSE } from './decision.ts';
import { type Refusal, refuse } from './refusal.ts';

/** The newest accepted usage file of a server. */
export interface TakenUsage {
  readonly sequence: number;
  readonly digest: string;
}

/** Rejects a file older than the last one, which would undo newer amounts. */
export function judgeSequence(taken: TakenUsage | null, given: TakenUsage): 'new' | 'repeat' | Refusal {
  if (taken === null || given.sequence > taken.sequence) return 'new';
  if (given.sequence === taken.sequence && given.digest === taken.digest) return 'repeat';
  return refuse(
    'usage_file_outdated',
    `The usage file has number ${given.sequence}, but number ${taken.sequence} was already counted. ` +
      'Submit the newest file.',
    { sequence: given.sequence, last_sequence: taken.sequence },
  );
}

/** The total consumption of a license or a feature on one server since the beginning. */
export interface UsageTotal {
  readonly licenseId: number;
  readonly licenseKey: string;
  /** `WHOLE_LICENSE` for the license itself. */
  readonly feature: string;
  readonly consumed: number;
}

/**
 * Each amount takes a few statements while other callers wait. Two licenses of the largest size stay below
 * this limit.
 */
const MAX_AMOUNTS = 5000;

/** Returns the amounts. Duplicates are refused, because they are ambiguous. */
export function listUsageTotals({ licenses }: Usage): readonly UsageTotal[] | Refusal {
  const totals = licenses.flatMap(({ license_id, license_key, consumed, features }) => {
    const of = { licenseId: license_id, licenseKey: license_key };
    return [
      { ...of, feature: WHOLE_LICENSE, consumed },
      ...features.map((feature) => ({ ...of, feature: feature.code, consumed: feature.consumed })),
    ];
  });
  if (totals.length > MAX_AMOUNTS) {
    return refuse('usage_file_invalid', `The usage file has more than ${MAX_AMOUNTS} amounts.`);
  }
  const names = new Set(totals.map(({ licenseId, feature }) => `${licenseId} ${feature}`));
  if (names.size === totals.length) return totals;
  return refuse('usage_file_invalid', 'The usage file has the same amount twice.');
}

/** The amount may only decrease if the license allows negative consumption. */
export function refuseShrunk(refusal: Refusal, total: UsageTotal, added: number): Refusal {
  if (refusal.code !== 'validation_error' || added >= 0) return refusal;
  const what = total.feature === WHOLE_LICENSE ? 'the license' : `the feature "${total.feature}"`;
  return refuse(
    'usage_file_invalid',
    `The usage file reports ${-added} less for ${what} than before, which the license does not allow.`,
  );
}
