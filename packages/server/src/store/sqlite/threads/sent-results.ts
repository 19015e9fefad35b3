import type { ConsumptionTotals } from '../../../core/nouns/consumption.ts';
import type { Instant } from '../../../core/nouns/instant.ts';
import type { License, LicenseId } from '../../../core/nouns/license.ts';
import type { Measured } from '../../../core/outcome.ts';
import type { CommandResult } from '../../engine/execute.ts';
import type { Executed, GrantedNow } from '../../store.ts';

/** `null`: as in the last result that had one of this license. */
type News<T> = T | null;

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

type SentGrant = ReturnType<typeof packGrant>;

/** Values without names: most results answer a heartbeat, and names are half of its JSON. */
function packGrant(
  { license: { id }, registration, inUse, now }: GrantedNow,
  license: News<License>,
  totals: News<ConsumptionTotals>,
) {
  const { user, host, origin, credential, registeredAt, endsAt, borrowedUntil } = registration;
  const { spelling, programs } = registration;
  const { hostname, address, info } = host;
  const facts = [user, hostname, address, info, origin, credential] as const;
  const slot = [...facts, registeredAt, endsAt, borrowedUntil, spelling ?? null, programs] as const;
  return [id, license, totals, inUse, now, slot] as const;
}

export class ResultSender {
  readonly #licenses = new Map<LicenseId, License>();
  readonly #totals = new Map<LicenseId, ConsumptionTotals>();

  send(result: CommandResult): SentResult {
    if ('error' in result) return describeError(result.error);
    const { outcome } = result;
    if (outcome.kind === 'granted') {
      const { id } = outcome.license;
      const license = newsOf(this.#licenses, id, outcome.license);
      return packGrant(outcome, license, newsOf(this.#totals, id, outcome.totals));
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
    if (!('kind' in sent)) return { outcome: this.#unpackGrant(sent) };
    if (sent.kind === 'error')
      return { error: Object.assign(new Error(sent.message), { stack: sent.stack }) };
    if (sent.kind !== 'measured' || sent.holder === undefined) return { outcome: sent as Executed };
    const { license, endsAt } = sent.holder;
    const holder = { license: lastOf(this.#licenses, sent.licenseId, license), endsAt };
    return { outcome: { ...sent, holder } };
  }

  #unpackGrant(sent: SentGrant): GrantedNow {
    const [id, newLicense, newTotals, inUse, now, slot] = sent;
    const license = lastOf(this.#licenses, id, newLicense);
    const totals = lastOf(this.#totals, id, newTotals);
    const [user, hostname, address, info, origin, credential, registeredAt, endsAt, borrowedUntil] = slot;
    const host = { hostname, address, info };
    const [spelling, programs] = [slot[9], slot[10]];
    const facts = { user, host, origin, credential, registeredAt, endsAt, borrowedUntil, programs };
    const registration = spelling === null ? facts : { ...facts, spelling };
    return { kind: 'granted', license, registration, inUse, now, totals };
  }
}

function lastOf<T>(heard: Map<LicenseId, T>, id: LicenseId, news: News<T>): T {
  if (news !== null) heard.set(id, news);
  return heard.get(id) as T;
}
