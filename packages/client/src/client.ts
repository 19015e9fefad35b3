import { type CountOptions, type CountTarget, countNow, type Total } from './consumption/count.ts';
import { CountQueue } from './consumption/count-queue.ts';
import { findMark } from './device.ts';
import { type Duration, parseDuration } from './duration.ts';
import type { Environment, Storage } from './environment.ts';
import { BerthError } from './errors.ts';
import { guardStorage } from './guarded-storage.ts';
import { type OptionNames, refuseUnknown } from './known-options.ts';
import type { Account } from './lending/account.ts';
import { acquireAs, WAIT_OPTIONS, type WaitOptions } from './lending/acquire.ts';
import { Borrow } from './lending/borrow.ts';
import { listBorrows, resumeBorrow, type StoredBorrow } from './lending/find-borrows.ts';
import type { Margin } from './lending/lease.ts';
import { SlotRequests } from './lending/proven-lease.ts';
import type { Slot } from './lending/slot.ts';
import { type BorrowOptions, takeBorrow } from './lending/take-borrow.ts';
import { Verifier } from './proof/verifier.ts';
import { Servers } from './servers.ts';
import { SteadyClock } from './steady-clock.ts';
import type { TlsOptions } from './tls.ts';
import type { Token } from './token.ts';
import { describeProgram, describeSeat } from './user.ts';

export interface ClientOptions extends TlsOptions {
  /** The address of the server, or of several servers with the same database, the preferred one first. */
  readonly server: string | readonly string[];
  readonly product: string;
  /** Only this license of the product. */
  readonly licenseId?: number | undefined;
  /** Who uses the slot. By default, a name that no other program has; see `docs/integrating.md`. */
  readonly user?: string | undefined;
  /** Shown to administrators beside the user. */
  readonly userInfo?: string | undefined;
  /** Where the server requires one. A function is called before every request. */
  readonly token?: Token | undefined;
  /**
   * The vendor's public key as PEM, or several. With it, servers must prove that the vendor has licensed
   * them, and borrows that they have not been changed; see `docs/grants.md`.
   */
  readonly vendorKey?: string | readonly string[] | undefined;
  /** How long to wait for an answer of one server; by default 10 seconds. */
  readonly requestTimeout?: Duration | undefined;
  /**
   * Renews at least this often, so that a slot that an administrator has given to another user is noticed
   * sooner; at least `10s`. By default, as the server says.
   */
  readonly renewEvery?: Duration | undefined;
  /** Where borrows and queued counts are kept, instead of the usual place. */
  readonly storage?: Storage | undefined;
  /** What this computer is for borrows, instead of what identifies it to its operating system. */
  readonly device?: string | undefined;
}

const CLIENT_OPTIONS: OptionNames<ClientOptions> = {
  server: true,
  product: true,
  user: true,
  userInfo: true,
  licenseId: true,
  token: true,
  ca: true,
  cert: true,
  key: true,
  vendorKey: true,
  requestTimeout: true,
  renewEvery: true,
  storage: true,
  device: true,
};

const REQUEST_TIMEOUT_MS = 10_000;
/** More often, renewals of many clients would be a load. */
const SHORTEST_PACE_MS = 10_000;

/** One user of one product. */
export class Client {
  readonly #givenUser: string | null;
  #account: Account;
  #hasAcquired = false;
  #slot: Slot | null = null;

