import type { Instant } from '../nouns/instant.ts';

/** Who asked lately: a client that was refused asks again and again. */
export class Retries {
  readonly #asked = new Map<string, { readonly at: Instant; readonly lastsMs: number }>();
  #tidyAt = 10_000;

  /** Whether the user's last request that counted is less than this ago. If not, this one counts. */
  isRetry(what: string, user: string, at: Instant, lastsMs: number): boolean {
    const key = `${what}\n${user}`;
    const last = this.#asked.get(key);
    if (last !== undefined && at - last.at < lastsMs) return true;
    this.#asked.set(key, { at, lastsMs });
    if (this.#asked.size > this.#tidyAt) this.#tidy(at);
    return false;
  }

  #tidy(now: Instant): void {
    for (const [key, { at, lastsMs }] of this.#asked) if (now - at >= lastsMs) this.#asked.delete(key);
    this.#tidyAt = 10_000 + 2 * this.#asked.size;
  }
}
