import { CloudFault, type CloudFaultReason, type CloudRefusal, KEY_REFUSALS } from '../cloud/cloud.ts';
import type { Instant } from '../core/instant.ts';

/** How the link to the licensing cloud is. */
export interface LinkStatus {
  /**
   * `not_configured` and `no_keys`: it cannot be used. `untried`: not used since the start. `ok`: the last
   * exchange went well. `refused`: the cloud does not take the keys. `failing`: it cannot be reached, or does
   * not answer as it should.
   */
  readonly state: 'not_configured' | 'no_keys' | 'untried' | 'ok' | 'refused' | 'failing';
  /** When an exchange last went well, in this run or, as far as licenses remember it, before. */
  readonly reachedAt: Instant | null;
  /** Since when it has not. */
  readonly failingAt: Instant | null;
  readonly error: LinkError | null;
}

/** The link as far as exchanges show it. */
export type KnownLink = LinkStatus & { readonly state: 'untried' | 'ok' | 'refused' | 'failing' };

export interface LinkError {
  readonly code: string;
  readonly reason: CloudFaultReason | null;
  readonly message: string;
}

/** Remembers how the last exchanges with the cloud went, and says when that changes. */
export class LinkState {
  readonly #readWall: () => Instant;
  readonly #onChange: (link: KnownLink) => void;
  #state: 'untried' | 'ok' | 'refused' | 'failing' = 'untried';
  #reachedAt: Instant | null = null;
  #failingAt: Instant | null = null;
  #error: LinkError | null = null;
  /** Exchanges that went wrong since the last one that went well. */
  failures = 0;

  constructor(readWall: () => Instant, onChange: (link: KnownLink) => void) {
    this.#readWall = readWall;
    this.#onChange = onChange;
  }

  noteReached(): void {
    const isNews = this.#state !== 'ok';
    this.#state = 'ok';
    this.#reachedAt = this.#readWall();
    this.#failingAt = null;
    this.#error = null;
    this.failures = 0;
    if (isNews) this.#onChange(this.describe());
  }

  /** A refusal that concerns a license was an exchange that went well. */
  noteRefusal({ code, message }: CloudRefusal): void {
    if (!KEY_REFUSALS.has(code)) this.noteReached();
    else this.#noteFailure('refused', { code, reason: null, message });
  }

  noteFault(error: unknown): void {
    if (!(error instanceof CloudFault)) return;
    const { code, reason, message } = error;
    this.#noteFailure('failing', { code, reason, message });
  }

  /** Other keys were set: what the old ones met says nothing about them. */
  forget(): void {
    this.#state = 'untried';
    this.#failingAt = null;
    this.#error = null;
    this.failures = 0;
  }

  describe(): KnownLink {
    return {
      state: this.#state,
      reachedAt: this.#reachedAt,
      failingAt: this.#failingAt,
      error: this.#error,
    };
  }

  #noteFailure(state: 'refused' | 'failing', error: LinkError): void {
    const isNews = this.#state !== state || this.#error?.message !== error.message;
    this.#state = state;
    this.#failingAt ??= this.#readWall();
    this.#error = error;
    this.failures += 1;
    if (isNews) this.#onChange(this.describe());
  }
}
