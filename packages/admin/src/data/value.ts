import { useEffect, useState } from 'preact/hooks';

/** A value that parts of the page follow. */
export interface Value<T> {
  get(): T;
  set(value: T): void;
  follow(listener: () => void): () => void;
}

export function createValue<T>(first: T): Value<T> {
  let current = first;
  const listeners = new Set<() => void>();
  return {
    get: () => current,
    set: (value) => {
      if (Object.is(value, current)) return;
      current = value;
      for (const listener of [...listeners]) listener();
    },
    follow: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

export function useValue<T>(value: Value<T>): T {
  const [, redraw] = useState({});
  useEffect(() => {
    const drawn = value.get();
    const end = value.follow(() => redraw({}));
    // It may have changed between drawing and following.
    if (!Object.is(drawn, value.get())) redraw({});
    return end;
  }, [value]);
  return value.get();
}
