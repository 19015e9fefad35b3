import type { LicenseId } from '../../core/nouns/license.ts';

/** Work on one license waits for the work on it that is under way; different licenses do not wait. */
export class LicenseLocks {
  readonly #tails = new Map<LicenseId, Promise<unknown>>();

  async withLock<T>(id: LicenseId, work: () => Promise<T>): Promise<T> {
    const before = this.#tails.get(id) ?? Promise.resolve();
    const mine = before.then(work, work);
    const tail = mine.catch(() => {});
    this.#tails.set(id, tail);
    try {
      return await mine;
    } finally {
      if (this.#tails.get(id) === tail) this.#tails.delete(id);
    }
  }
}
