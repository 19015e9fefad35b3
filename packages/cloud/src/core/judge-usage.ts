import type { Usage } from '@berth/protocol/carried/usage-file';
import { WHOLE_LICENSE } from './decision.ts';
import { type Refusal, refuse } from './refusal.ts';

/** The newest usage of a server that was taken. */
export interface TakenUsage {
  readonly sequence: number;
  readonly digest: string;
}

/** No step back: an older file would take back what a newer one told. */
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

/** Everything that a server ever counted of a license, or of a feature of it. */
export interface Told {
  readonly licenseId: number;
  readonly licenseKey: string;
  /** `WHOLE_LICENSE` for the license itself. */
  readonly feature: string;
  readonly consumed: number;
}

/** Each amount costs a few statements, while everybody else waits. Two of the largest licenses have fewer. */
const MOST_AMOUNTS = 5000;

/** The single amounts. One that is told twice is refused: either reading would be a guess. */
export function listTold({ licenses }: Usage): readonly Told[] | Refusal {
  const told = licenses.flatMap(({ license_id, license_key, consumed, features }) => {
    const of = { licenseId: license_id, licenseKey: license_key };
    return [
      { ...of, feature: WHOLE_LICENSE, consumed },
      ...features.map((feature) => ({ ...of, feature: feature.code, consumed: feature.consumed })),
    ];
  });
  if (told.length > MOST_AMOUNTS) {
    return refuse('usage_file_invalid', `The usage file has more than ${MOST_AMOUNTS} amounts.`);
  }
  const names = new Set(told.map(({ licenseId, feature }) => `${licenseId} ${feature}`));
  if (names.size === told.length) return told;
  return refuse('usage_file_invalid', 'The usage file has the same amount twice.');
}

/** The amount cannot be smaller than before, unless it may be taken back. */
export function refuseShrunk(refusal: Refusal, told: Told, added: number): Refusal {
  if (refusal.code !== 'validation_error' || added >= 0) return refusal;
  const what = told.feature === WHOLE_LICENSE ? 'the license' : `the feature "${told.feature}"`;
  return refuse(
    'usage_file_invalid',
    `The usage file reports ${-added} less for ${what} than before, which the license does not allow.`,
  );
}
