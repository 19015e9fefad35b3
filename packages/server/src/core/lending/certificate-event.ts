import type { Actor } from '../nouns/actor.ts';
import type { LicenseEvent } from '../nouns/audit-event.ts';
import type { Certificate } from '../nouns/license.ts';

export function isSameCertificate({ texts }: Certificate, known: Certificate | undefined): boolean {
  return known !== undefined && texts.join() === known.texts.join();
}

/** The certificate itself is no secret, but long. */
export function certificateEvent({ kid, issuedAt, expiresAt }: Certificate, by: Actor): LicenseEvent {
  return { kind: 'certificate_added', kid, issuedAt, expiresAt, by };
}
