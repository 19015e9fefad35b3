import { IDENTITY_API } from '@berth/protocol/admin/identity';
import type { GrantKeyAdmin } from '../../../services/grants/grant-key-admin.ts';
import { adminRoutes } from '../../admin-route.ts';
import { toWire } from '../../reply/to-wire.ts';
import type { Route } from '../../route.ts';

export function identityRoutes(desk: GrantKeyAdmin): readonly Route[] {
  return adminRoutes(IDENTITY_API, {
    'GET /api/admin/identity': {
      name: 'admin_identity',
      access: 'viewer',
      summary: 'The keys that sign grants, and their certificates',
      handle: async (_, send) => send(toWire(await desk.describe())),
    },
    'POST /api/admin/identity/rotate': {
      name: 'admin_identity_rotate',
      access: 'admin',
      summary: 'Sign grants with a new key; the one before stays valid until its grants have ended',
      errors: ['too_many_grant_keys'],
      handle: async ({ caller }, send) => send(toWire(await desk.rotate(caller.actor))),
    },
    'POST /api/admin/identity/certificates': {
      name: 'admin_identity_certify',
      access: 'admin',
      summary: "Install the vendor's certificate for the newest key that signs grants",
      holdsFile: true,
      errors: [
        'license_not_found',
        'offline_key_not_configured',
        'server_certificate_invalid',
        'server_certificate_mismatch',
      ],
      handle: async ({ body, caller }, send) =>
        send(toWire(await desk.addCertificate(body.certificate, caller.actor))),
    },
  });
}
