import { type AddressRange, parseRange } from '@berth/protocol/address-range';
import type { BorrowUntil, Target } from '../../core/command.ts';
import type { Actor } from '../../core/nouns/actor.ts';
import type { HostInfo } from '../../core/nouns/registration.ts';
import { explainUnfit, userNameOf } from '../../core/nouns/user-name.ts';
import type { RegistrationRecord } from '../../store/query.ts';
import type { Executed, Store } from '../../store/store.ts';
import { RequestError } from '../request-error.ts';
import { executeOnEachLicense } from './each-license.ts';

export type { Executed };

/** Which license is meant, and for whom; the user may be left out. */
export interface LendingRequest extends Target {
  readonly user: string | null;
  readonly host: HostInfo;
  readonly by?: Actor;
  /** What the caller has shown. */
  readonly credential?: string;
}

/** Lends slots and takes them back. Every answer is an outcome of the core. */
export interface Lending {
  register(request: LendingRequest): Promise<Executed>;
  borrow(request: LendingRequest, until: BorrowUntil): Promise<Executed>;
  unregister(request: LendingRequest): Promise<Executed>;
  release(target: Target, user: string, by: Actor): Promise<Executed>;
  recall(target: Target, user: string, by: Actor): Promise<Executed>;
  /** Takes back everything on every license, one command a license. Answers how many slots that freed. */
  releaseAll(by: Actor): Promise<number>;
  /** Takes back everything that came from an address or range. Answers how many slots that freed. */
  releaseFrom(target: Target, address: string, by: Actor): Promise<number>;
  list(filter: RegistrationFilter): Promise<readonly RegistrationRecord[]>;
}

interface RegistrationFilter extends Target {
  readonly user: string | null;
  /** Where the last request came from. */
  readonly origin?: AddressRange;
  readonly limit: number;
  readonly after: { readonly licenseId: NonNullable<Target['licenseId']>; readonly user: string } | null;
}

/** What one address may hold of a license; 0 is without a limit. */
export interface LendingLimits {
  readonly slotsPerAddress: number;
  readonly borrowsPerAddress: number;
}

const UNLIMITED: LendingLimits = { slotsPerAddress: 0, borrowsPerAddress: 0 };

export function createLending(store: Store, limits: LendingLimits = UNLIMITED): Lending {
  const perAddress = { slots: limits.slotsPerAddress, borrows: limits.borrowsPerAddress };
  const isLimited = perAddress.slots > 0 || perAddress.borrows > 0;
  const ask = (request: LendingRequest) => ({
    ...identifyTaker(request),
    host: request.host,
    ...(isLimited ? { perAddress } : {}),
  });
  return {
    register: async (request) => store.execute({ kind: 'register', ...ask(request) }),
    borrow: async (request, until) => store.execute({ kind: 'borrow', ...ask(request), until }),
    unregister: async (request) => store.execute({ kind: 'unregister', ...identify(request) }),
    release: ({ product, licenseId }, user, by) =>
      store.execute({ kind: 'release', product, licenseId, user: userNameOf(user), by }),
    recall: ({ product, licenseId }, user, by) =>
      store.execute({ kind: 'recall', product, licenseId, user: userNameOf(user), by }),
    releaseAll: (by) => executeOnEachLicense(store, (licenseId) => ({ kind: 'release_all', licenseId, by })),
    releaseFrom: ({ product, licenseId }, address, by) =>
      releaseFrom(store, { product, licenseId }, address, by),
    list: ({ user, ...filter }) =>
      store.read({
        kind: 'list_registrations',
        ...filter,
        user: user === null ? null : userNameOf(user),
      }),
  };
}

/** A client that names no user is known by its host name. */
export function identify({ product, licenseId, user, host, by, credential }: LendingRequest) {
  const holder = user ?? host.hostname;
  if (holder === null) {
    throw new RequestError('missing_parameters', 'Say who asks: "user" is missing, and so is "os_hostname".');
  }
  return {
    product,
    licenseId,
    user: userNameOf(holder),
    ...(by === undefined ? {} : { by }),
    ...(credential === undefined ? {} : { credential }),
  };
}

export function requireRange(text: string): AddressRange {
  const range = parseRange(text);
  if (range !== null) return range;
  const message = `"address" must be an address, or a range such as 10.0.0.0/8, and not "${text}".`;
  throw new RequestError('validation_error', message, { field: 'address' });
}

/** Slots that one command frees: each leaves an event, and all of them are one link of the chain. */
const RELEASED_AT_ONCE = 1000;

/** Looks for them first, so that no other request waits for that; every command looks at its own again. */
async function releaseFrom(store: Store, target: Target, address: string, by: Actor): Promise<number> {
  const origin = requireRange(address);
  let count = 0;
  let after: RegistrationFilter['after'] = null;
  for (;;) {
    const filter: RegistrationFilter = { ...target, user: null, origin, limit: RELEASED_AT_ONCE, after };
    const records: readonly RegistrationRecord[] = await store.read({
      kind: 'list_registrations',
      ...filter,
    });
    const last = records.at(-1);
    if (last === undefined) return count;
    for (const [licenseId, held] of Map.groupBy(records, (record) => record.licenseId)) {
      const users = held.map(({ registration }) => registration.user);
      const outcome = await store.execute({ kind: 'release_from', licenseId, users, address, by });
      if (outcome.kind === 'done') count += outcome.count;
    }
    after = { licenseId: last.licenseId, user: last.registration.user };
  }
}

/** For what is lent or counted. Giving back works under any name: somebody may hold a slot under it. */
export function identifyTaker(request: LendingRequest) {
  const identified = identify(request);
  requireFit(identified.user, request.user === null ? 'os_hostname' : 'user');
  return identified;
}

/** A name that looks like another one, or like nothing, would mislead whoever reads a list. */
export function requireFit(user: string, field: 'user' | 'os_hostname'): void {
  const problem = explainUnfit(user);
  if (problem !== null) throw new RequestError('validation_error', `"${field}" ${problem}.`, { field });
}
