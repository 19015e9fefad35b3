import { cloudKeysObject } from '@berth/protocol/api/cloud-keys';
import { secret, told } from '@berth/protocol/fields';
import { z } from 'zod';
import type { Credentials } from '../../../services/cloud/credentials.ts';
import type { KeyCustody } from '../../../services/upkeep/key-custody.ts';
import { actorOf } from '../../access/caller.ts';
import { json } from '../../reply/reply.ts';
import { toWire } from '../../reply/to-wire.ts';
import { defineRoute, type Route } from '../../route.ts';

export interface KeyAdministration {
  readonly credentials: Credentials;
  readonly custody: KeyCustody;
}

const masterKeyObject = z
  .object({
    fingerprint: told(z.string(), 'Identifies the key.'),
    source: told(z.enum(['file', 'environment']), 'Where it comes from.'),
    file: told(z.string().nullable(), 'The file with the key.'),
  })
  .meta({ id: 'MasterKey', description: 'The master key that seals the secrets.' });

export const keysObject = z.object({ cloud_keys: cloudKeysObject, master_key: masterKeyObject });

/** The public view of the keys: which are set, never their values. */
export async function presentKeys({ credentials, custody }: KeyAdministration) {
  return {
    cloud_keys: toWire(await credentials.describe()),
    master_key: toWire(await custody.describe()),
  };
}

export function keyAdminRoutes(services: KeyAdministration): readonly Route[] {
  return [keysRoute(services), rotateRoute(services), exportRoute(services)];
}

function keysRoute(services: KeyAdministration): Route {
  return defineRoute({
    name: 'admin_keys',
    methods: ['GET'],
    paths: ['/api/admin/keys'],
    access: 'operator',
    summary: 'The fingerprints of the keys',
    answer: { kind: 'json', schema: keysObject },
    errors: [],
    handle: async () => json(await presentKeys(services)),
  });
}

/** 32 bytes in hex or base64. */
const KEY_PATTERN = '^([0-9A-Fa-f]{64}|[A-Za-z0-9_+/-]{43}=?)$';

function rotateRoute({ custody }: KeyAdministration): Route {
  return defineRoute({
    name: 'admin_key_rotate',
    methods: ['POST'],
    paths: ['/api/admin/keys/rotate'],
    access: 'admin',
    summary:
      'Seal every secret with a new master key, which must be sent if the old one is in the environment',
    body: z.object({
      new_key: secret.meta({
        pattern: KEY_PATTERN,
        description: 'The new master key: 32 bytes in hex or base64.',
      }),
    }),
    answer: {
      kind: 'json',
      schema: masterKeyObject.extend({ replaced: told(z.string(), 'The fingerprint of the old key.') }),
    },
    errors: ['missing_parameters', 'other_servers_running'],
    handle: async ({ body, caller }) =>
      json(toWire(await custody.rotate(body.new_key ?? null, actorOf(caller)))),
  });
}

const kdfObject = z.object({
  name: told(z.string(), 'Its name.'),
  n: told(z.int(), 'The cost.'),
  r: told(z.int(), 'The block size.'),
  p: told(z.int(), 'The parallelization.'),
});

const exportObject = z.object({
  format: told(z.string(), 'What this is.'),
  version: told(z.int(), 'The version of the format.'),
  kdf: told(kdfObject, 'How the key is derived from the passphrase.'),
  salt: told(z.string(), 'In base64.'),
  nonce: told(z.string(), 'In base64.'),
  sealed: told(z.string(), 'The master key, sealed; in base64.'),
  checksum: told(z.string(), 'Distinguishes a damaged copy from a wrong passphrase.'),
});

function exportRoute({ custody }: KeyAdministration): Route {
  return defineRoute({
    name: 'admin_key_export',
    methods: ['POST'],
    paths: ['/api/admin/keys/export'],
    access: 'admin',
    summary: 'The master key, sealed with a passphrase of at least 12 characters, to be kept elsewhere',
    body: z
      .object({
        passphrase: secret.meta({ minLength: 12, description: 'The passphrase that opens the export.' }),
      })
      .meta({ required: ['passphrase'] }),
    answer: { kind: 'json', schema: exportObject },
    errors: ['missing_parameters'],
    handle: async ({ body, caller }) => json(await custody.export(body.passphrase ?? null, actorOf(caller))),
  });
}
