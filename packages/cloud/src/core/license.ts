import type { Feature, Terms } from './terms.ts';

/** How whoever activates a license of the product proves that it is theirs. */
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
  /** Whose it is, where the product asks for users. */
  readonly user: { readonly name: string; readonly passwordHash: string } | null;
  readonly isEnabled: boolean;
  /** It was activated, and not reset since. */
  readonly isActive: boolean;
  /** How often a device gave it back. */
  readonly transferCount: number;
  readonly terms: Terms;
}

/** What a device told about itself when it activated. */
export interface HostFacts {
  readonly hostname: string | null;
  readonly ip: string | null;
  readonly localIp: string | null;
  readonly osVersion: string | null;
  readonly appVersion: string | null;
  readonly sdkVersion: string | null;
  readonly info: string | null;
}

/** Of a machine that told nothing. */
export const UNKNOWN_HOST: HostFacts = {
  hostname: null,
  ip: null,
  localIp: null,
  osVersion: null,
  appVersion: null,
  sdkVersion: null,
  info: null,
};

/** A machine on which a license is activated. */
export interface Device {
  readonly id: number;
  readonly hardwareId: string;
  readonly host: HostFacts;
  readonly activatedAt: number;
  /** When it activated or checked for the last time. */
  readonly seenAt: number;
}

const HOUR_MS = 60 * 60 * 1000;

/** Over is what is neither valid nor in its grace. A comparison with the time; nothing has to be marked. */
export function isExpired({ validUntil, graceHours }: Terms, now: number): boolean {
  return validUntil !== null && now >= validUntil + graceHours * HOUR_MS;
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

/** For sentences. The key is not in them: they end up in logs of other machines. */
export function nameOf({ id, product }: License): string {
  return `${id} of "${product.code}"`;
}

/** For sentences; the wire has its own format. */
export function say(at: number): string {
  return new Date(at).toISOString();
}
