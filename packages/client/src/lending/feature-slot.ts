import type { BerthError } from '../errors.ts';
import { DeniedError, UnreachableError } from '../errors.ts';
import { NOT_HELD } from '../refusals.ts';
import type { Account } from './account.ts';
import type { Lease } from './lease.ts';
import { SlotRequests } from './proven-lease.ts';
import { type Register, Renewal, type SlotEvents } from './renewal.ts';

interface FeatureFacts {
  readonly target: Readonly<Record<string, unknown>>;
  readonly isLicenseHeld: () => boolean;
}

/** A slot of a feature. It is held only while the slot of the license is. */
export class FeatureSlot {
  readonly #account: Account;
  readonly #target: Readonly<Record<string, unknown>>;
  readonly #renewal: Renewal;
  readonly #isLicenseHeld: () => boolean;
  #notifyEnd: () => void = () => {};

  private constructor(account: Account, register: Register, lease: Lease, facts: FeatureFacts) {
    this.#account = account;
    this.#target = facts.target;
    this.#isLicenseHeld = facts.isLicenseHeld;
    this.#renewal = new Renewal({ ...account, register }, lease);
  }

  /** @internal */
  static async take(account: Account, facts: FeatureFacts): Promise<FeatureSlot> {
    const requests = new SlotRequests(account, String(facts.target.feature));
    const register = async (inDoubt: boolean, signal?: AbortSignal) => {
      const options = { inDoubt, ...(signal === undefined ? {} : { signal }) };
      return (await requests.send('featureRegister', facts.target, options)).lease;
    };
    return new FeatureSlot(account, register, await register(true), facts);
  }

  get code(): string {
    return String(this.#target.feature);
  }

  get isHeld(): boolean {
    return this.#isLicenseHeld() && this.#renewal.heldForMs > 0;
  }

  on<Name extends keyof SlotEvents>(name: Name, listener: (event: SlotEvents[Name]) => void): () => void {
    return this.#renewal.events.on(name, listener);
  }

  /** Resolves with whether the server has confirmed it, after two seconds at most. */
  async release(): Promise<boolean> {
    if (this.#renewal.isStopped) return true;
    return this.#renewal.end((withinMs) => this.#giveBack(withinMs));
  }

  async #giveBack(withinMs: number): Promise<boolean> {
    this.#notifyEnd();
    try {
      await this.#account.servers.post('featureRelease', this.#target, { withinMs });
      return true;
    } catch (error) {
      if (error instanceof UnreachableError) return false;
      if (error instanceof DeniedError) return NOT_HELD.has(error.code);
      throw error;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.release();
  }

  /** @internal */
  onEnd(notify: () => void): void {
    this.#notifyEnd = notify;
  }

  /** Returning the slot of the license returns this one, too. @internal */
  end(): void {
    this.#renewal.stop();
  }

  /** @internal */
  loseWithLicense(error: BerthError | null): void {
    this.#renewal.lose('license', error);
  }

  /** @internal */
  renewNow(): void {
    this.#renewal.renewNow();
  }
}
