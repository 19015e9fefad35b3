import { z } from 'zod';
import { usageAnswer } from '../api/offline.ts';
import { removeProductAnswer } from '../api/products.ts';
import { name, strictLicenseId, told } from '../fields.ts';
import type { Operations } from './operation.ts';

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

export const CLOUD_API = {
  'POST /api/admin/licenses/sync': {
    body: z
      .object({
        license_id: strictLicenseId,
        accept_older: told(consent, 'Accept answers that are older than what is known.'),
        accept_unbound: told(consent, 'Accept answers that are not bound to requests.'),
      })
      .meta({ description: 'Without a license, all licenses.' }),
    answer: z.object({
      licenses: told(z.array(syncedLicense), 'The result for each license.'),
    }),
  },
  'POST /api/admin/licenses/remove-locally': {
    body: z.object({ license_id: strictLicenseId }).meta({ required: ['license_id'] }),
    answer: removeProductAnswer,
  },
  'GET /api/admin/reports': { answer: z.object({ meters: told(z.array(backlogRecord), 'All of them.') }) },
  'POST /api/admin/reports/settle': {
    body: z
      .object({
        report_id: told(name, 'The id of the report.'),
        counted: told(consent, 'Whether the vendor has counted it.'),
      })
      .meta({ required: ['report_id', 'counted'] }),
    answer: z.object({ settled: told(z.string(), 'The id of the report.') }),
  },
  'POST /api/admin/usage': { answer: usageAnswer },
} as const satisfies Operations;
