import { CloudFault, type CloudFaultReason, type CloudRefusal, KEY_REFUSALS } from '../../cloud/cloud.ts';
import type { Instant } from '../../core/nouns/instant.ts';

/** How the link to the licensing cloud is. */
export interface LinkStatus {
  /**
   * `not_configured` and `no_keys`: it cannot be used. `untried`: not used since the start. `ok`: everything
   * that was asked last was answered. `refused`: the cloud does not take the keys. `failing`: it cannot be
   * reached, or does not answer as it should.
   */
  readonly state: 'not_configured' | 'no_keys' | 'untried' | 'ok' | 'refused' | 'failing';
  /** When an exchange last went well, in this run or, as far as licenses remember it, before. */
  readonly reachedAt: Instant | null;
  /** Since when something goes wrong. */
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

/** What an exchange was about: a license, or the link as such. */
export type Subject = number | null;

interface Failure {
  readonly state: 'refused' | 'failing';
  readonly error: LinkError;
  readonly since: Instant;
}

/**
 * Remembers how the last exchange about each license went, and says when the whole changes. One license that
 * fails among others that do not is one piece of news, not one a minute.
 */
export class LinkState {
  readonly #readWall: () => Instant;
  readonly #onChange: (link: KnownLink) => void;
  readonly #failures = new Map<Subject, Failure>();
  #isTried = false;
  #reachedAt: Instant | null = null;
  #lastNews = '';

  constructor(readWall: () => Instant, onChange: (link: KnownLink) => void) {
    this.#readWall = readWall;
    this.#onChange = onChange;
  }

  noteReached(subject: Subject): void {
    this.#isTried = true;
    this.#reachedAt = this.#readWall();
    this.#failures.delete(subject);
    // Whatever was wrong with the link as such is over.
    this.#failures.delete(null);
    this.#tellNews();
  }

  /** A refusal that concerns a license was an exchange that went well. */
  noteRefusal(subject: Subject, { code, message }: CloudRefusal): void {
    if (!KEY_REFUSALS.has(code)) this.noteReached(subject);
    else this.#noteFailure(subject, 'refused', { code, reason: null, message });
  }

  /** That this server cuts everything off when it stops is no fault of the cloud. */
  noteFault(subject: Subject, error: unknown): void {
    if (!(error instanceof CloudFault) || error.reason === 'stopping') return;
    const { code, reason, message } = error;
    this.#noteFailure(subject, 'failing', { code, reason, message });
  }

  /** The license is gone, and what was the matter with it. */
  drop(subject: Subject): void {
    if (this.#failures.delete(subject)) this.#tellNews();
  }

  /** Other keys were set: what the old ones met says nothing about them. */
  forget(): void {
    this.#isTried = false;
    this.#failures.clear();
    this.#lastNews = '';
  }

  get isFailing(): boolean {
    return this.#failures.size > 0;
  }

  describe(): KnownLink {
    const failures = [...this.#failures.values()];
    const worst = failures.findLast(({ state }) => state === 'refused') ?? failures.at(-1) ?? null;
    return {
      state: worst?.state ?? (this.#isTried ? 'ok' : 'untried'),
      reachedAt: this.#reachedAt,
      failingAt: failures.length === 0 ? null : (Math.min(...failures.map(({ since }) => since)) as Instant),
      error: worst?.error ?? null,
    };
  }

  #noteFailure(subject: Subject, state: 'refused' | 'failing', error: LinkError): void {
    this.#isTried = true;
    const since = this.#failures.get(subject)?.since ?? this.#readWall();
    this.#failures.delete(subject);
    this.#failures.set(subject, { state, error, since });
    this.#tellNews();
  }

  #tellNews(): void {
    const link = this.describe();
    const news = `${link.state} ${link.error?.message ?? ''}`;
    if (news === this.#lastNews) return;
    this.#lastNews = news;
    this.#onChange(link);
  }
}
