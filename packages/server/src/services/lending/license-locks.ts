import type { LicenseId } from '../../core/nouns/license.ts';

/** Work on one license runs one at a time; different licenses do not wait for each other. */
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
