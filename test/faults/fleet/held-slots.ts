interface HeldSlotsOptions {
  readonly what: string;
  readonly slots: number;
  readonly timeoutMs: number;
  readonly violations: string[];
}

/**
 * Who certainly holds a slot, by answers and one clock. It is lent before the answer that says so arrives,
 * and not given back before that is asked for; and it lasts a timeout from when its heartbeat was sent, at
 * least. So whoever is counted here held a slot at that very moment, whatever was still on its way.
 */
export class HeldSlots {
  /** The most that were held at one instant. */
  most = 0;
  readonly #options: HeldSlotsOptions;
  readonly #until = new Map<string, number>();

  constructor(options: HeldSlotsOptions) {
    this.#options = options;
  }

  /** It was lent and not given back. It may have ended since. */
  isKnown(user: string): boolean {
    return this.#until.has(user);
  }

  isCertain(user: string): boolean {
    return this.certainUntil(user) > performance.now();
  }

  certainUntil(user: string): number {
    return this.#until.get(user) ?? Number.NEGATIVE_INFINITY;
  }

  /** An answer says that the user holds one; `endMs` is when something else may have ended it. */
  take(user: string, sentMs: number, endMs = Number.POSITIVE_INFINITY): void {
    const { what, slots, timeoutMs, violations } = this.#options;
    const until = Math.min(sentMs + timeoutMs, endMs);
    this.#until.set(user, Math.max(this.certainUntil(user), until));
    const nowMs = performance.now();
    const held = [...this.#until].filter(([, end]) => end > nowMs).map(([name]) => name);
    this.most = Math.max(this.most, held.length);
    if (held.length > slots) violations.push(`${held.length} of ${slots} ${what} at once: ${held.join(' ')}`);
  }

  /** Just before it is given back. Answers until when it was certain. */
  drop(user: string): number {
    const until = this.certainUntil(user);
    this.#until.delete(user);
    return until;
  }

  users(): readonly string[] {
    return [...this.#until.keys()];
  }
}
