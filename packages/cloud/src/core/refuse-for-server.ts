import type { License } from './license.ts';
import { type Refusal, refuse } from './refusal.ts';

/**
 * What a server would refuse is refused here first: by the time that the server says so, the activation is
 * used up.
 */
export function refuseWithoutSlots({ key, terms }: License): Refusal | null {
  if (terms.lending !== null) return null;
  return refuse(
    'license_not_floating',
    'The license has no slots, and servers refuse such a license. Nothing was activated. ' +
      `Grant some with "cloud license change ${key} --slots N".`,
  );
}

/** The fault is the sentence of the reader that servers have, too. */
export function refuseUnreadable({ terms }: Pick<License, 'terms'>, fault: string): Refusal {
  const { length } = terms.features;
  return refuse(
    'license_not_readable',
    `Servers cannot read this license. ${fault} Nothing was done. It has ${length} features: ` +
      'grant fewer, or put less into its metadata.',
  );
}

/** Whether servers could take a license as it is granted; handed in by whoever knows how it is written. */
export type JudgeLicense = (license: License) => Refusal | null;
