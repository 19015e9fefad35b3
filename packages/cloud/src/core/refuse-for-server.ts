import type { License } from './license.ts';
import { type Refusal, refuse } from './refusal.ts';

/** Refuses in advance what a server would refuse after the activation is used up. */
export function refuseWithoutSlots({ key, terms }: License): Refusal | null {
  if (terms.lending !== null) return null;
  return refuse(
    'license_not_floating',
    'The license has no slots, and servers refuse such a license. Nothing was activated. ' +
      `Grant some with "cloud license change ${key} --slots N".`,
  );
}

/** The message comes from the same parser that servers use. */
export function refuseUnreadable({ terms }: Pick<License, 'terms'>, fault: string): Refusal {
  const { length } = terms.features;
  return refuse(
    'license_not_readable',
    `Servers cannot read this license. ${fault} Nothing was done. It has ${length} features: ` +
      'grant fewer, or put less into its metadata.',
  );
}

/** Refuses a license that servers cannot read; passed in by the module that writes files. */
export type JudgeLicense = (license: License) => Refusal | null;
