import { CLOUD_API } from '@berth/protocol/admin/cloud';
import { fileReply } from '@berth/web/reply';
import { licenseId } from '../../../core/nouns/license.ts';
import type { CloudLink } from '../../../services/cloud/cloud-link.ts';
import type { Offline } from '../../../services/offline/offline.ts';
import { adminRoutes } from '../../admin-route.ts';
import { toWire } from '../../reply/to-wire.ts';
import type { Route } from '../../route.ts';
import { wantsText } from '../v4/offline.ts';
import { CLOUD_ERRORS } from '../v4/products.ts';

/** Checks, removals and reports at the licensing cloud, and reports by file. */
export function cloudRoutes(link: CloudLink, offline: Offline): readonly Route[] {
  return adminRoutes(CLOUD_API, {
    'POST /api/admin/licenses/sync': {
      name: 'admin_sync',
      access: 'admin',
      summary: 'Report consumption to the licensing cloud and check licenses there now',
      errors: ['license_not_found', ...CLOUD_ERRORS],
      handle: async ({ body, caller }, send) => {
        const { license_id, accept_older: older = false, accept_unbound: unbound = false } = body;
        const id = license_id === undefined ? null : licenseId(license_id);
        const accepting = { older, unbound, by: caller.actor };
        return send({ licenses: (await link.sync(id, accepting)).map(toWire) });
      },
    },
    'POST /api/admin/licenses/remove-locally': {
      name: 'admin_remove_locally',
      access: 'admin',
      summary: 'Remove a license without contacting the licensing cloud, where it stays activated',
      errors: ['license_not_found'],
      handle: async ({ body, caller }, send) => {
        const request = { product: null, licenseId: licenseId(body.license_id), licenseKey: null };
        const removed = await link.remove(request, true, caller.actor);
        return send({ license_id: removed.id, product: removed.product });
      },
    },
    'GET /api/admin/reports': {
      name: 'admin_reports',
      access: 'viewer',
      isForProducts: true,
      summary: 'Consumption, and how much of it has been reported to the licensing cloud',
      handle: async (_, send) => {
        const records = await link.listBacklog();
        return send({ meters: records.map(({ source: _, ...meter }) => toWire(meter)) });
      },
    },
    'POST /api/admin/reports/settle': {
      name: 'admin_settle_report',
      access: 'admin',
      summary: 'Say whether the vendor counted an uncertain report',
      errors: ['report_not_found', 'report_not_uncertain'],
      handle: async ({ body, caller }, send) => {
        await link.settle(body.report_id, body.counted, caller.actor);
        return send({ settled: body.report_id });
      },
    },
    'POST /api/admin/usage': {
      name: 'admin_usage',
      access: 'admin',
      summary: 'Create a file for the vendor with the consumption of licenses installed from files',
      textToo: 'the file',
      handle: async ({ request, caller }, send) => {
        const made = await offline.writeUsage(caller.actor);
        return wantsText(request) ? fileReply(made.usageData, made.fileName) : send(toWire(made));
      },
    },
  });
}
