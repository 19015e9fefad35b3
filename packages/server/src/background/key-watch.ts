import { SECOND_MS } from '../core/nouns/instant.ts';
import type { Credentials } from '../services/cloud/credentials.ts';
import type { Log } from '../telemetry/log.ts';
import { createLoop, type Loop } from './loop.ts';

/** Picks up keys for the licensing cloud that were set at another server, to try them at once. */
export function createKeyWatch(credentials: Credentials, log: Log): Loop {
  return createLoop({
    intervalMs: SECOND_MS,
    work: () => credentials.refresh(),
    onError: (error) => log.debug({ error: String(error) }, 'the keys could not be read'),
  });
}
