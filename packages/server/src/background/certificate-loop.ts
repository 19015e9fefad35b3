import { SECOND_MS } from '../core/nouns/instant.ts';
import type { Certificates } from '../services/upkeep/certificates.ts';
import type { Log } from '../telemetry/log.ts';
import { createLoop, type Loop } from './loop.ts';

/** Looks whether the TLS files have changed. Notices of the system do not tell of links that are swapped. */
export function createCertificateWatch(certificates: Certificates, log: Log): Loop {
  return createLoop({
    intervalMs: SECOND_MS,
    async work() {
      await certificates.refresh();
      certificates.warnBeforeEnd();
    },
    onError: (error) => log.error({ error: String(error) }, 'the TLS files could not be looked at'),
  });
}
