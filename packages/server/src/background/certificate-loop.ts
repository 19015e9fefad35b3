import { SECOND_MS } from '../core/nouns/instant.ts';
import type { Certificates } from '../services/certificates/certificates.ts';
import type { Log } from '../telemetry/log.ts';
import { createLoop, type Loop } from './loop.ts';

/** Checks whether the TLS files have changed. File system events would miss swapped links. */
export function createCertificateWatch(certificates: Certificates, log: Log): Loop {
  return createLoop({
    intervalMs: SECOND_MS,
    async work() {
      await certificates.refresh();
      certificates.warnBeforeEnd();
    },
    onError: (error) => log.error({ error: String(error) }, 'the TLS files could not be checked'),
  });
}
