import type { Storage } from './environment.ts';
import { StorageError } from './errors.ts';

/** Fails with a `StorageError`, whatever the storage itself throws. */
export function guardStorage(storage: Storage): Storage {
  return {
    read: (name) => guard(() => storage.read(name)),
    write: (name, text) => guard(() => storage.write(name, text)),
    remove: (name) => guard(() => storage.remove(name)),
    list: (prefix) => guard(() => storage.list(prefix)),
  };
}

async function guard<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof StorageError ? error : new StorageError(error);
  }
}
