import { DATE_PATTERN } from '@berth/protocol/api/lending';
import { name, positiveInteger, strictLicenseId, told, userName } from '@berth/protocol/fields';
import { MOMENT_FORMS } from '@berth/protocol/moment';
import { parseTimestamp } from '@berth/protocol/timestamp';
import { z } from 'zod';
import { type Instant, instant } from '../../../core/nouns/instant.ts';
import { licenseId } from '../../../core/nouns/license.ts';
import type { AuditTrail } from '../../../services/audit/audit-trail.ts';
import { RequestError } from '../../../services/request-error.ts';
import type { Identity } from '../../../services/upkeep/identity.ts';
import { actorOf } from '../../access/caller.ts';
import type { HttpRequest } from '../../http-request.ts';
import { presentEvent } from '../../reply/present-event.ts';
import { refusalReply } from '../../reply/problem.ts';
import { json } from '../../reply/reply.ts';
import { toWire } from '../../reply/to-wire.ts';
import { defineRoute, type Route } from '../../route.ts';

interface AuditServices {
  readonly audit: AuditTrail;
  readonly identity: Identity;
}

export function auditRoutes({ audit, identity }: AuditServices): readonly Route[] {
  return [
    auditRoute(audit),
    auditVerifyRoute(audit),
    auditExportRoute(audit, identity),
    auditThinRoute(audit),
  ];
}

const systemChain = told(
  z.enum(['system'], { error: 'must be "system"' }).optional(),
  'The chain of events without a license.',
);

const auditQuery = z.object({
  license_id: strictLicenseId,
  chain: systemChain,
  license: told(name, 'The id of a license, or a product.'),
  since: told(name, `From when on: ${MOMENT_FORMS}; UTC.`),
  until: told(name, 'Until when, in the same forms. A day is included, an instant is not.'),
  user: told(userName, 'Whom the events are about, or who caused them.'),
  kind: told(name, 'One kind of events, or up to five with commas between them.'),
  before: told(positiveInteger, 'Continue before this link.'),
  limit: told(positiveInteger, 'How many events; a page ends with the commit that reaches it. Up to 1000.'),
});

const eventObject = z
  .looseObject({
    seq: told(z.int(), 'The number of its link.'),
    at: told(z.string(), 'When it happened, UTC.'),
    kind: told(z.string(), 'What happened.'),
  })
  .meta({ id: 'AuditEvent', description: 'An event. Its other fields depend on its kind.' });

function auditRoute(audit: AuditTrail): Route {
  return defineRoute({
    name: 'admin_audit',
    methods: ['GET'],
    paths: ['/api/admin/audit'],
    access: 'operator',
    summary: 'List what happened, newest first, in pages: continue before `next_before`',
    query: auditQuery,
    answer: {
      kind: 'json',
      schema: z.object({
        events: told(z.array(eventObject), 'A page. A search may leave it empty and still go on.'),
        next_before: told(z.int().nullable(), 'Where the next page begins; null if there is none.'),
      }),
    },
    errors: ['license_not_found'],
    handle: async ({ query: { license_id, ...wish }, request }) => {
      const { links, next } = await audit.search({ ...wish, licenseId: license_id }, request.signal);
      return json({ events: links.flatMap(presentLink), next_before: next });
    },
  });
}

/** The events of a link, newest first. */
function presentLink({ seq, chain, at, events }: Awaited<ReturnType<AuditTrail['search']>>['links'][number]) {
  return events.toReversed().map((event) => presentEvent({ seq, chain, at }, event));
}

function auditVerifyRoute(audit: AuditTrail): Route {
  return defineRoute({
    name: 'admin_audit_verify',
    methods: ['GET'],
    paths: ['/api/admin/audit/verify'],
    access: 'operator',
    summary: 'Verify every chain of the audit log from its first link to its head, and all of them together',
    answer: {
      kind: 'json',
      schema: z.looseObject({
        ok: told(z.boolean(), 'Whether the log is intact.'),
        links: told(z.int(), 'How many links there are.'),
        events: told(z.int(), 'How many events there are.'),
      }),
    },
    errors: ['too_many_requests'],
    handle: async ({ request }) => json(toWire(await audit.verify(request.signal))),
  });
}

function auditExportRoute(audit: AuditTrail, identity: Identity): Route {
  // The response body of a HEAD is never read.
  const startExport = async ({ method, signal }: HttpRequest) =>
    method === 'HEAD' ? null : audit.export(await identity.readHardwareId(), signal);
  return defineRoute({
    name: 'admin_audit_export',
    methods: ['GET'],
    paths: ['/api/admin/audit/export'],
    access: 'operator',
    summary: 'The whole audit log to be kept elsewhere, signed by the server',
    answer: {
      kind: 'lines',
      about:
        'A header, a line for each link and for each chain that was thinned out, what the verification ' +
        'found, and a signature. ' +
        'Without the signature, the export is incomplete.',
    },
    errors: ['too_many_requests'],
    handle: async ({ request }) => ({
      status: 200,
      type: 'lines',
      body: await startExport(request),
    }),
  });
}

const thinBody = z
  .object({
    before: z
      .string({ error: 'must be a date' })
      .optional()
      .meta({ pattern: DATE_PATTERN, description: 'The date, as in `borrow`.' }),
    license_id: strictLicenseId,
    chain: systemChain,
  })
  .meta({
    required: ['before'],
    not: { required: ['license_id', 'chain'] },
    description: 'Without a license and a chain, of the whole log.',
    examples: [{ before: '2026-01-01' }],
  });

function auditThinRoute(audit: AuditTrail): Route {
  return defineRoute({
    name: 'admin_audit_thin',
    methods: ['POST'],
    paths: ['/api/admin/audit/thin'],
    access: 'admin',
    summary: 'Replace events older than a date with totals; the log stays verifiable',
    body: thinBody,
    answer: { kind: 'json', schema: z.object({ thinned_links: told(z.int(), 'How many links.') }) },
    errors: ['missing_parameters', 'license_not_found', 'audit_not_whole'],
    handle: async ({ body, caller }) => {
      const wish = { before: readBefore(body.before), chain: readChain(body) };
      const outcome = await audit.thin(wish, actorOf(caller));
      if (outcome.kind === 'refused') return refusalReply(outcome);
      return json({ thinned_links: outcome.kind === 'done' ? outcome.count : 0 });
    },
  });
}

function readBefore(text: string | undefined): Instant {
  const field = { field: 'before' };
  if (text === undefined) throw new RequestError('missing_parameters', '"before" is missing.', field);
  const millis = parseTimestamp(text);
  if (millis == null) throw new RequestError('validation_error', '"before" must be a date.', field);
  return instant(millis);
}

/** Thinning cannot be undone, so an ambiguous request is refused. */
function readChain({ license_id: id, chain }: z.output<typeof thinBody>) {
  if (id !== undefined && chain !== undefined) {
    const message = 'Send either a license or the chain "system".';
    throw new RequestError('validation_error', message, { field: 'chain' });
  }
  return chain ?? (id === undefined ? null : licenseId(id));
}
