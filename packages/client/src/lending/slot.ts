/// <reference lib="esnext.disposable" preserve="true" />
import { BerthError, DeniedError, SlotLostError, UnreachableError } from '../errors.ts';
import type { Grant } from '../proof/verifier.ts';
import { type Account, holderOf, licenseIdOf, returnSlot, targetOf } from './account.ts';
import { Borrow } from './borrow.ts';
import type { StoredRecord } from './borrow-record.ts';
import { FeatureSlot } from './feature-slot.ts';
import type { ProvenAnswer, SlotRequests } from './proven-lease.ts';
import { Renewal, type SlotEvents } from './renewal.ts';
import { type BorrowOptions, type Taken, takeBorrow } from './take-borrow.ts';

/** The license as the server describes it, under the server's names. */
export interface License {
  readonly license_id?: number;
  readonly product?: string;
  readonly license_type?: string;
  readonly floating_users?: number;
  readonly floating_timeout?: number;
  readonly validity_period?: string | null;
  readonly product_features?: readonly Readonly<Record<string, unknown>>[];
  readonly custom_fields?: readonly Readonly<Record<string, unknown>>[];
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly [field: string]: unknown;
}

/** A short answer is enough to renew; servers that do not know the header send the whole license. */
const BRIEFLY = { prefer: 'return=minimal' };

/** A slot of a license that renews itself until it is released. */
export class Slot {
  readonly #account: Account;
  readonly #requests: SlotRequests;
  readonly #renewal: Renewal;
  readonly #features = new Map<string, FeatureSlot>();
  readonly #letGo: () => void;
  readonly #unguard: () => void;
  readonly #lost = new AbortController();
  #license: License;
  #licenseId: number | null;
  /** The address of the server that has answered last. */
  #server: string;
  /** What its borrow is stored as. */
  #borrowName: string | null = null;
  #grant: Grant | null;
  #released: Promise<boolean> | null = null;

