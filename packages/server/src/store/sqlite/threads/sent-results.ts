import type { ConsumptionTotals } from '../../../core/nouns/consumption.ts';
import type { Instant } from '../../../core/nouns/instant.ts';
import type { License, LicenseId } from '../../../core/nouns/license.ts';
import type { Registration } from '../../../core/nouns/registration.ts';
import type { Measured } from '../../../core/outcome.ts';
import type { CommandResult } from '../../engine/execute.ts';
import type { Executed, GrantedNow } from '../../store.ts';

/** `null`: as in the last result that had one of this license. */
type News<T> = T | null;

interface SentGrant extends Omit<GrantedNow, 'license' | 'totals' | 'registration'> {
  readonly slot: SentSlot;
  readonly licenseId: LicenseId;
  readonly license: News<License>;
  readonly totals: News<ConsumptionTotals>;
}

interface SentMeasured extends Omit<Measured, 'holder'> {
  readonly holder?: { readonly license: News<License>; readonly endsAt: Instant };
}

/**
 * A result as it crosses to another thread. A license and its totals are large and change seldom: they are
 * sent only when they have changed.
 */
export type SentResult =
  | { readonly kind: 'error'; readonly message: string; readonly stack: string }
  | SentGrant
  | SentMeasured
  | Exclude<Executed, GrantedNow | Measured>;

type SentSlot = ReturnType<typeof packSlot>;

/** An array without names: every heartbeat is answered with a slot, and JSON reads it three times as fast. */
function packSlot(slot: Registration) {
  const { user, host, origin, credential, registeredAt, endsAt, borrowedUntil, spelling = null } = slot;
  const { hostname, address, info } = host;
  return [
    user,
    hostname,
    address,
    info,
    origin,
    credential,
    registeredAt,
    endsAt,
    borrowedUntil,
    spelling,
  ] as const;
}

function unpackSlot(sent: SentSlot): Registration {
  const [user, hostname, address, info, origin, credential, registeredAt, endsAt, borrowedUntil] = sent;
  const host = { hostname, address, info };
  const slot = { user, host, origin, credential, registeredAt, endsAt, borrowedUntil };
  const spelling = sent[9];
  return spelling === null ? slot : { ...slot, spelling };
}

export class ResultSender {
  readonly #licenses = new Map<LicenseId, License>();
  readonly #totals = new Map<LicenseId, ConsumptionTotals>();

  send(result: CommandResult): SentResult {
    if ('error' in result) return describeError(result.error);
    const { outcome } = result;
    if (outcome.kind === 'granted') {
      const { kind, registration, inUse, now } = outcome;
      const { id: licenseId } = outcome.license;
      const license = newsOf(this.#licenses, licenseId, outcome.license);
      const totals = newsOf(this.#totals, licenseId, outcome.totals);
      return { kind, licenseId, license, totals, slot: packSlot(registration), inUse, now };
    }
    if (outcome.kind !== 'measured' || outcome.holder === undefined) return outcome;
    const { license, endsAt } = outcome.holder;
    return { ...outcome, holder: { license: newsOf(this.#licenses, license.id, license), endsAt } };
  }
}

function newsOf<T>(sent: Map<LicenseId, T>, id: LicenseId, value: T): News<T> {
  if (sent.get(id) === value) return null;
  sent.set(id, value);
  return value;
}

function describeError(error: unknown): SentResult {
  if (!(error instanceof Error)) return { kind: 'error', message: String(error), stack: '' };
  return { kind: 'error', message: error.message, stack: error.stack ?? '' };
}

/** Outcomes share the license, and the totals, while it is the same. */
export class ResultReceiver {
  readonly #licenses = new Map<LicenseId, License>();
  readonly #totals = new Map<LicenseId, ConsumptionTotals>();

  receive(sent: SentResult): CommandResult {
    if (sent.kind === 'error')
      return { error: Object.assign(new Error(sent.message), { stack: sent.stack }) };
    if (sent.kind === 'granted') {
      const { kind, licenseId, inUse, now } = sent;
      const registration = unpackSlot(sent.slot);
      const license = lastOf(this.#licenses, licenseId, sent.license);
      const totals = lastOf(this.#totals, licenseId, sent.totals);
      return { outcome: { kind, license, registration, inUse, now, totals } };
    }
    if (sent.kind !== 'measured' || sent.holder === undefined) return { outcome: sent as Executed };
    const { license, endsAt } = sent.holder;
    const holder = { license: lastOf(this.#licenses, sent.licenseId, license), endsAt };
    return { outcome: { ...sent, holder } };
  }
}

function lastOf<T>(heard: Map<LicenseId, T>, id: LicenseId, news: News<T>): T {
  if (news !== null) heard.set(id, news);
  return heard.get(id) as T;
}
