import type { PlaceKey } from '../core/outcome.ts';

/** How a store says whose turn it is in the line. It may get lost: whoever waits also asks every second. */
export class TurnSignal {
  #listener: (key: PlaceKey) => void = () => {};

  listen(listener: (key: PlaceKey) => void): void {
    this.#listener = listener;
  }

  /** After the answers of the same commit have arrived: somebody may just have begun to wait. */
  tell(keys: readonly PlaceKey[]): void {
    if (keys.length === 0) return;
    setImmediate(() => {
      for (const key of keys) this.#listener(key);
    });
  }
}
