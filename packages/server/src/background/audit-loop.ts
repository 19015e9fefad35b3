import { Fault } from '../core/nouns/fault.ts';
import { HOUR_MS } from '../core/nouns/instant.ts';
import type { AuditTrail } from '../services/audit/audit-trail.ts';
import type { Log } from '../telemetry/log.ts';
import { createLoop, type Loop } from './loop.ts';

/** Signs the heads of all chains of the audit log every hour. */
export function createHeadSigner(audit: AuditTrail, log: Log): Loop {
  return createLoop({
    intervalMs: HOUR_MS,
    work: () => audit.signHeads(),
    // The store reports a failing disk, once.
    onError: (error) => {
      if (!(error instanceof Fault)) log.error({ error: String(error) }, 'the audit log could not be signed');
    },
  });
}
