import { SECOND_MS } from '../core/nouns/instant.ts';
import type { Credentials } from '../services/cloud/credentials.ts';
import type { Log } from '../telemetry/log.ts';
import { createLoop, type Loop } from './loop.ts';

/** Looks whether keys for the licensing cloud were set at another server, so that they are tried at once. */
export function createKeyWatch(credentials: Credentials, log: Log): Loop {
  return createLoop({
    intervalMs: SECOND_MS,
    work: () => credentials.refresh(),
    onError: (error) => log.debug({ error: String(error) }, 'the keys could not be looked at'),
  });
}
