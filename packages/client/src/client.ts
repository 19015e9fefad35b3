import { type CountOptions, countNow, type Total } from './consumption/count.ts';
import { CountQueue } from './consumption/count-queue.ts';
import { type Duration, parseDuration } from './duration.ts';
import type { Environment, Storage } from './environment.ts';
import { BerthError, BorrowError } from './errors.ts';
import type { Account } from './lending/account.ts';
import { acquireAs, type WaitOptions } from './lending/acquire.ts';
import { type Borrow, type BorrowOptions, borrowAs, resumeBorrow } from './lending/borrow.ts';
import type { Margin } from './lending/lease.ts';
import type { Slot } from './lending/slot.ts';
import { SlotRequests } from './proof/proven-lease.ts';
import { Verifier } from './proof/verifier.ts';
import { Servers } from './servers.ts';
import { SteadyClock } from './steady-clock.ts';
import { describeProgram, describeSeat } from './user.ts';

export interface ClientOptions {
  /** The address of the server, or of several servers with the same database, the preferred one first. */
  readonly server: string | readonly string[];
  readonly product: string;
  /** Only this license of the product. */
  readonly licenseId?: number;
  /** Who uses the slot. By default, a name that no other program has; see `docs/integrating.md`. */
  readonly user?: string;
  /** Shown to administrators beside the user. */
  readonly userInfo?: string;
  /** Where the server requires one. A function is called before every request. */
  readonly token?: string | (() => string | Promise<string>);
  /**
   * The vendor's public key as PEM. With it, servers must prove that the vendor has licensed them, and
   * borrows that they have not been changed; see `docs/grants.md`.
   */
  readonly vendorKey?: string;
  /** How long to wait for an answer of one server; by default 10 seconds. */
  readonly requestTimeout?: Duration;
  /** Where borrows and queued counts are kept, instead of the usual place. */
  readonly storage?: Storage;
}

const REQUEST_TIMEOUT_MS = 10_000;

/** One user of one product. */
export class Client {
  readonly #givenUser: string | null;
  #account: Account;
  #hasAcquired = false;

  /** @internal */
  constructor(environment: Environment, options: ClientOptions, margin?: Margin) {
    const ours = options.storage === undefined ? environment : withStorage(environment, options.storage);
    const clock = new SteadyClock(ours);
    const servers = new Servers(ours, clock, {
      urls: typeof options.server === 'string' ? [options.server] : (options.server ?? []),
      token: options.token ?? null,
      timeoutMs: parseDuration('requestTimeout', options.requestTimeout ?? REQUEST_TIMEOUT_MS),
    });
    if (typeof options.product !== 'string' || options.product === '') {
      throw new BerthError('invalid_option', 'There is no product.', 'Give "product": the product code.');
    }
    this.#givenUser = options.user ?? null;
    if (this.#givenUser !== null && String(this.#givenUser).trim() === '') {
      throw new BerthError('invalid_option', 'The user is empty.', 'Give a "user", or leave it out.');
    }
    this.#account = {
      environment: ours,
      clock,
      servers,
      product: options.product,
      user: options.user ?? describeProgram(ours.host, () => ours.createId()),
      licenseId: options.licenseId ?? null,
      verifier: options.vendorKey === undefined ? null : new Verifier(options.vendorKey),
      userInfo: options.userInfo ?? null,
      ...(margin === undefined ? {} : { margin }),
    };
  }

  get user(): string {
    return this.#account.user;
  }

  /** Takes a slot that renews itself until it is released. Throws a `DeniedError` if there is none. */
  acquire(options: WaitOptions = {}): Promise<Slot> {
    if (this.#hasAcquired) this.#renameUser();
    this.#hasAcquired = true;
    return acquireAs(this.#account, options);
  }

  /** Takes a slot and keeps it without network, until the date or as long as the license allows. */
  async borrow(options: BorrowOptions = {}): Promise<Borrow> {
    const seat = this.#seat;
    const { borrow } = await borrowAs(seat, new SlotRequests(seat), seat.licenseId, options);
    return borrow;
  }

  /**
   * Finds the borrow of an earlier start. Throws a `BorrowError` if there is none, or if it cannot be used,
   * and a `ProofError` if it is of another user or product, or was changed.
   */
  async resume(): Promise<Borrow> {
    const borrow = await resumeBorrow(this.#seat, this.#givenUser === null);
    if (borrow !== null) return borrow;
    throw new BorrowError('no_borrow', `No slot of "${this.#account.product}" is borrowed here.`);
  }

  /** Counts now, once, however often the request has to be repeated. */
  consume(count = 1, options: CountOptions = {}): Promise<Total> {
    return countNow(this.#account, count, options);
  }

  /** A queue for counts that must not be lost while no server can be reached. */
  openQueue(): CountQueue {
    return new CountQueue(this.#account);
  }

  /** A return that got no answer may reach the server late. It must not return the next slot. */
  #renameUser(): void {
    const { environment } = this.#account;
    const user = this.#givenUser ?? describeProgram(environment.host, () => environment.createId());
    this.#account = { ...this.#account, user };
  }

  /** The user of borrows: the next start of the program has to be the same. */
  get #seat(): Account {
    const { environment, user } = this.#account;
    // Browsers do not say where they are: the user of the program is stored with the borrow.
    const seat = environment.host.hostname === null ? user : describeSeat(environment.host);
    return { ...this.#account, user: this.#givenUser ?? seat };
  }
}

function withStorage(environment: Environment, storage: Storage): Environment {
  return Object.assign(Object.create(environment) as Environment, { storage });
}
