import { AUDIT_API } from '@berth/protocol/admin/audit';
import { RequestError } from '@berth/protocol/request-error';
import { parseTimestamp } from '@berth/protocol/timestamp';
import type { HttpRequest } from '@berth/web/http-request';
import type { z } from 'zod';
import { DAY_MS, type Instant, instant } from '../../../core/nouns/instant.ts';
import { licenseId } from '../../../core/nouns/license.ts';
import type { AuditTrail } from '../../../services/audit/audit-trail.ts';
import type { Dates } from '../../../services/audit/search-audit.ts';
import type { Identity } from '../../../services/identity/identity.ts';
import { callerKey } from '../../access/caller.ts';
import { adminRoutes } from '../../admin-route.ts';
import { presentEvent } from '../../reply/present-event.ts';
import { toWire } from '../../reply/to-wire.ts';
import type { Route } from '../../route.ts';

interface AuditServices {
  readonly audit: AuditTrail;
  readonly identity: Identity;
}

export function auditRoutes({ audit, identity }: AuditServices): readonly Route[] {
  // The response body of a HEAD is never read.
  const startExport = async ({ method, signal }: HttpRequest, dates: Dates, caller: string) => {
    if (method === 'HEAD') return null;
    return audit.export({ caller, hardwareId: await identity.readHardwareId(), dates }, signal);
  };
  return adminRoutes(AUDIT_API, {
    'GET /api/admin/audit': {
      name: 'admin_audit',
      access: 'viewer',
      isForProducts: true,
      summary: 'List what happened, newest first, in pages: continue before `next_before`',
      errors: ['license_not_found'],
      handle: async ({ query: { license_id, ...wish }, request }, send) => {
        const { links, next } = await audit.search({ ...wish, licenseId: license_id }, request.signal);
        return send({ events: links.flatMap(presentLink), next_before: next });
      },
    },
    'GET /api/admin/audit/verify': {
      name: 'admin_audit_verify',
      access: 'viewer',
      summary:
        'Verify every chain of the audit log from its first link to its head, and all of them together',
      errors: ['too_many_requests'],
      handle: async ({ request }, send) => send(toWire(await audit.verify(request.signal))),
    },
    'GET /api/admin/audit/export': {
      name: 'admin_audit_export',
      access: 'viewer',
      summary: 'The audit log, or what was written within dates, to be kept elsewhere, signed by the server',
      answer: {
        kind: 'lines',
        about:
          'A header, a line for each link and for each chain that was thinned out, what the verification ' +
          'found, and a signature. ' +
          'Without the signature, the export is incomplete.',
      },
      errors: ['too_many_requests'],
      handle: async ({ query, request, caller }) => ({
        status: 200,
        type: 'lines',
        body: await startExport(request, query, callerKey(caller)),
      }),
    },
    'POST /api/admin/audit/thin': {
      name: 'admin_audit_thin',
      access: 'admin',
      mustConfirm: true,
      summary: 'Replace events older than a date with totals; the log stays verifiable',
      errors: ['license_not_found', 'audit_not_whole'],
      handle: ({ body, caller }) => {
        const keptMs = caller.kind === 'control' ? 0 : KEPT_MS;
        const wish = { before: readBefore(body.before), chain: readChain(body), keptMs };
        return audit.thin(wish, caller.actor);
      },
    },
  });
}

/** Traces of an attack should last until somebody looks for them. */
const KEPT_MS = 90 * DAY_MS;

/** The events of a link, newest first. */
function presentLink({ seq, chain, at, events }: Awaited<ReturnType<AuditTrail['search']>>['links'][number]) {
  return events.toReversed().map((event) => presentEvent({ seq, chain, at }, event));
}

function readBefore(text: string): Instant {
  const millis = parseTimestamp(text);
  if (millis != null) return instant(millis);
  throw new RequestError('validation_error', '"before" must be a date.', { field: 'before' });
}

/** Thinning cannot be undone, so an ambiguous request is refused. */
function readChain({
  license_id: id,
  chain,
}: z.output<(typeof AUDIT_API)['POST /api/admin/audit/thin']['body']>) {
  if (id !== undefined && chain !== undefined) {
    const message = 'Send either a license or the chain "system".';
    throw new RequestError('validation_error', message, { field: 'chain' });
  }
  return chain ?? (id === undefined ? null : licenseId(id));
}
