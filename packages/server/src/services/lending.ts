import type { Actor } from '../core/actor.ts';
import type { BorrowUntil, Target } from '../core/command.ts';
import type { HostInfo } from '../core/registration.ts';
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
    register: (request) => store.execute({ kind: 'register', ...identify(request), host: request.host }),
    borrow: (request, until) =>
      store.execute({ kind: 'borrow', ...identify(request), host: request.host, until }),
    unregister: (request) => store.execute({ kind: 'unregister', ...identify(request) }),
    release: ({ product, licenseId }, user, by) =>
      store.execute({ kind: 'release', product, licenseId, user, by }),
    recall: ({ product, licenseId }, user, by) =>
      store.execute({ kind: 'recall', product, licenseId, user, by }),
    releaseAll: (by) => executeOnEachLicense(store, (licenseId) => ({ kind: 'release_all', licenseId, by })),
    list: (filter) => store.read({ kind: 'list_registrations', ...filter }),
  };
}

/** A client that names no user is known by its host name. */
export function identify({ product, licenseId, user, host, by }: LendingRequest) {
  const holder = user ?? host.hostname;
  if (holder === null) {
    throw new RequestError('missing_parameters', 'Say who asks: "user" is missing, and so is "os_hostname".');
  }
  return { product, licenseId, user: holder, ...(by === undefined ? {} : { by }) };
}
