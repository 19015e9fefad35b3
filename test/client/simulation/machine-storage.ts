import type { Storage } from '../../../packages/client/src/environment.ts';

/** `full`: nothing can be written. `broken`: nothing can be done at all. */
export type StorageState = 'good' | 'full' | 'broken';

/** What is stored on a simulated computer, for all of its programs. */
export class MachineStorage implements Storage {
  readonly texts = new Map<string, string>();
  #state: StorageState = 'good';
  #writesBefore = 0;

  setState(state: StorageState, afterWrites = 0): void {
    this.#state = state;
    this.#writesBefore = afterWrites;
  }

  async read(name: string): Promise<string | null> {
    this.#assertWorks();
    return this.texts.get(name) ?? null;
  }

  async write(name: string, text: string): Promise<void> {
    if (this.#state !== 'good' && this.#writesBefore-- <= 0)
      throw new Error('ENOSPC: no space left on device');
    this.texts.set(name, text);
  }

  async remove(name: string): Promise<void> {
    this.#assertWorks();
    this.texts.delete(name);
  }

  async list(prefix: string): Promise<readonly string[]> {
    this.#assertWorks();
    return [...this.texts.keys()].filter((name) => name.startsWith(prefix)).sort();
  }

  #assertWorks(): void {
    if (this.#state === 'broken') throw new Error('EIO: i/o error');
  }
}
