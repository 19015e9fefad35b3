import { z } from 'zod';
import { usageAnswer } from '../api/offline.ts';
import { removeProductAnswer } from '../api/products.ts';
import { described, name, strictLicenseId } from '../fields.ts';
import type { Operations } from './operation.ts';

export const linkError = z
  .object({
    code: described(z.string(), 'The error code.'),
    reason: described(z.string().nullable(), 'Why there was no valid answer.'),
    message: described(z.string(), 'What happened, for people.'),
  })
  .meta({ id: 'CloudProblem', description: 'Why the licensing cloud could not be reached, or refused.' });

const syncedLicense = z.object({
  license_id: described(z.int(), 'The id of the license.'),
  product: described(z.string(), 'Its product code.'),
  error: described(linkError.nullable(), 'The error; null if there is none.'),
  untold: described(
    z.object({
      pending: described(z.int(), 'Not in a report yet.'),
      under_way: described(z.int(), 'In an unanswered report.'),
      uncertain: described(z.int(), 'In reports with an unknown result.'),
    }),
    'What may be unknown to the licensing cloud.',
  ),
});

const consent = z.boolean({ error: 'must be true or false' }).optional();

const reportObject = z
  .object({
    id: described(z.string(), 'The id of the report.'),
    amount: described(z.int(), 'How much it reports.'),
    cut_at: described(z.string(), 'When it was created, UTC.'),
    uncertain_at: described(z.string().nullable(), 'Since when its result is unknown, UTC.'),
  })
  .meta({ id: 'Report', description: 'A report of consumption to the licensing cloud.' });

const backlogRecord = z
  .object({
    license_id: described(z.int(), 'The id of the license.'),
    product: described(z.string(), 'Its product code.'),
    is_removed: described(z.boolean(), 'Whether the license has been removed.'),
    feature: described(z.string().nullable(), 'The feature code; null for the license itself.'),
    pending: described(z.int(), 'Not in a report yet.'),
    reported: described(z.int(), 'Reported to the licensing cloud.'),
    under_way: described(reportObject.nullable(), 'The report without an answer yet.'),
    uncertain: described(z.array(reportObject), 'Reports with an unknown result.'),
  })
  .meta({ id: 'Meter', description: 'The consumption of a license or a feature.' });

export const CLOUD_API = {
  'POST /api/admin/licenses/sync': {
    body: z
      .object({
        license_id: strictLicenseId,
        accept_older: described(consent, 'Accept answers that are older than what is known.'),
        accept_unbound: described(consent, 'Accept answers that are not bound to requests.'),
      })
      .meta({ description: 'Without a license, all licenses.' }),
    answer: z.object({
      licenses: described(z.array(syncedLicense), 'The result for each license.'),
    }),
  },
  'POST /api/admin/licenses/remove-locally': {
    body: z.object({ license_id: strictLicenseId }),
    required: ['license_id'],
    answer: removeProductAnswer,
  },
  'GET /api/admin/reports': {
    answer: z.object({ meters: described(z.array(backlogRecord), 'All of them.') }),
  },
  'POST /api/admin/reports/settle': {
    body: z.object({
      report_id: described(name, 'The id of the report.'),
      counted: described(consent, 'Whether the vendor has counted it.'),
    }),
    required: ['report_id', 'counted'],
    answer: z.object({ settled: described(z.string(), 'The id of the report.') }),
  },
  'POST /api/admin/usage': { answer: usageAnswer },
} as const satisfies Operations;
