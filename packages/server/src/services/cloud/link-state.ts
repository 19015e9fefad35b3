import { CloudFault, type CloudFaultReason, type CloudRefusal, KEY_REFUSALS } from '../../cloud/cloud.ts';
import type { LinkFacts } from '../../core/doctor/judge-links.ts';
import type { Instant } from '../../core/nouns/instant.ts';

export interface LinkStatus extends LinkFacts {
  readonly error: LinkError | null;
  /** How far the cloud's clock was ahead of this machine's at the last answer; `null`: none yet. */
  readonly clockAheadMs: number | null;
}

/** The link as seen from its requests. */
export type KnownLink = LinkStatus & { readonly state: 'untried' | 'ok' | 'refused' | 'failing' };

export interface LinkError {
  readonly code: string;
  readonly reason: CloudFaultReason | null;
  readonly message: string;
}

/** The subject of a request: a license, or the link itself. */
export type Subject = number | null;

interface Failure {
  readonly state: 'refused' | 'failing';
  readonly error: LinkError;
  readonly since: Instant;
}

/**
 * Remembers the result of the last request for each license and reports changes of the overall state. One
 * failing license among others is reported once, not every minute.
 */
export class LinkState {
  readonly #readWall: () => Instant;
  readonly #onChange: (link: KnownLink) => void;
  readonly #failures = new Map<Subject, Failure>();
  #isTried = false;
  #reachedAt: Instant | null = null;
  #clockAheadMs: number | null = null;
  #lastNews = '';

  constructor(readWall: () => Instant, onChange: (link: KnownLink) => void) {
    this.#readWall = readWall;
    this.#onChange = onChange;
  }

  /** The time in an answer is not signed, so it is only shown. */
  noteClock(aheadMs: number): void {
    this.#clockAheadMs = aheadMs;
  }

  noteReached(subject: Subject): void {
    this.#isTried = true;
    this.#reachedAt = this.#readWall();
    this.#failures.delete(subject);
    // The link itself works again.
    this.#failures.delete(null);
    this.#tellNews();
  }

  /** A refusal of a license is a successful request. */
  noteRefusal(subject: Subject, { code, message }: CloudRefusal): void {
    if (!KEY_REFUSALS.has(code)) this.noteReached(subject);
    else this.#noteFailure(subject, 'refused', { code, reason: null, message });
  }

  /** Requests that this server aborts when it stops are not failures of the cloud. */
  noteFault(subject: Subject, error: unknown): void {
    if (!(error instanceof CloudFault) || error.reason === 'stopping') return;
    const { code, reason, message } = error;
    this.#noteFailure(subject, 'failing', { code, reason, message });
  }

  /** Forgets a removed license and its errors. */
  drop(subject: Subject): void {
    if (this.#failures.delete(subject)) this.#tellNews();
  }

  /** The keys have changed, so earlier results no longer apply. */
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
      clockAheadMs: this.#clockAheadMs,
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
