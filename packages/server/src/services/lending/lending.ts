import { type AddressRange, parseRange } from '@berth/protocol/address-range';
import { RequestError } from '@berth/protocol/request-error';
import type { BorrowUntil, Target } from '../../core/command.ts';
import type { Actor } from '../../core/nouns/actor.ts';
import type { HostInfo } from '../../core/nouns/registration.ts';
import { explainUnfit, userNameOf } from '../../core/nouns/user-name.ts';
import type { ListRegistrations, RegistrationPage } from '../../store/query.ts';
import type { Executed, LineDescription, Store } from '../../store/store.ts';
import { executeOnEachLicense } from './each-license.ts';
import type { TakeSlot } from './new-slots.ts';
import type { Patience } from './waiting-room.ts';

export type { Executed };

/** The license and the user, who may be omitted. */
export interface LendingRequest extends Target {
  readonly user: string | null;
  readonly host: HostInfo;
  readonly by?: Actor;
  /** The caller's credentials. */
  readonly credential?: string;
  /** The program of the user that asks. */
  readonly instance?: string;
}

/** Lends and releases slots. Every result is an outcome of the core. An unfit request throws at once. */
export interface Lending {
  /** With patience, it waits for a slot. */
  register(request: LendingRequest, patience?: Patience): Promise<Executed>;
  borrow(request: LendingRequest, until: BorrowUntil): Promise<Executed>;
  unregister(request: LendingRequest): Promise<Executed>;
  release(target: Target, user: string, by: Actor): Promise<Executed>;
  recall(target: Target, user: string, by: Actor): Promise<Executed>;
  /** Releases all slots, with one command per license. Returns how many slots were freed. */
  releaseAll(by: Actor): Promise<number>;
  /** Releases all slots of an address or range. Returns how many slots were freed. */
  releaseFrom(target: Target, address: string, by: Actor): Promise<number>;
  list(filter: RegistrationFilter): Promise<RegistrationPart>;
  /** Who waits for a slot. */
  listWaiting(): Promise<LineDescription>;
}

interface RegistrationPart extends RegistrationPage {
  /** The last one, if there are more behind it. */
  readonly last: RegistrationPage['registrations'][number] | null;
}

interface RegistrationFilter extends Omit<ListRegistrations, 'kind' | 'search'> {
  /** A part of the name of a user or host, or an address or its beginning. */
  readonly search: string | undefined;
}

export function createLending(
  store: Store,
  takeSlot: TakeSlot = (command) => store.execute(command),
): Lending {
  const ask = (request: LendingRequest) => ({ ...identifyTaker(request), host: request.host });
  return {
    register: (request, patience) => takeSlot({ kind: 'register', ...ask(request) }, patience),
    borrow: (request, until) => takeSlot({ kind: 'borrow', ...ask(request), until }),
    unregister: (request) => store.execute({ kind: 'unregister', ...identify(request) }),
    release: ({ product, licenseId }, user, by) =>
      store.execute({ kind: 'release', product, licenseId, user: userNameOf(user), by }),
    recall: ({ product, licenseId }, user, by) =>
      store.execute({ kind: 'recall', product, licenseId, user: userNameOf(user), by }),
    releaseAll: (by) => executeOnEachLicense(store, (licenseId) => ({ kind: 'release_all', licenseId, by })),
    releaseFrom: ({ product, licenseId }, address, by) =>
      releaseFrom(store, { product, licenseId }, address, by),
    list: (filter) => listPart(store, filter),
    listWaiting: () => store.listWaiting(),
  };
}

/** Reads one more than wished, which shows whether there are more. */
async function listPart(store: Store, filter: RegistrationFilter): Promise<RegistrationPart> {
  const { user, search, limit, ...rest } = filter;
  const page = await store.read({
    kind: 'list_registrations',
    ...rest,
    limit: limit + 1,
    user: user === null ? null : userNameOf(user),
    search: search === undefined ? undefined : { text: search, origin: rangeMeant(search) },
  });
  const registrations = page.registrations.slice(0, limit);
  const hasMore = page.registrations.length > limit;
  return { ...page, registrations, last: hasMore ? (registrations.at(-1) ?? null) : null };
}
/** Almost every name. It needs no normalizing, and hides nothing. */
const PLAIN_NAME = /^[!-~]+(?: [!-~]+)*$/;

/** A client without a user name is identified by its host name. */
export function identify({ product, licenseId, user, host, by, credential, instance }: LendingRequest) {
  const holder = user ?? host.hostname;
  if (holder === null) {
    throw new RequestError(
      'missing_parameters',
      'Both "user" and "os_hostname" are missing. Send one of them.',
    );
  }
  const identified = {
    product,
    licenseId,
    user: PLAIN_NAME.test(holder) ? holder : userNameOf(holder),
    ...(by === undefined ? {} : { by }),
    ...(credential === undefined ? {} : { credential }),
  };
  return instance === undefined ? identified : { ...identified, instance };
}

export function requireRange(text: string): AddressRange {
  const range = parseRange(text);
  if (range !== null) return range;
  const message = `"address" must be an address or a range such as 10.0.0.0/8, not "${text}".`;
  throw new RequestError('validation_error', message, { field: 'address' });
}

/** The addresses that somebody means who types this: all of one, or its beginning. */
function rangeMeant(search: string): AddressRange | null {
  const parts = /^(\d{1,3})(?:\.(\d{1,3}))?(?:\.(\d{1,3}))?\.?$/.exec(search)?.slice(1) ?? [];
  const known = parts.filter((part) => part !== undefined);
  if (known.length === 0) return parseRange(search);
  return parseRange(`${[...known, 0, 0, 0].slice(0, 4).join('.')}/${known.length * 8}`);
}

/** How many slots one command frees: each adds an event, and all of them form one link of the chain. */
const RELEASED_AT_ONCE = 1000;

/** Searches first, so that no other request waits for it; each command then checks its slots again. */
async function releaseFrom(store: Store, target: Target, address: string, by: Actor): Promise<number> {
  const origin = requireRange(address);
  let count = 0;
  let after: ListRegistrations['after'] = null;
  for (;;) {
    const filter = { ...target, user: null, origin, limit: RELEASED_AT_ONCE, after };
    const page: RegistrationPage = await store.read({ kind: 'list_registrations', ...filter });
    const last = page.registrations.at(-1);
    if (last === undefined) return count;
    for (const [licenseId, held] of Map.groupBy(page.registrations, (record) => record.licenseId)) {
      const users = held.map(({ registration }) => registration.user);
      const outcome = await store.execute({ kind: 'release_from', licenseId, users, address, by });
      if (outcome.kind === 'done') count += outcome.count;
    }
    after = { licenseId: last.licenseId, user: last.registration.user };
  }
}

/** Names are checked when lending and counting. Releasing accepts any name: a slot may exist under it. */
export function identifyTaker(request: LendingRequest) {
  const identified = identify(request);
  const { user } = identified;
  if (!PLAIN_NAME.test(user)) requireFit(user, request.user === null ? 'os_hostname' : 'user');
  const { instance = '' } = request;
  if (instance !== '' && !PLAIN_NAME.test(instance)) requireFit(instance, 'instance');
  return identified;
}

/** A name that looks like another one, or like nothing, would mislead readers of a list. */
export function requireFit(name: string, field: 'user' | 'os_hostname' | 'instance'): void {
  const problem = explainUnfit(name);
  if (problem !== null) throw new RequestError('validation_error', `"${field}" ${problem}.`, { field });
}
