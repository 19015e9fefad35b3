import type { Standing } from '../../../core/nouns/consumption.ts';
import type { FeatureSlot } from '../../../core/nouns/feature-slot.ts';
import type { Instant } from '../../../core/nouns/instant.ts';
import type { License, LicenseId } from '../../../core/nouns/license.ts';
import type { Registration } from '../../../core/nouns/registration.ts';
import type { Measured } from '../../../core/outcome.ts';
import type { CommandResult } from '../../engine/execute.ts';
import type { GrantedNow } from '../../store.ts';
import { PackedValues } from './packed-commands.ts';

/**
 * The results of a batch as one flat array of values, each behind its mark. A license and its standing are
 * large and change seldom: they are sent before the first result that needs them, and again when they change.
 */
export type PackedResults = readonly unknown[];

const LICENSE = 0;
const STANDING = 1;
const GRANTED = 2;
const MEASURED = 3;
const DONE = 4;
const OUTCOME = 5;
const FAILED = 6;

const NO_FEATURE = -1;

export class ResultPacker {
  readonly #findLicense: (id: LicenseId) => License | undefined;
  readonly #sent = new Map<LicenseId, License>();
  readonly #sentStandings = new Map<LicenseId, Standing>();

  constructor(findLicense: (id: LicenseId) => License | undefined) {
    this.#findLicense = findLicense;
  }

  pack(results: readonly CommandResult[]): PackedResults {
    const values: unknown[] = [];
    for (const result of results) this.#packOne(values, result);
    return values;
  }

  #packOne(values: unknown[], result: CommandResult): void {
    if ('error' in result) {
      const { message, stack } = describeError(result.error);
      values.push(FAILED, message, stack);
      return;
    }
    const { outcome } = result;
    switch (outcome.kind) {
      case 'granted':
        this.#packGranted(values, outcome);
        break;
      case 'measured':
        this.#packMeasured(values, outcome);
        break;
      case 'done':
        values.push(DONE, outcome.count);
        break;
      default:
        values.push(OUTCOME, outcome);
    }
  }

  #packGranted(values: unknown[], { license, standing, registration, inUse, now }: GrantedNow): void {
    const { id } = license;
    this.#sendLicense(values, license);
    if (this.#sentStandings.get(id) !== standing) {
      this.#sentStandings.set(id, standing);
      values.push(STANDING, id, standing);
    }
    const { user, host, origin, credential, registeredAt, endsAt, borrowedUntil, spelling } = registration;
    values.push(GRANTED, id, inUse, now, user, host.hostname, host.address, host.info);
    values.push(origin, credential, registeredAt, endsAt, borrowedUntil, spelling);
  }

  /** The feature and the limits are those of the license, unless the answer is an old one. */
  #packMeasured(values: unknown[], outcome: Measured): void {
    const { licenseId, feature, limits, total, inUse, slot, holder, now } = outcome;
    const license = this.#findLicense(licenseId);
    const index = feature === null ? NO_FEATURE : license?.features.indexOf(feature);
    const known = index === NO_FEATURE ? license?.consumption : license?.features[index ?? 0]?.consumption;
    if (license === undefined || known !== limits || (feature !== null && index === NO_FEATURE)) {
      values.push(OUTCOME, outcome);
      return;
    }
    this.#sendLicense(values, license);
    values.push(MEASURED, licenseId, index, total, inUse, slot, holder?.endsAt, now);
  }

  #sendLicense(values: unknown[], license: License): void {
    if (this.#sent.get(license.id) === license) return;
    this.#sent.set(license.id, license);
    values.push(LICENSE, license);
  }
}

function describeError(error: unknown): { message: string; stack: string } {
  if (!(error instanceof Error)) return { message: String(error), stack: '' };
  return { message: error.message, stack: error.stack ?? '' };
}

/** Outcomes share the license, and the standing, while it is the same. */
export class ResultUnpacker {
  readonly #licenses = new Map<LicenseId, License>();
  readonly #standings = new Map<LicenseId, Standing>();

  unpack(packed: PackedResults): CommandResult[] {
    const values = new PackedValues(packed);
    const results: CommandResult[] = [];
    while (!values.isEmpty) {
      const result = this.#unpackOne(values);
      if (result !== null) results.push(result);
    }
    return results;
  }

  #unpackOne(values: PackedValues): CommandResult | null {
    switch (values.take<number>()) {
      case LICENSE: {
        const license = values.take<License>();
        this.#licenses.set(license.id, license);
        return null;
      }
      case STANDING:
        this.#standings.set(values.take(), values.take());
        return null;
      case GRANTED:
        return { outcome: this.#unpackGranted(values) };
      case MEASURED:
        return { outcome: this.#unpackMeasured(values) };
      case DONE:
        return { outcome: { kind: 'done', count: values.take() } };
      case FAILED:
        return { error: unpackError(values) };
      default:
        return { outcome: values.take() };
    }
  }

  #unpackGranted(values: PackedValues): GrantedNow {
    const id = values.take<LicenseId>();
    return {
      kind: 'granted',
      license: this.#licenses.get(id) as License,
      standing: this.#standings.get(id) as Standing,
      inUse: values.take(),
      now: values.take(),
      registration: unpackRegistration(values),
    };
  }

  #unpackMeasured(values: PackedValues): Measured {
    const licenseId = values.take<LicenseId>();
    const license = this.#licenses.get(licenseId) as License;
    const feature = license.features[values.take<number>()] ?? null;
    const measured = {
      kind: 'measured',
      licenseId,
      feature,
      limits: (feature ?? license).consumption,
      total: values.take<number>(),
      inUse: values.take<number>(),
      slot: values.take<FeatureSlot | null>(),
    } as const;
    const endsAt = values.take<Instant | undefined>();
    const now = values.take<Instant>();
    return endsAt === undefined ? { ...measured, now } : { ...measured, holder: { license, endsAt }, now };
  }
}

function unpackRegistration(values: PackedValues): Registration {
  const registration: Registration = {
    user: values.take(),
    host: { hostname: values.take(), address: values.take(), info: values.take() },
    origin: values.take(),
    credential: values.take(),
    registeredAt: values.take(),
    endsAt: values.take(),
    borrowedUntil: values.take(),
  };
  const spelling = values.take<string | undefined>();
  return spelling === undefined ? registration : { ...registration, spelling };
}

function unpackError(values: PackedValues): Error {
  const error = new Error(values.take<string>());
  error.stack = values.take<string>();
  return error;
}
