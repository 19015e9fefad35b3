import { acquireAlone, Client, type ClientOptions } from './client.ts';
import type { WaitOptions } from './lending/acquire.ts';
import type { Slot } from './lending/slot.ts';
import { createWebEnvironment } from './web/web-environment.ts';

export * from './api.ts';

const environment = createWebEnvironment();

export function connect(options: ClientOptions): Client {
  return new Client(environment, options);
}

export async function acquire(options: ClientOptions & WaitOptions): Promise<Slot> {
  return acquireAlone(environment, options);
}