  /** @internal */
  constructor(environment: Environment, options: ClientOptions, margin?: Margin) {
    assertOptions(options);
    refuseUnknown('A client', options, CLIENT_OPTIONS);
    const storage = guardStorage(options.storage ?? environment.storage);
    const clock = new SteadyClock(environment);
    const servers = new Servers(environment, clock, {
      urls: typeof options.server === 'string' ? [options.server] : (options.server ?? []),
      token: options.token ?? null,
      timeoutMs: parseDuration('requestTimeout', options.requestTimeout ?? REQUEST_TIMEOUT_MS),
      tls: options,
    });
    if (typeof options.product !== 'string' || options.product === '') {
      throw new BerthError('invalid_option', 'There is no product.', 'Give "product": the product code.');
    }
    for (const name of ['user', 'device'] as const) {
      if (String(options[name] ?? name).trim() !== '') continue;
      throw new BerthError('invalid_option', `The ${name} is empty.`, `Give a "${name}", or leave it out.`);
    }
    this.#givenUser = options.user ?? null;
    this.#account = {
      environment,
      storage,
      clock,
      servers,
      product: options.product,
      user: options.user ?? describeProgram(environment.host, () => environment.createId()),
      instance: environment.createId(),
      licenseId: options.licenseId ?? null,
      verifier: options.vendorKey === undefined ? null : new Verifier(options.vendorKey),
      userInfo: options.userInfo ?? null,
      renewEveryMs: readPace(options.renewEvery),
      findMark: () => findMark({ environment, storage }, options.product, options.device ?? null),
      ...(margin === undefined ? {} : { margin }),
    };
  }

  get user(): string {
    return this.#account.user;
  }

  /** Takes a slot that renews itself until it is released. Throws a `DeniedError` if there is none. */
  async acquire(options: WaitOptions = {}): Promise<Slot> {
    if (this.#hasAcquired) this.#rename();
    this.#hasAcquired = true;
    this.#slot = await acquireAs(this.#account, options);
    return this.#slot;
  }

  /** Takes a slot and keeps it without network, until the date or as long as the license allows. */
  async borrow(options: BorrowOptions = {}): Promise<Borrow> {
    const seat = this.#seat;
    const { stored, lent, grant } = await takeBorrow(seat, new SlotRequests(seat), seat.licenseId, options);
    return new Borrow(seat, stored, lent, grant);
  }

  /**
   * Finds the borrow of an earlier start; of several, the one that ends last. Throws a `BorrowError` if no
   * borrow can be used, and a `ProofError` if it was changed or made on another computer.
   */
  resume(): Promise<Borrow> {
    return resumeBorrow(this.#seat, this.#givenUser === null);
  }

  /** All borrows of the product and the user that are stored here, also those that cannot be used now. */
  borrows(): Promise<readonly StoredBorrow[]> {
    return listBorrows(this.#seat, this.#givenUser === null);
  }

  /** Counts now, once, however often the request has to be repeated. */
  consume(count = 1, options: CountOptions = {}): Promise<Total> {
    return countNow(this.#account, this.#countTarget, count, options);
  }

  /** A queue for counts that must not be lost while no server can be reached. */
  openQueue(): CountQueue {
    return new CountQueue(this.#account, () => this.#countTarget);
  }

  /** The default user changes at each start, so with it a key would count again. */
  get #countTarget(): CountTarget {
    const { product, licenseId } = this.#account;
    const held = this.#slot?.isReleased === false ? this.#slot.licenseId : null;
    return { product, user: this.#givenUser, licenseId: licenseId ?? held };
  }

  /** A return that got no answer may reach the server late. It must not return the next slot. */
  #rename(): void {
    const { environment } = this.#account;
    const user = this.#givenUser ?? describeProgram(environment.host, () => environment.createId());
    this.#account = { ...this.#account, user, instance: environment.createId() };
  }

  /** Borrows need a user that is the same at the next start of the program. */
  get #seat(): Account {
    const { environment, user } = this.#account;
    // Browsers do not say where they are: the user of the program is stored with the borrow.
    const seat = environment.host.hostname === null ? user : describeSeat(environment.host);
    return { ...this.#account, user: this.#givenUser ?? seat };
  }
}

/** `acquire()` of the package takes the options of the client, too. @internal */
export async function acquireAlone(
  environment: Environment,
  options: ClientOptions & WaitOptions,
): Promise<Slot> {
  assertOptions(options);
  refuseUnknown('acquire()', options, { ...CLIENT_OPTIONS, ...WAIT_OPTIONS });
  const { wait, signal, onWait, ...own } = options;
  return new Client(environment, own).acquire({ wait, signal, onWait });
}

function assertOptions(options: unknown): void {
  if (typeof options === 'object' && options !== null) return;
  const advice = 'Give at least { server, product }.';
  throw new BerthError('invalid_option', 'There are no options.', advice);
}

function readPace(given: Duration | undefined): number {
  if (given === undefined) return Number.POSITIVE_INFINITY;
  const paceMs = parseDuration('renewEvery', given);
  if (paceMs >= SHORTEST_PACE_MS) return paceMs;
  const message = `"renewEvery" is too short: ${given}.`;
  throw new BerthError('invalid_option', message, 'Give at least "10s", or leave it out.');
}
