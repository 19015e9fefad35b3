import { mock } from 'node:test';
import type { World } from './world.ts';

/** It is real and takes a while, in which no simulated time may pass. */
export function waitForCryptography(world: World): void {
  mock.restoreAll();
  for (const name of ['importKey', 'verify'] as const) {
    const real = crypto.subtle[name].bind(crypto.subtle) as (...given: unknown[]) => Promise<unknown>;
    mock.method(crypto.subtle, name, (...given: unknown[]) => {
      const result = real(...given);
      world.wait(
        result.then(
          () => {},
          () => {},
        ),
      );
      return result;
    });
  }
}
