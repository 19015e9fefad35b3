import { BerthError } from './errors.ts';

/** All names of events. */
export type Names<Events> = Readonly<Record<keyof Events, true>>;

/** Listeners by the name of the event. */
export class Listeners<Events> {
  readonly #names: Names<Events>;
  readonly #reportError: (error: unknown) => void;
  readonly #byName = new Map<keyof Events, Set<(event: never) => void>>();

  constructor(names: Names<Events>, reportError: (error: unknown) => void) {
    this.#names = names;
    this.#reportError = reportError;
  }

  /** Returns a function that removes the listener. */
  on<Name extends keyof Events>(name: Name, listener: (event: Events[Name]) => void): () => void {
    if (!Object.hasOwn(this.#names, name)) {
      const advice = `The events are ${Object.keys(this.#names).join(', ')}.`;
      throw new BerthError('invalid_option', `There is no event "${String(name)}".`, advice);
    }
    if (typeof listener !== 'function') {
      const advice = `Give the function to call: on('${String(name)}', (event) => …).`;
      throw new BerthError('invalid_option', `The listener for "${String(name)}" is not a function.`, advice);
    }
    const listeners = this.#byName.get(name) ?? new Set();
    this.#byName.set(name, listeners.add(listener));
    return () => listeners.delete(listener);
  }

  /** An error in a listener must not stop the renewals. */
  emit<Name extends keyof Events>(name: Name, event: Events[Name]): void {
    for (const listener of [...(this.#byName.get(name) ?? [])]) {
      try {
        (listener as (event: Events[Name]) => void)(event);
      } catch (error) {
        this.#reportError(error);
      }
    }
  }
}
