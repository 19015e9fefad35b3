import { LICENSE_API } from '@berth/protocol/admin/licenses';
import type { LicenseObject } from '@berth/protocol/api/license-object';
import { endOf, type License, licenseState, NO_ASSURANCE } from '../../../core/nouns/license.ts';
import type { Catalogue } from '../../../services/lending/catalogue.ts';
import type { Offline } from '../../../services/offline/offline.ts';
import { adminRoutes } from '../../admin-route.ts';
import { licenseFields } from '../../reply/present-license.ts';
import { toWire } from '../../reply/to-wire.ts';
import type { Route } from '../../route.ts';

export function licenseAdminRoutes(catalogue: Catalogue, offline: Offline): readonly Route[] {
  return adminRoutes(LICENSE_API, {
    'GET /api/admin/licenses': {
      name: 'admin_licenses',
      access: 'viewer',
      isForProducts: true,
      summary: 'All licenses with their state, source and use',
      handle: async ({ query }, send) => {
        const records = await catalogue.list(query.product ?? null);
        const meant = records.filter(
          ({ license }) => query.license_id === undefined || license.id === query.license_id,
        );
        return send({ licenses: meant.map(presentRecord) });
      },
    },
    'POST /api/admin/licenses/add-demo': {
      name: 'admin_add_demo',
      access: 'admin',
      summary: 'Add the demo license with five slots, unless there is a license',
      handle: async (_, send) => send({ added: await catalogue.addDemo() }),
    },
    'GET /api/admin/license-requests': {
      name: 'admin_license_requests',
      access: 'admin',
      summary: 'Requests for licenses, by file or by codes, that the vendor has not answered',
      handle: async (_, send) => send({ requests: (await offline.listRequests()).map(toWire) }),
    },
  });
}

/** The license object with extra fields for administrators. */
function presentRecord(record: Awaited<ReturnType<Catalogue['list']>>[number]) {
  const { license, now, borrowed, addedAt } = record;
  const { checkedAt, movedAt } = license.tie;
  const state = licenseState(license, now);
  const endsAt = endOf(license, now);
  const facts = { source: license.source, state, endsAt, borrowed, addedAt, checkedAt, movedAt };
  const object = JSON.parse(`{${licenseFields({ ...record, registration: null })}}`) as LicenseObject;
  return { ...object, ...toWire(facts), ...presentAssurance(license) };
}

/** How reliable the cloud's replies about the license are; empty for licenses from elsewhere. */
function presentAssurance({ source, tie }: License) {
  if (source !== 'cloud') return {};
  const { isBound, unconfirmed, keptTotal, doubt } = tie.assurance ?? NO_ASSURANCE;
  return {
    cloud_answers_bound: isBound,
    unconfirmed_verdict: unconfirmed,
    lower_total_kept_out: keptTotal,
    answered_license_id: doubt?.otherId ?? null,
  };
}