  /** @internal */
  constructor(account: Account, requests: SlotRequests, first: ProvenAnswer, letGo: () => void) {
    const { answer, lease, grant } = first;
    this.#account = account;
    this.#requests = requests;
    this.#grant = grant;
    this.#letGo = letGo;
    this.#license = answer.fields;
    this.#licenseId = licenseIdOf(answer);
    this.#server = answer.server;
    this.#renewal = new Renewal({ ...account, register: (...how) => this.#register(...how) }, lease);
    this.#renewal.events.on('lost', ({ error }) => {
      this.#lost.abort(error ?? undefined);
      for (const feature of this.#features.values()) feature.loseWithLicense(error);
    });
    this.#renewal.events.on('restored', () => {
      for (const feature of this.#features.values()) feature.renewNow();
    });
    this.#unguard = account.environment.guardExit({
      release: () => this.release(),
      describeRelease: () => this.#describeRelease(),
    });
  }

  get product(): string {
    return this.#account.product;
  }

  get user(): string {
    return this.#account.user;
  }

  get licenseId(): number | null {
    return this.#licenseId;
  }

  get license(): License {
    return this.#license;
  }

  /** What a server of the vendor has signed last; `null` without `vendorKey`. */
  get grant(): Grant | null {
    return this.#grant;
  }

  /** Whether the slot may be used now. Ask before every piece of work. */
  get isHeld(): boolean {
    return this.#renewal.heldForMs > 0;
  }

  /** How long it may be used without another answer of the server. */
  get heldForMs(): number {
    return this.#renewal.heldForMs;
  }

  /** `null` if it is not borrowed. */
  get borrowedUntil(): Date | null {
    return this.#renewal.lease.borrowedUntil;
  }

  /** Aborts when the slot is lost for the first time, for work that can be interrupted. */
  get signal(): AbortSignal {
    return this.#lost.signal;
  }

  /** Throws a `SlotLostError` if the slot may not be used now. */
  assertHeld(): void {
    this.#renewal.assertHeld();
  }

  /** Returns a function that removes the listener. */
  on<Name extends keyof SlotEvents>(name: Name, listener: (event: SlotEvents[Name]) => void): () => void {
    return this.#renewal.events.on(name, listener);
  }

  /** Takes a slot of a feature, too. It is kept and lost together with this one. */
  async feature(code: string): Promise<FeatureSlot> {
    if (typeof code !== 'string' || code.trim() === '') {
      throw new BerthError('invalid_option', 'There is no feature.', 'Give the code of the feature.');
    }
    this.#assertNotReleased();
    const known = this.#features.get(code);
    if (known !== undefined) return known;
    const target = { ...targetOf(this.#account, this.#licenseId), feature: code };
    const slot = await FeatureSlot.take(this.#account, { target, isLicenseHeld: () => this.isHeld });
    // Meanwhile. Then the server has got it back, too.
    if (this.isReleased) slot.end();
    this.#assertNotReleased();
    slot.onEnd(() => this.#features.delete(code));
    this.#features.set(code, slot);
    return slot;
  }

  /**
   * Keeps the slot without network, until the date or as long as the license allows. If that cannot be stored
   * or proven, the slot is returned and taken again at once.
   */
  async borrow(options: BorrowOptions = {}): Promise<Borrow> {
    this.#assertNotReleased();
    const { stored, lent, grant, lease } = await this.#borrow(options);
    this.#renewal.accept(lease);
    this.#borrowName = stored.name;
    return new Borrow(this.#account, stored, lent, grant);
  }

  /** Called when the application has given back a borrow of the same user. @internal */
  async endWith({ name, record }: StoredRecord, wasReturned: boolean): Promise<void> {
    const { lent, licenseId, binding } = record;
    const isSame =
      wasReturned &&
      (lent?.licenseId ?? licenseId) === this.#licenseId &&
      this.#account.servers.isKnownAs(binding, this.#server);
    if (isSame || name === this.#borrowName) await this.release();
  }

  /** @internal */
  get isReleased(): boolean {
    return this.#released !== null;
  }

  /**
   * Returns the slot and ends the renewals; a borrowed slot stays borrowed. Resolves with whether the server
   * has confirmed it, after two seconds at most. If not, the slot becomes free when its time is over.
   */
  release(): Promise<boolean> {
    this.#released ??= this.#release();
    return this.#released;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.release();
  }

  #assertNotReleased(): void {
    if (this.isReleased) throw new SlotLostError('slot_released');
  }

  #release(): Promise<boolean> {
    for (const feature of this.#features.values()) feature.end();
    return this.#renewal.end(async (withinMs) => {
      this.#unguard();
      this.#letGo();
      return this.borrowedUntil !== null || unregister(this.#account, this.#licenseId, withinMs);
    });
  }

  async #borrow(options: BorrowOptions): Promise<Taken> {
    // Another user may get the slot before it is asked for again.
    const beforeReturn = () => this.#renewal.lose('taken', null);
    try {
      return await takeBorrow(this.#account, this.#requests, this.#licenseId, { ...options, beforeReturn });
    } catch (error) {
      // Perhaps it was undone.
      if (!(error instanceof UnreachableError || this.isReleased)) this.#renewal.renewNow();
      throw error;
    }
  }

  #describeRelease() {
    if (this.borrowedUntil !== null) return null;
    return this.#account.servers.describe('unregister', targetOf(this.#account, this.#licenseId));
  }

  async #register(inDoubt: boolean, signal: AbortSignal) {
    const fields = holderOf(this.#account, this.#licenseId);
    const options = { headers: BRIEFLY, inDoubt, signal };
    const { answer, lease, grant } = await this.#requests.send('register', fields, options);
    this.#licenseId = licenseIdOf(answer) ?? this.#licenseId;
    this.#server = answer.server;
    if (answer.fields.license_type !== undefined) this.#license = answer.fields;
    this.#grant = grant ?? this.#grant;
    return lease;
  }
}

/** Whether the server has confirmed it. */
async function unregister(account: Account, licenseId: number | null, withinMs: number): Promise<boolean> {
  try {
    await returnSlot(account, licenseId, { withinMs });
    return true;
  } catch (error) {
    if (error instanceof DeniedError || error instanceof UnreachableError) return false;
    throw error;
  }
}
