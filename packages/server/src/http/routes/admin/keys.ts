import { KEY_API } from '@berth/protocol/admin/keys';
import type { Credentials } from '../../../services/cloud/credentials.ts';
import type { KeyCustody } from '../../../services/keys/key-custody.ts';
import { adminRoutes } from '../../admin-route.ts';
import { toWire } from '../../reply/to-wire.ts';
import type { Route } from '../../route.ts';

export interface KeyAdministration {
  readonly credentials: Credentials;
  readonly custody: KeyCustody;
}

/** The public view of the keys: which are set, never their values. */
export async function presentKeys({ credentials, custody }: KeyAdministration) {
  return {
    cloud_keys: toWire(await credentials.describe()),
    master_key: toWire(await custody.describe()),
  };
}

export function keyAdminRoutes(services: KeyAdministration): readonly Route[] {
  const { custody } = services;
  return adminRoutes(KEY_API, {
    'GET /api/admin/keys': {
      name: 'admin_keys',
      access: 'viewer',
      summary: 'The fingerprints of the keys',
      handle: async (_, send) => send(await presentKeys(services)),
    },
    'POST /api/admin/keys/rotate': {
      name: 'admin_key_rotate',
      access: 'admin',
      mustConfirm: true,
      summary:
        'Seal every secret with a new master key, which must be sent if the old one is in the environment',
      errors: ['missing_parameters', 'other_servers_running'],
      handle: async ({ body, caller }, send) =>
        send(toWire(await custody.rotate(body.new_key ?? null, caller.actor))),
    },
    'POST /api/admin/keys/export': {
      name: 'admin_key_export',
      access: 'admin',
      mustConfirm: true,
      summary: 'The master key, sealed with a passphrase of at least 12 characters, to be kept elsewhere',
      handle: async ({ body, caller }, send) => send(await custody.export(body.passphrase, caller.actor)),
    },
  });
}
