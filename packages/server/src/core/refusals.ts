import type { InstallLicense, ReleaseFeature, Unregister } from './command.ts';
import type { Collected } from './lending/collect.ts';
import type { Feature } from './nouns/feature.ts';
import { type Instant, say } from './nouns/instant.ts';
import { isSameKey, type License, type LicenseId, licenseState, overdueFrom } from './nouns/license.ts';
import type { Registration } from './nouns/registration.ts';
import { type Refused, refuse } from './outcome.ts';
import type { LicenseView } from './view.ts';

/** Why the license lends nothing now, in order of precedence; `null`: it does. */
export function refuseByState(license: License, now: Instant): Refused | null {
  switch (licenseState(license, now)) {
    case 'disabled':
      return refuse(
        'license_not_enabled',
        `The license ${named(license)} was disabled by its vendor. Ask them to enable it.`,
      );
    case 'inactive':
      return refuse('license_not_active', `The license ${named(license)} is not active. Activate it first.`);
    case 'not_started':
      return refuseNotStarted(license);
    case 'expired':
      return refuseExpired(license);
    case 'elsewhere':
      return refuseElsewhere(license);
    case 'overdue':
      return refuseOverdue(license);
    case 'active':
    case 'in_grace':
      return null;
  }
}

/** The same for a holder, who may renew while the license is only away from its machine or its vendor. */
export function refuseRenewal(license: License, now: Instant): Refused | null {
  const state = licenseState(license, now);
  return state === 'elsewhere' || state === 'overdue' ? null : refuseByState(license, now);
}

function refuseElsewhere(license: License): Refused {
  return refuse(
    'server_identity_changed',
    `The license ${named(license)} was activated on another machine. ` +
      'The administrator must activate it on this one.',
    { movedAt: license.tie.movedAt },
  );
}

function refuseOverdue(license: License): Refused {
  const { maxOfflineDays, tie } = license;
  if (tie.assurance?.doubt?.stopsLending) {
    return refuse(
      'license_check_overdue',
      `The vendor's cloud answers for another license than ${named(license)}. The administrator sees in ` +
        '"berth doctor" what to do.',
    );
  }
  return refuse(
    'license_check_overdue',
    `The license ${named(license)} must be checked with its vendor every ${maxOfflineDays} days. The last ` +
      `check was at ${say(tie.checkedAt as Instant)}. The administrator sees the reason in "berth status".`,
    { overdueAt: overdueFrom(license) },
  );
}

const KEY_END = 4;

/**
 * A cloud that was restored may give the id of a license that is here to another one. And a check that ends
 * late must not bring back a license that was replaced meanwhile.
 */
export function refuseId(
  { license, by }: InstallLicense,
  held: License | undefined,
  replacing: LicenseId | null,
): Refused | null {
  const { id } = license;
  if (replacing !== null && by === 'cloud') {
    return refuse('license_not_found', `The license ${id} was replaced by ${replacing}.`);
  }
  if (held === undefined || isSameKey(held, license) !== false) return null;
  const { product, key } = held;
  return refuse(
    'validation_error',
    `This server has another license with the id ${id}: of "${product}", with a key that ends with ` +
      `"${key.slice(-KEY_END)}". The vendor may have restored a backup of the licensing cloud. Add that ` +
      'license again first: it then gets its new id, and keeps its slots. Or remove it.',
  );
}

/** Refuses consumption until a restored license was checked at the cloud; `null` if it may count. */
export function refuseRestored(license: License): Refused | null {
  const { restoredAt } = license.tie;
  if (restoredAt === undefined) return null;
  return refuse(
    'license_check_overdue',
    `The data of the server was restored from a backup, and the license ${named(license)} was not checked ` +
      'with its vendor since. It counts after that. The administrator can run "berth license sync".',
    { restoredAt },
  );
}

function refuseNotStarted(license: License): Refused {
  const startsAt = license.startsAt as Instant;
  return refuse(
    'license_start_date_error',
    `The license ${named(license)} is not valid before ${say(startsAt)}.`,
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

/** Something with slots: a license, or a feature of one. */
export interface Lender {
  readonly name: string;
  readonly slots: number;
  readonly inUse: number;
  /** When a slot ends and makes room; `null`: unknown, or the slot that ends next makes none. */
  readonly nextFreeAt: Instant | null;
  /** How many licenses of a pool were added up; left out for a single one. */
  readonly licenses?: number;
}

export function lenderOf(view: LicenseView, { inUse, held }: Collected): Lender {
  const { product, slots } = view.license;
  const nextFreeAt = isRoomNext(slots, inUse, held) ? view.findNextEnd() : null;
  return { name: product, slots, inUse, nextFreeAt };
}

/**
 * Returns whether the slot that ends next makes room. If a license has shrunk, more may have to end. A holder
 * who wants to borrow needs no further slot.
 */
export function isRoomNext(slots: number, inUse: number, held: object | null): boolean {
  return inUse <= (held === null ? slots : slots + 1);
}

export function refuseFull({ name, slots, inUse, nextFreeAt, licenses }: Lender): Refused {
  const whenFree = nextFreeAt === null ? '' : ` The next one may be free at ${say(nextFreeAt)}.`;
  const where = licenses === undefined ? '' : ` on ${licenses} license${licenses === 1 ? '' : 's'}`;
  const all = slots === 1 ? 'The only slot' : `All ${slots} slots`;
  const message = `${all} of "${name}" ${slots === 1 ? 'is' : 'are'} in use (${inUse}${where}).${whenFree}`;
  return refuse('floating_not_available', message, {
    slots,
    inUse,
    ...(nextFreeAt !== null && { nextFreeAt }),
    ...(licenses !== undefined && { licenses }),
  });
}

export function refuseNotHeld(license: License, user: string): Refused {
  return refuse('device_not_found', `"${user}" holds no slot of the license ${named(license)}.`);
}

/** Why this caller may not give the slot back; `null`: they may. */
export function refuseOthers(
  held: Pick<Registration, 'user' | 'credential'>,
  { credential }: Unregister | ReleaseFeature,
): Refused | null {
  if (credential === undefined || held.credential === null || held.credential === credential) return null;
  return refuse(
    'slot_of_another_client',
    `The slot of "${held.user}" was taken with other credentials. Use those, or ask an operator.`,
  );
}

export function refuseUnknownFeature(license: License, code: string): Refused {
  return refuse('invalid_license_feature_code', `The license ${named(license)} has no feature "${code}".`);
}

export function refuseFeatureExpired({ code, expiresAt }: Feature): Refused {
  const message = `The feature "${code}" expired at ${say(expiresAt as Instant)}.`;
  return refuse('license_feature_expired', message, { expiresAt });
}

function named(license: License): string {
  return `${license.id} of "${license.product}"`;
}

/** To a client that no longer waits for the answer. */
export const CLIENT_GONE = refuse('bad_request', 'The client disconnected.');
