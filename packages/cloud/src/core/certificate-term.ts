import type { Terms } from './terms.ts';

const HOUR_MS = 60 * 60 * 1000;
const DAY_MS = 24 * HOUR_MS;

/** Servers with internet ask for a new one at half of this. */
const ONLINE_DAYS = 90;

/** Nobody renews a certificate behind an air gap, except with a newer file. */
const CARRIED_DAYS = 5 * 365;

/** How a certificate reaches its server. */
export type CertificateWay = 'online' | 'carried';

/** When a certificate that is issued now ends: with the license and its grace at the latest. */
export function certificateEnd({ validUntil, graceHours }: Terms, way: CertificateWay, now: number): number {
  const end = now + (way === 'online' ? ONLINE_DAYS : CARRIED_DAYS) * DAY_MS;
  return validUntil === null ? end : Math.min(end, validUntil + graceHours * HOUR_MS);
}
