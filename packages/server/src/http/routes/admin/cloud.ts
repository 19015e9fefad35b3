import { removeProductAnswer } from '@berth/protocol/api/products';
import { name, strictLicenseId, told } from '@berth/protocol/fields';
import { z } from 'zod';
import { licenseId } from '../../../core/nouns/license.ts';
import type { CloudLink } from '../../../services/cloud/cloud-link.ts';
import { RequestError } from '../../../services/request-error.ts';
import { actorOf } from '../../access/caller.ts';
import { json } from '../../reply/reply.ts';
import { toWire } from '../../reply/to-wire.ts';
import { defineRoute, type Route } from '../../route.ts';
import { CLOUD_ERRORS } from '../v4/products.ts';

/** Cloud administration, except for adding licenses. */
export function cloudRoutes(link: CloudLink): readonly Route[] {
  return [syncRoute(link), removeLocallyRoute(link), backlogRoute(link), settleRoute(link)];
}

export const linkError = z
  .object({
    code: told(z.string(), 'The error code.'),
    reason: told(z.string().nullable(), 'Why there was no valid answer.'),
    message: told(z.string(), 'What happened, for people.'),
  })
  .meta({ id: 'CloudProblem', description: 'Why the licensing cloud could not be reached, or refused.' });

const syncedLicense = z.object({
  license_id: told(z.int(), 'The id of the license.'),
  product: told(z.string(), 'Its product code.'),
  error: told(linkError.nullable(), 'The error; null if there is none.'),
  untold: told(
    z.object({
      pending: told(z.int(), 'Not in a report yet.'),
      under_way: told(z.int(), 'In an unanswered report.'),
      uncertain: told(z.int(), 'In reports with an unknown result.'),
    }),
    'What may be unknown to the licensing cloud.',
  ),
});

const consent = z.boolean({ error: 'must be true or false' }).optional();

function syncRoute(link: CloudLink): Route {
  return defineRoute({
    name: 'admin_sync',
    methods: ['POST'],
    paths: ['/api/admin/licenses/sync'],
    access: 'admin',
    summary: 'Report consumption to the licensing cloud and check licenses there now',
    body: z
      .object({
        license_id: strictLicenseId,
        accept_older: told(consent, 'Accept answers that are older than what is known.'),
        accept_unbound: told(consent, 'Accept answers that are not bound to requests.'),
      })
      .meta({ description: 'Without a license, all licenses.' }),
    answer: {
      kind: 'json',
      schema: z.object({
        licenses: told(z.array(syncedLicense), 'The result for each license.'),
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
    summary: 'Remove a license without contacting the licensing cloud, where it stays activated',
    body: z.object({ license_id: strictLicenseId }).meta({ required: ['license_id'] }),
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

const reportObject = z
  .object({
    id: told(z.string(), 'The id of the report.'),
    amount: told(z.int(), 'How much it reports.'),
    cut_at: told(z.string(), 'When it was created, UTC.'),
    uncertain_at: told(z.string().nullable(), 'Since when its result is unknown, UTC.'),
  })
  .meta({ id: 'Report', description: 'A report of consumption to the licensing cloud.' });

const backlogRecord = z
  .object({
    license_id: told(z.int(), 'The id of the license.'),
    product: told(z.string(), 'Its product code.'),
    is_removed: told(z.boolean(), 'Whether the license has been removed.'),
    feature: told(z.string().nullable(), 'The feature code; null for the license itself.'),
    pending: told(z.int(), 'Not in a report yet.'),
    reported: told(z.int(), 'Reported to the licensing cloud.'),
    under_way: told(reportObject.nullable(), 'The report without an answer yet.'),
    uncertain: told(z.array(reportObject), 'Reports with an unknown result.'),
  })
  .meta({ id: 'Meter', description: 'The consumption of a license or a feature.' });

function backlogRoute(link: CloudLink): Route {
  return defineRoute({
    name: 'admin_reports',
    methods: ['GET'],
    paths: ['/api/admin/reports'],
    access: 'operator',
    summary: 'Consumption, and how much of it has been reported to the licensing cloud',
    answer: { kind: 'json', schema: z.object({ meters: told(z.array(backlogRecord), 'All of them.') }) },
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
    summary: 'Say whether the vendor counted an uncertain report',
    body: z
      .object({
        report_id: told(name, 'The id of the report.'),
        counted: told(consent, 'Whether the vendor has counted it.'),
      })
      .meta({ required: ['report_id', 'counted'] }),
    answer: { kind: 'json', schema: z.object({ settled: told(z.string(), 'The id of the report.') }) },
    errors: ['missing_parameters', 'report_not_found', 'report_not_uncertain'],
    handle: async ({ body, caller }) => {
      const { report_id, counted } = body;
      if (report_id === undefined || counted === undefined) {
        throw new RequestError('missing_parameters', 'Send "report_id" and "counted".');
      }
      await link.settle(report_id, counted, actorOf(caller));
      return json({ settled: report_id });
    },
  });
}
