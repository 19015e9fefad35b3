import { placeOf } from '@berth/protocol/address-range';
import type { Person } from '../../../core/history/usage-event.ts';
import { bucketStart, DAY_MS, HOUR_MS, type Instant, MINUTE_MS } from '../../../core/nouns/instant.ts';
import type { LicenseId } from '../../../core/nouns/license.ts';

/**
 * Clients can invent users, so a license's history names at most this many a day, and this many from one
 * place; the rest is counted as "others". The first is large enough for an office behind one address.
 */
const NAMES_PER_PLACE = 500;
const NAMES_PER_DAY = 10_000;

/** Records of denials in an hour: one per user, reason and minute. */
const DENIALS_PER_PLACE = 5_000;
const DENIALS_PER_HOUR = 10_000;

/** How a person is written down. */
interface NamedPerson {
  readonly user: string;
  readonly others: 0 | 1;
  readonly host: string;
  readonly address: string;
}

interface AdmittedNames {
  day: Instant;
  users: Set<string>;
  places: Map<string, number>;
  hour: Instant;
  records: number;
  recordsAt: Map<string, number>;
  minute: Instant;
  recent: Set<string>;
}

const OTHERS: NamedPerson = { user: '', others: 1, host: '', address: '' };

/**
 * Decides who is named. It counts in memory, for one server since its start: nothing has to be read before a
 * record is written. A name that was admitted for a commit that failed stays admitted.
 */
export class NameAllowance {
  readonly #licenses = new Map<LicenseId, AdmittedNames>();

  /** For the totals of a user. */
  admit(licenseId: LicenseId, { user, host, address }: Person, now: Instant): NamedPerson {
    const names = this.#licenses.getOrInsertComputed(licenseId, newNames);
    const day = bucketStart(now, DAY_MS);
    if (names.day !== day) Object.assign(names, { day, users: new Set(), places: new Map() });
    const named = { user: textOf(user), others: 0, host: textOf(host), address: textOf(address) } as const;
    if (named.user === '' || names.users.has(named.user)) return named;
    const place = placeFor(address);
    const known = names.places.get(place) ?? 0;
    if (names.users.size >= NAMES_PER_DAY) return OTHERS;
    // What did not come over the network was not invented by a client.
    if (place !== NOWHERE && known >= NAMES_PER_PLACE) return { ...OTHERS, address: named.address };
    names.users.add(named.user);
    names.places.set(place, known + 1);
    return named;
  }

  /** For a record of a denial, of which a user may have one for each minute. */
  admitDenial(licenseId: LicenseId, person: Person, about: string, now: Instant): NamedPerson {
    const named = this.admit(licenseId, person, now);
    const names = this.#licenses.getOrInsertComputed(licenseId, newNames);
    const hour = bucketStart(now, HOUR_MS);
    if (names.hour !== hour) Object.assign(names, { hour, records: 0, recordsAt: new Map() });
    const minute = bucketStart(now, MINUTE_MS);
    if (names.minute !== minute) Object.assign(names, { minute, recent: new Set() });
    const record = `${personKey(named)}${about}`;
    if (names.recent.has(record)) return named;
    if (names.records >= DENIALS_PER_HOUR) return OTHERS;
    const place = placeFor(person.address);
    const known = names.recordsAt.get(place) ?? 0;
    if (known >= DENIALS_PER_PLACE && named.others === 0) return { ...OTHERS, address: named.address };
    names.recent.add(record);
    names.records += 1;
    names.recordsAt.set(place, known + 1);
    return named;
  }
}

function newNames(): AdmittedNames {
  const never = 0 as Instant;
  return {
    day: never,
    users: new Set(),
    places: new Map(),
    hour: never,
    records: 0,
    recordsAt: new Map(),
    minute: never,
    recent: new Set(),
  };
}

/** Different for different persons, whatever comes after it. */
export function personKey({ user, others, host, address }: NamedPerson): string {
  return `${others}/${user.length}/${host.length}/${address.length}/${user}${host}${address}`;
}

const NOWHERE = '';

function placeFor(address: string | null): string {
  return address === null ? NOWHERE : placeOf(address);
}

/** A command that carries something else is denied all the same. */
function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
