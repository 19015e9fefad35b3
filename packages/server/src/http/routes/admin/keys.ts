import { cloudKeysObject } from '@berth/protocol/cloud-keys';
import { secret } from '@berth/protocol/fields';
import { z } from 'zod';
import type { Credentials } from '../../../services/credentials.ts';
import type { KeyCustody } from '../../../services/key-custody.ts';
import { actorOf } from '../../caller.ts';
import { json } from '../../reply.ts';
import { defineRoute, type Route } from '../../route.ts';
import { toWire } from '../../to-wire.ts';

export interface KeyAdministration {
  readonly credentials: Credentials;
  readonly custody: KeyCustody;
}

const masterKeyObject = z.object({
  fingerprint: z.string(),
  source: z.enum(['file', 'environment']),
  file: z.string().nullable(),
});

export const keysObject = z.object({ cloud_keys: cloudKeysObject, master_key: masterKeyObject });

/** What may be shown of keys: which there are, never what they are. */
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
    summary: 'Which keys the server has, by their fingerprints',
    answer: { kind: 'json', schema: keysObject },
    errors: [],
    handle: async () => json(await presentKeys(services)),
  });
}

function rotateRoute({ custody }: KeyAdministration): Route {
  return defineRoute({
    name: 'admin_key_rotate',
    methods: ['POST'],
    paths: ['/api/admin/keys/rotate'],
    access: 'admin',
    summary: 'Seal every secret with a new master key; one from the environment has to be sent along',
    body: z.object({ new_key: secret }),
    answer: { kind: 'json', schema: masterKeyObject.extend({ replaced: z.string() }) },
    errors: ['missing_parameters', 'other_servers_running'],
    handle: async ({ body, caller }) =>
      json(toWire(await custody.rotate(body.new_key ?? null, actorOf(caller)))),
  });
}

const exportObject = z.object({
  format: z.string(),
  version: z.int(),
  kdf: z.object({ name: z.string(), n: z.int(), r: z.int(), p: z.int() }),
  salt: z.string(),
  nonce: z.string(),
  sealed: z.string(),
  checksum: z.string().optional().meta({ description: 'tells a damaged copy from a wrong passphrase' }),
});

function exportRoute({ custody }: KeyAdministration): Route {
  return defineRoute({
    name: 'admin_key_export',
    methods: ['POST'],
    paths: ['/api/admin/keys/export'],
    access: 'admin',
    summary: 'The master key, sealed with a passphrase of at least 12 characters, to be kept elsewhere',
    body: z.object({ passphrase: secret }),
    answer: { kind: 'json', schema: exportObject },
    errors: ['missing_parameters'],
    handle: async ({ body, caller }) => json(await custody.export(body.passphrase ?? null, actorOf(caller))),
  });
}
