import { z } from 'zod';
import { licenseObject } from '../api/license-object.ts';
import { described, name, strictLicenseId } from '../fields.ts';
import type { Operations } from './operation.ts';

const date = z.string().nullable();

const licenseRecord = licenseObject
  .extend({
    source: described(z.enum(['cloud', 'offline', 'airgap', 'demo']), 'Where the license came from.'),
    state: described(z.string(), 'Whether it can be used now.'),
    ends_at: described(date, 'When it ends, with its grace period if it is in that, UTC; null: never.'),
    borrowed: described(z.int(), 'How many slots are borrowed.'),
    added_at: described(z.string(), 'When it was added, UTC.'),
    checked_at: described(date, 'When it was last checked at the licensing cloud, UTC.'),
    moved_at: described(date, 'Since when it belongs to another machine, UTC.'),
    cloud_answers_bound: described(
      z.boolean().optional(),
      'Whether the answers of the cloud are bound to requests; only of a license from the cloud.',
    ),
    unconfirmed_verdict: described(
      z.string().nullish(),
      'What the cloud has said and must confirm with its next answer; only of a license from the cloud.',
    ),
    lower_total_kept_out: described(
      z.boolean().optional(),
      'Whether a lower total of the cloud is ignored; only of a license from the cloud.',
    ),
    answered_license_id: described(
      z.int().nullish(),
      'Which other license the cloud answers for under this key, if any; only of a license from the cloud.',
    ),
  })
  .meta({ id: 'LicenseRecord', extends: 'License', description: 'A license as administrators see it.' });

export type License = z.output<typeof licenseRecord>;

const licenseRequest = z
  .object({
    request_id: described(z.string(), 'The id of the request.'),
    request: described(z.enum(['activation', 'airgap']), 'Whether it is a file, or codes.'),
    product: described(z.string().nullable(), 'The product code, if it was given.'),
    key_end: described(z.string().nullable(), 'The last characters of the license key, if it was given.'),
    file_name: described(z.string().nullable(), 'The name of its file; null for codes.'),
    made_at: described(z.string(), 'When it was made, UTC.'),
  })
  .meta({ id: 'PendingLicense', description: 'A request that the vendor has not answered.' });

export const LICENSE_API = {
  'GET /api/admin/licenses': {
    query: z.object({ product: described(name, 'The product code.'), license_id: strictLicenseId }),
    answer: z.object({ licenses: described(z.array(licenseRecord), 'All of them.') }),
  },
  'POST /api/admin/licenses/add-demo': {
    answer: z.object({ added: described(z.boolean(), 'Whether it was added.') }),
  },
  'GET /api/admin/license-requests': {
    answer: z.object({ requests: described(z.array(licenseRequest), 'The newest first, at most 20.') }),
  },
} as const satisfies Operations;
