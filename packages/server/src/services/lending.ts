import type { Actor } from '../core/actor.ts';
import type { BorrowUntil, Target } from '../core/command.ts';
import type { HostInfo } from '../core/registration.ts';
import { explainUnfit, userNameOf } from '../core/user-name.ts';
import type { RegistrationRecord } from '../store/query.ts';
import type { Executed, Store } from '../store/store.ts';
import { executeOnEachLicense } from './each-license.ts';
import { RequestError } from './request-error.ts';

export type { Executed };

/** Which license is meant, and for whom; the user may be left out. */
export interface LendingRequest extends Target {
  readonly user: string | null;
  readonly host: HostInfo;
  readonly by?: Actor;
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
  list(filter: RegistrationFilter): Promise<readonly RegistrationRecord[]>;
}

export interface RegistrationFilter extends Target {
  readonly user: string | null;
  readonly limit: number;
  readonly after: { readonly licenseId: NonNullable<Target['licenseId']>; readonly user: string } | null;
}

export function createLending(store: Store): Lending {
  return {
    register: async (request) =>
      store.execute({ kind: 'register', ...identifyTaker(request), host: request.host }),
    borrow: async (request, until) =>
      store.execute({ kind: 'borrow', ...identifyTaker(request), host: request.host, until }),
    unregister: async (request) => store.execute({ kind: 'unregister', ...identify(request) }),
    release: ({ product, licenseId }, user, by) =>
      store.execute({ kind: 'release', product, licenseId, user: userNameOf(user), by }),
    recall: ({ product, licenseId }, user, by) =>
      store.execute({ kind: 'recall', product, licenseId, user: userNameOf(user), by }),
    releaseAll: (by) => executeOnEachLicense(store, (licenseId) => ({ kind: 'release_all', licenseId, by })),
    list: ({ user, ...filter }) =>
      store.read({
        kind: 'list_registrations',
        ...filter,
        user: user === null ? null : userNameOf(user),
      }),
  };
}

/** A client that names no user is known by its host name. */
export function identify({ product, licenseId, user, host, by }: LendingRequest) {
  const holder = user ?? host.hostname;
  if (holder === null) {
    throw new RequestError('missing_parameters', 'Say who asks: "user" is missing, and so is "os_hostname".');
  }
  return { product, licenseId, user: userNameOf(holder), ...(by === undefined ? {} : { by }) };
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
