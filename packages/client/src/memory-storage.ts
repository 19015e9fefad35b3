import type { Storage } from './environment.ts';

/** Texts that are gone when the program ends. */
export function createMemoryStorage(): Storage {
  const texts = new Map<string, string>();
  return {
    read: async (name) => texts.get(name) ?? null,
    write: async (name, text) => {
      texts.set(name, text);
    },
    remove: async (name) => {
      texts.delete(name);
    },
    list: async (prefix) => [...texts.keys()].filter((name) => name.startsWith(prefix)).sort(),
  };
}
