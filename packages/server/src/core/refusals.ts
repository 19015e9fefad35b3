import { type Refused, refuse } from './decision.ts';
import { type Instant, say } from './instant.ts';
import { type License, licenseState } from './license.ts';

/** Why the license lends and renews nothing now, in order of precedence; `null` when it does. */
export function refuseByState(license: License, now: Instant): Refused | null {
  switch (licenseState(license, now)) {
    case 'disabled':
      return refuse('license_not_enabled', `The license ${named(license)} was disabled by its vendor.`);
    case 'inactive':
      return refuse('license_not_active', `The license ${named(license)} is not active. Activate it first.`);
    case 'not_started':
      return refuseNotStarted(license);
    case 'expired':
      return refuseExpired(license);
    case 'active':
    case 'in_grace':
      return null;
  }
}

function refuseNotStarted(license: License): Refused {
  const startsAt = license.startsAt as Instant;
  return refuse(
    'license_start_date_error',
    `The license ${named(license)} is valid from ${say(startsAt)} on.`,
    {
      startsAt,
    },
  );
}

function refuseExpired(license: License): Refused {
  const validUntil = license.validUntil as Instant;
  return refuse('license_expired', `The license ${named(license)} expired at ${say(validUntil)}.`, {
    validUntil,
  });
}

/** Facts about a full license: how many slots, how many in use, when the next one is free. */
export function refuseFull(license: License, inUse: number, nextFreeAt: Instant | null): Refused {
  const whenFree = nextFreeAt === null ? '' : ` The next one may be free at ${say(nextFreeAt)}.`;
  return refuse(
    'floating_not_available',
    `All ${license.slots} slots of "${license.product}" are in use (${inUse}).${whenFree}`,
    { slots: license.slots, inUse, nextFreeAt },
  );
}

export function refuseNotHeld(license: License, user: string): Refused {
  return refuse('device_not_found', `"${user}" holds no slot of the license ${named(license)}.`);
}

function named(license: License): string {
  return `${license.id} of "${license.product}"`;
}
