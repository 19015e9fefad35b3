import { isExpired, isStarted, type License, nameOf, say } from './license.ts';
import { type Refusal, refuse } from './refusal.ts';

export function refuseDisabled(license: License): Refusal | null {
  if (license.isEnabled) return null;
  return refuse('license_not_enabled', `The vendor has disabled license ${nameOf(license)}.`);
}

export function refuseInactive(license: License): Refusal | null {
  if (license.isActive) return null;
  return refuse('license_not_active', `The license ${nameOf(license)} is not active. Activate it first.`);
}

export function refuseNotStarted(license: License, now: number): Refusal | null {
  if (isStarted(license.terms, now)) return null;
  const startsAt = say(license.terms.startsAt as number);
  const message = `The license ${nameOf(license)} is valid from ${startsAt}.`;
  return refuse('license_start_date_error', message, { starts_at: startsAt });
}

export function refuseExpired(license: License, now: number): Refusal | null {
  if (!isExpired(license.terms, now)) return null;
  const validUntil = say(license.terms.validUntil as number);
  const message = `The license ${nameOf(license)} expired at ${validUntil}.`;
  return refuse('license_expired', message, { valid_until: validUntil });
}

export function refuseBlocked(isBlocked: boolean, hardwareId: string): Refusal | null {
  return isBlocked ? refuse('blacklisted', `The machine "${hardwareId}" is barred from all licenses.`) : null;
}

export function refuseNoDevice(license: License, hardwareId: string): Refusal {
  const message = `The license ${nameOf(license)} is not activated on the machine "${hardwareId}".`;
  return refuse('device_not_found', message);
}
