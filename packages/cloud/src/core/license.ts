import type { Feature, Terms } from './terms.ts';

/** How a caller proves that it may activate a license of the product. */
export type AuthorizationMethod = 'license-key' | 'user';

export interface Product {
  readonly id: number;
  readonly code: string;
  readonly name: string;
  readonly authorizationMethod: AuthorizationMethod;
  readonly metadata: Readonly<Record<string, unknown>>;
}

export interface License {
  readonly id: number;
  readonly key: string;
  readonly product: Product;
  /** The user, if the product requires one. */
  readonly user: { readonly name: string; readonly passwordHash: string } | null;
  /** Who holds it: only pairs of keys of this customer, and the vendor's, open it. `null`: nobody. */
  readonly customer: string | null;
  readonly isEnabled: boolean;
  /** It was activated, and not reset since. */
  readonly isActive: boolean;
  /** How many times devices have deactivated it. */
  readonly transferCount: number;
  readonly terms: Terms;
}

/** Details that a device sent with its activation. */
export interface HostFacts {
  readonly hostname: string | null;
  readonly ip: string | null;
  readonly localIp: string | null;
  readonly osVersion: string | null;
  readonly appVersion: string | null;
  readonly sdkVersion: string | null;
  readonly info: string | null;
}

/** The details of a machine that sent none. */
export const UNKNOWN_HOST: HostFacts = {
  hostname: null,
  ip: null,
  localIp: null,
  osVersion: null,
  appVersion: null,
  sdkVersion: null,
  info: null,
};

export interface Device {
  readonly id: number;
  readonly hardwareId: string;
  readonly host: HostFacts;
  readonly activatedAt: number;
  /** The time of the last activation or check. */
  readonly seenAt: number;
  /** The key with which its server signs grants; null if the server sent none. */
  readonly grantKey: string | null;
  /** Whether certificates are issued for that key. */
  readonly isProven: boolean;
  /** When the last certificate ends that was issued for this activation. */
  readonly certifiedUntil: number | null;
}

const HOUR_MS = 60 * 60 * 1000;

/** With its grace period; `null`: never. */
export function licenseEnd({ validUntil, graceHours }: Terms): number | null {
  return validUntil === null ? null : validUntil + graceHours * HOUR_MS;
}

/** Expired means neither valid nor in the grace period. It is computed from the time; nothing is stored. */
export function isExpired(terms: Terms, now: number): boolean {
  const end = licenseEnd(terms);
  return end !== null && now >= end;
}

export function isStarted({ startsAt }: Terms, now: number): boolean {
  return startsAt === null || now >= startsAt;
}

export function findFeature({ features }: Terms, code: string): Feature | undefined {
  return features.find((feature) => feature.code === code);
}

export function isFeatureExpired({ expiresAt }: Feature, now: number): boolean {
  return expiresAt !== null && now >= expiresAt;
}

/** The name for messages. It omits the key, because messages end up in logs of other machines. */
export function nameOf({ id, product }: License): string {
  return `${id} of "${product.code}"`;
}

/** The date format of messages; the API has a different one. */
export function say(at: number): string {
  return new Date(at).toISOString();
}
