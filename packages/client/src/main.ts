import { acquireAlone, Client, type ClientOptions } from './client.ts';
import type { WaitOptions } from './lending/acquire.ts';
import type { Slot } from './lending/slot.ts';
import { createNodeEnvironment } from './node/node-environment.ts';

export * from './api.ts';
export { createFileStorage } from './node/file-storage.ts';
export type { Client, ClientOptions };

const environment = createNodeEnvironment();

/** One user of one product. Nothing is sent yet. */
export function connect(options: ClientOptions): Client {
  return new Client(environment, options);
}

/** Takes a slot that renews itself until it is released. Throws a `DeniedError` if there is none. */
export async function acquire(options: ClientOptions & WaitOptions): Promise<Slot> {
  return acquireAlone(environment, options);
}
