import { z } from 'zod';
import { licenseObject } from '../api/license-object.ts';
import { name, strictLicenseId, told } from '../fields.ts';
import type { Operations } from './operation.ts';

const date = z.string().nullable();

const licenseRecord = licenseObject
  .extend({
    source: told(z.enum(['cloud', 'offline', 'airgap', 'demo']), 'Where the license came from.'),
    state: told(z.string(), 'Whether it can be used now.'),
    ends_at: told(date, 'When it ends, with its grace period if it is in that, UTC; null: never.'),
    borrowed: told(z.int(), 'How many slots are borrowed.'),
    added_at: told(z.string(), 'When it was added, UTC.'),
    checked_at: told(date, 'When it was last checked at the licensing cloud, UTC.'),
    moved_at: told(date, 'Since when it belongs to another machine, UTC.'),
    cloud_answers_bound: told(
      z.boolean().optional(),
      'Whether the answers of the cloud are bound to requests; only of a license from the cloud.',
    ),
    unconfirmed_verdict: told(
      z.string().nullish(),
      'What the cloud has said and must confirm with its next answer; only of a license from the cloud.',
    ),
    lower_total_kept_out: told(
      z.boolean().optional(),
      'Whether a lower total of the cloud is ignored; only of a license from the cloud.',
    ),
  })
  .meta({ id: 'LicenseRecord', extends: 'License', description: 'A license as administrators see it.' });

export type License = z.output<typeof licenseRecord>;

export const LICENSE_API = {
  'GET /api/admin/licenses': {
    query: z.object({ product: told(name, 'The product code.'), license_id: strictLicenseId }),
    answer: z.object({ licenses: told(z.array(licenseRecord), 'All of them.') }),
  },
  'POST /api/admin/licenses/add-demo': {
    answer: z.object({ added: told(z.boolean(), 'Whether it was added.') }),
  },
} as const satisfies Operations;
