import { LICENSE_TYPES } from '@berth/protocol/api/license-object';
import { name } from '@berth/protocol/fields';
import { parseJsonText } from '@berth/protocol/json-text';
import { UsageError } from '@berth/shell/console/command-line';
import { CARRIED_DAYS } from '../../core/certificate-term.ts';
import type { TermsChange } from '../../core/change-terms.ts';
import { parseFeatureSpec, readPeriod } from '../../core/feature-spec.ts';
import type { License } from '../../core/license.ts';
import {
  ACTIVATIONS,
  AMOUNT,
  type Bounds,
  CERTIFICATE_DAYS,
  DAYS_OR_HOURS,
  MINUTES,
  readAmount,
  readDate,
  readEndDate,
  SLOTS,
  ValueError,
} from '../../core/read-values.ts';
import type { ConsumptionLimits, LicenseType } from '../../core/terms.ts';
import type { Flags } from '../command.ts';
import { flagOfState, LICENSE_STATES, stateOf } from './present.ts';

/** Only the given flags; everything else stays unchanged. */
export function readTermsChange(flags: Flags): TermsChange {
  refuseBoth(flags, 'activations', 'unlimited-activations');
  refuseBoth(flags, 'consumptions', 'unlimited-consumptions');
  refuseBoth(flags, 'negative', 'no-negative');
  return dropMissing({
    type: mapped(flags.type, readType),
    slots: amount(flags, 'slots', SLOTS),
    timeoutMinutes: amount(flags, 'timeout', MINUTES),
    borrowHours: amount(flags, 'borrow-hours', DAYS_OR_HOURS),
    startsAt: mapped(flags['starts-at'], (text) => readOrNever('starts-at', text, readDate)),
    validUntil: mapped(flags['valid-until'], (text) => readEndOrNever('valid-until', text)),
    graceHours: amount(flags, 'grace-hours', DAYS_OR_HOURS),
    maxActivations: flags['unlimited-activations'] ? null : amount(flags, 'activations', ACTIVATIONS),
    consumption: readLimits(flags),
    features: flags.feature?.map(parseFeatureSpec),
    withoutFeatures: flags['without-feature'],
    maxOfflineDays: amount(flags, 'max-offline-days', DAYS_OR_HOURS),
    metadata: mapped(flags.metadata, readMetadata),
    company: flags.company,
  });
}

/** Left out: as it is. */
export function readCustomer(flags: Flags): string | null | undefined {
  refuseBoth(flags, 'customer', 'without-customer');
  if (flags['without-customer']) return null;
  if (flags.customer === undefined) return undefined;
  const { data } = name.safeParse(flags.customer);
  if (data !== undefined) return data;
  throw new ValueError('"customer" must be a name of 1 to 256 printable characters.');
}

/** Which licenses to list: those that fit all given flags. */
export function readLicenseFilter(flags: Flags, now: number): (license: License) => boolean {
  const endsBefore = mapped(flags['ends-before'], (text) => readDate('ends-before', text));
  const state = mapped(flags.state, readState);
  return (license) => {
    const { product, customer, user, terms } = license;
    const isGiven = (flag: string | undefined, value: string | null) => flag === undefined || flag === value;
    return (
      isGiven(flags.product, product.code) &&
      isGiven(flags.customer, customer) &&
      isGiven(flags.company, terms.company) &&
      isGiven(flags.user, user?.name ?? null) &&
      isGiven(state, stateOf(license, now)) &&
      (endsBefore === undefined || (terms.validUntil !== null && terms.validUntil < endsBefore))
    );
  };
}

function readState(text: string): string {
  const state = LICENSE_STATES.find((one) => flagOfState(one) === text || one === text);
  if (state !== undefined) return state;
  throw new ValueError(
    `"state" cannot be "${text}". Allowed: ${LICENSE_STATES.map(flagOfState).join(', ')}.`,
  );
}

/** How long certificates in a file are valid. */
export function readCertificateDays(flags: Flags): number {
  return amount(flags, 'certificate-days', CERTIFICATE_DAYS) ?? CARRIED_DAYS;
}

/** Two flags, where the second negates the first. */
function refuseBoth(flags: Flags, one: keyof Flags, other: keyof Flags): void {
  if (flags[one] !== undefined && flags[other] !== undefined) {
    throw new UsageError(`--${one} and --${other} contradict each other.`);
  }
}

function mapped<T>(text: string | undefined, read: (text: string) => T): T | undefined {
  return text === undefined ? undefined : read(text);
}

function amount(flags: Flags, name: keyof Flags, bounds: Bounds): number | undefined {
  return mapped(flags[name] as string | undefined, (text) => readAmount(name, text, bounds));
}

function dropMissing(fields: Readonly<Record<string, unknown>>): TermsChange {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

function readLimits(flags: Flags): Partial<ConsumptionLimits> | undefined {
  const limits = dropMissing({
    max: flags['unlimited-consumptions'] ? null : amount(flags, 'consumptions', AMOUNT),
    overages: amount(flags, 'overages', AMOUNT),
    allowNegative: flags.negative ?? (flags['no-negative'] ? false : undefined),
    period: mapped(flags.period, (text) => (text === 'none' ? null : readPeriod(text))),
  }) as Partial<ConsumptionLimits>;
  return Object.keys(limits).length === 0 ? undefined : limits;
}

function readType(text: string): LicenseType {
  const type = LICENSE_TYPES.find((name) => name === text);
  if (type !== undefined) return type;
  throw new ValueError(`"type" cannot be "${text}". Allowed: ${LICENSE_TYPES.join(', ')}.`);
}

export function readEndOrNever(name: string, text: string): number | null {
  return readOrNever(name, text, readEndDate);
}

function readOrNever(name: string, text: string, read: typeof readDate): number | null {
  return text === 'never' ? null : read(name, text);
}

function readMetadata(text: string): Record<string, unknown> {
  const value = parseMetadata(text);
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    return value as Record<string, unknown>;
  }
  throw new ValueError('"metadata" must be one JSON object, such as \'{"tier":"gold"}\'.');
}

function parseMetadata(text: string): unknown {
  try {
    return parseJsonText(text);
  } catch {
    return null;
  }
}
