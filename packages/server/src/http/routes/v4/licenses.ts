import { licenseQuery, licensesQuery } from '@berth/protocol/api/lending';
import { licenseObject } from '@berth/protocol/api/license-object';
import { jsonText } from '@berth/web/reply';
import { z } from 'zod';
import type { Catalogue } from '../../../services/lending/catalogue.ts';
import { presentLicense } from '../../reply/present-license.ts';
import { refusalReply } from '../../reply/problem.ts';
import { defineRoute, type Route } from '../../route.ts';
import { targetOf } from './lending.ts';

export function licenseRoutes(catalogue: Catalogue): readonly Route[] {
  return [
    defineRoute('GET /api/v4/license', {
      name: 'license',
      access: 'client',
      isForProducts: true,
      summary: 'The license that answers for a product',
      query: licenseQuery,
      answer: { kind: 'json', schema: licenseObject },
      errors: ['missing_parameters', 'unknown_product', 'license_not_found'],
      handle: async ({ query }) => {
        const record = await catalogue.find(targetOf(query));
        if ('kind' in record) return refusalReply(record);
        return jsonText(presentLicense({ ...record, registration: null }));
      },
    }),
    defineRoute('GET /api/v4/licenses', {
      name: 'licenses',
      access: 'client',
      isForProducts: true,
      summary: 'All licenses of a product, the most recently added first',
      query: licensesQuery,
      answer: { kind: 'json', schema: z.array(licenseObject) },
      errors: ['missing_parameters', 'unknown_product'],
      handle: async ({ query }) => {
        const records = await catalogue.findRequestedLicenses(query.product ?? null);
        if ('kind' in records) return refusalReply(records);
        const texts = records.map((record) => presentLicense({ ...record, registration: null }));
        return jsonText(`[${texts.join(',')}]`);
      },
    }),
  ];
}
