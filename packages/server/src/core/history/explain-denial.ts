import type { ErrorCode } from '@berth/protocol/errors';
import { type Instant, say } from '../nouns/instant.ts';

/** What is known of a denial, or of several that were recorded together. */
interface DenialFacts {
  readonly reason: ErrorCode;
  readonly product: string;
  readonly feature: string | null;
  /** Of the first of them; `null`: unknown. */
  readonly slots: number | null;
  readonly inUse: number | null;
  readonly borrowed: number | null;
  readonly nextFreeAt: Instant | null;
}

/** Says why, in a sentence. */
export function explainDenial(facts: DenialFacts): string {
  if (facts.reason === 'floating_not_available') return explainFull(facts);
  const text = REASONS[facts.reason];
  return text === undefined ? `It was refused: ${facts.reason}.` : text(nameOf(facts));
}

function nameOf({ product, feature }: DenialFacts): string {
  return feature === null ? `"${product}"` : `"${feature}" of "${product}"`;
}

function explainFull(facts: DenialFacts): string {
  const { slots, inUse, borrowed, nextFreeAt } = facts;
  const name = nameOf(facts);
  if (slots === null) return `All slots of ${name} were in use.`;
  const all =
    slots === 1 ? `The only slot of ${name} was in use` : `All ${slots} slots of ${name} were in use`;
  const by = inUse === null || borrowed === null || borrowed === 0 ? '' : `: ${splitUse(inUse, borrowed)}`;
  const next = nextFreeAt === null ? '' : ` The next one was due to be free at ${say(nextFreeAt)}.`;
  return `${all}${by}.${next}`;
}

function splitUse(inUse: number, borrowed: number): string {
  return borrowed >= inUse ? 'all borrowed' : `${inUse - borrowed} by users, ${borrowed} borrowed`;
}

const REASONS: Readonly<Partial<Record<ErrorCode, (name: string) => string>>> = {
  license_not_enabled: (name) => `The license of ${name} was disabled by its vendor.`,
  license_not_active: (name) => `The license of ${name} was not active.`,
  license_start_date_error: (name) => `The license of ${name} was not valid yet.`,
  license_expired: (name) => `The license of ${name} had expired.`,
  server_identity_changed: (name) => `The license of ${name} was activated on another machine.`,
  license_check_overdue: (name) => `The license of ${name} had not been checked with its vendor in time.`,
  blacklisted: () => 'The administrator has barred this user, host or address.',
  invalid_license_feature_code: (name) => `There is no feature ${name}.`,
  license_feature_expired: (name) => `The feature ${name} had expired.`,
  feature_not_consumption: (name) => `The feature ${name} does not count consumption.`,
  feature_not_floating: (name) => `The feature ${name} has no slots of its own.`,
  license_not_consumption: (name) => `The license of ${name} does not count consumption.`,
  device_not_found: (name) => `The user held no slot of the license, which ${name} requires.`,
  license_borrow_not_allowed: (name) => `${name} cannot be borrowed.`,
  borrow_until_not_valid: (name) => `${name} cannot be borrowed until the requested date.`,
  address_limit_reached: (name) =>
    `As many slots of ${name} as the administrator allows were held or taken from this address.`,
  license_not_enough_consumptions: (name) => `Not enough consumption of ${name} was left.`,
  feature_not_enough_consumptions: (name) => `Not enough consumption of ${name} was left.`,
};
