import type { Command, UserProof } from './command.ts';
import type { License } from './license.ts';
import { type Refusal, refuse } from './refusal.ts';

/** Returns the license if the caller may use it; otherwise a refusal, even if there is no license. */
export function identify(
  { kind, who }: Command,
  license: License | null,
  isOnDevice: boolean,
): License | Refusal {
  const isOther = license !== null && who.licenseId !== null && who.licenseId !== license.id;
  if (who.proof.kind === 'user') {
    if (license === null || !isProven(who.proof, license, kind !== 'activate' && isOnDevice)) {
      return refuse('invalid_credentials', 'The user name or the password is wrong.');
    }
  }
  // The key of a user's license is known only after activation; it cannot replace the password.
  const needsPassword = who.proof.kind === 'key' && license?.user != null && kind === 'activate';
  if (license !== null && !isOther && !needsPassword) return license;
  return refuse('license_not_found', `The license does not exist for product "${who.product}".`);
}

/** A machine that was activated with the password does not need to send it again. */
function isProven({ password }: UserProof, { user }: License, isOnDevice: boolean): boolean {
  if (password === 'none') return isOnDevice;
  return password !== 'wrong' && password.fits === user?.passwordHash;
}
