import { name, strictLicenseId } from '@berth/protocol/fields';
import { removeProductAnswer } from '@berth/protocol/products';
import { z } from 'zod';
import { licenseId } from '../../../core/license.ts';
import type { CloudLink } from '../../../services/cloud-link.ts';
import { RequestError } from '../../../services/request-error.ts';
import { actorOf } from '../../caller.ts';
import { json } from '../../reply.ts';
import { defineRoute, type Route } from '../../route.ts';
import { toWire } from '../../to-wire.ts';
import { CLOUD_ERRORS } from '../v4/products.ts';

/** What an administrator does about the licensing cloud beside adding licenses. */
export function cloudRoutes(link: CloudLink): readonly Route[] {
  return [syncRoute(link), removeLocallyRoute(link), backlogRoute(link), settleRoute(link)];
}

const linkError = z.object({ code: z.string(), reason: z.string().nullable(), message: z.string() });

const consent = z.boolean({ error: 'must be true or false' }).optional();

function syncRoute(link: CloudLink): Route {
  return defineRoute({
    name: 'admin_sync',
    methods: ['POST'],
    paths: ['/api/admin/licenses/sync'],
    access: 'admin',
    summary: 'Report consumption to the licensing cloud and check licenses there, now',
    body: z.object({ license_id: strictLicenseId, accept_older: consent, accept_unbound: consent }),
    answer: {
      kind: 'json',
      schema: z.object({
        licenses: z.array(
          z.object({
            license_id: z.int(),
            product: z.string(),
            error: linkError.nullable(),
            untold: z.object({ pending: z.int(), under_way: z.int(), uncertain: z.int() }),
          }),
        ),
      }),
    },
    errors: ['license_not_found', ...CLOUD_ERRORS],
    handle: async ({ body, caller }) => {
      const { license_id, accept_older: older = false, accept_unbound: unbound = false } = body;
      const id = license_id === undefined ? null : licenseId(license_id);
      const accepting = { older, unbound, by: actorOf(caller) };
      return json({ licenses: (await link.sync(id, accepting)).map(toWire) });
    },
  });
}

function removeLocallyRoute(link: CloudLink): Route {
  return defineRoute({
    name: 'admin_remove_locally',
    methods: ['POST'],
    paths: ['/api/admin/licenses/remove-locally'],
    access: 'admin',
    summary: 'Remove a license without telling the licensing cloud, which keeps its activation',
    body: z.object({ license_id: strictLicenseId }),
    answer: { kind: 'json', schema: removeProductAnswer },
    errors: ['missing_parameters', 'license_not_found'],
    handle: async ({ body, caller }) => {
      const id = body.license_id === undefined ? null : licenseId(body.license_id);
      const request = { product: null, licenseId: id, licenseKey: null };
      const removed = await link.remove(request, true, actorOf(caller));
      return json({ license_id: removed.id, product: removed.product });
    },
  });
}

const reportObject = z.object({
  id: z.string(),
  amount: z.int(),
  cut_at: z.string(),
  uncertain_at: z.string().nullable(),
});

const backlogRecord = z.object({
  license_id: z.int(),
  product: z.string(),
  is_removed: z.boolean(),
  feature: z.string().nullable(),
  pending: z.int(),
  reported: z.int(),
  under_way: reportObject.nullable(),
  uncertain: z.array(reportObject),
});

function backlogRoute(link: CloudLink): Route {
  return defineRoute({
    name: 'admin_reports',
    methods: ['GET'],
    paths: ['/api/admin/reports'],
    access: 'operator',
    summary: 'What was consumed, and how much of it the licensing cloud knows',
    answer: { kind: 'json', schema: z.object({ meters: z.array(backlogRecord) }) },
    errors: [],
    handle: async () => {
      const records = await link.listBacklog();
      return json({
        meters: records.map(({ source: _, underWay, uncertain, ...meter }) => ({
          ...toWire(meter),
          under_way: underWay === null ? null : toWire(underWay),
          uncertain: uncertain.map(toWire),
        })),
      });
    },
  });
}

function settleRoute(link: CloudLink): Route {
  return defineRoute({
    name: 'admin_settle_report',
    methods: ['POST'],
    paths: ['/api/admin/reports/settle'],
    access: 'admin',
    summary: 'Say what became of an uncertain report: counted by the vendor, or not',
    body: z.object({ report_id: name, counted: z.boolean({ error: 'must be true or false' }).optional() }),
    answer: { kind: 'json', schema: z.object({ settled: z.string() }) },
    errors: ['missing_parameters', 'report_not_found', 'report_not_uncertain'],
    handle: async ({ body, caller }) => {
      const { report_id, counted } = body;
      if (report_id === undefined || counted === undefined) {
        throw new RequestError('missing_parameters', 'Send "report_id", and whether it was "counted".');
      }
      await link.settle(report_id, counted, actorOf(caller));
      return json({ settled: report_id });
    },
  });
}
