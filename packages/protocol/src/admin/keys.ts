import { z } from 'zod';
import { cloudKeysObject } from '../api/cloud-keys.ts';
import { described, secret } from '../fields.ts';
import type { Operations } from './operation.ts';

const masterKeyObject = z
  .object({
    fingerprint: described(z.string(), 'Identifies the key.'),
    source: described(z.enum(['file', 'environment']), 'Where it comes from.'),
    file: described(z.string().nullable(), 'The file with the key.'),
  })
  .meta({ id: 'MasterKey', description: 'The master key that seals the secrets.' });

export const keysObject = z.object({ cloud_keys: cloudKeysObject, master_key: masterKeyObject });

/** 32 bytes in hex or base64. */
const KEY_PATTERN = '^([0-9A-Fa-f]{64}|[A-Za-z0-9_+/-]{43}=?)$';

const kdfObject = z.object({
  name: described(z.string(), 'Its name.'),
  n: described(z.int(), 'The cost.'),
  r: described(z.int(), 'The block size.'),
  p: described(z.int(), 'The parallelization.'),
});

const exportObject = z.object({
  format: described(z.string(), 'What this is.'),
  version: described(z.int(), 'The version of the format.'),
  kdf: described(kdfObject, 'How the key is derived from the passphrase.'),
  salt: described(z.string(), 'In base64.'),
  nonce: described(z.string(), 'In base64.'),
  sealed: described(z.string(), 'The master key, sealed; in base64.'),
  checksum: described(z.string(), 'Distinguishes a damaged copy from a wrong passphrase.'),
});

export const KEY_API = {
  'GET /api/admin/keys': { answer: keysObject },
  'POST /api/admin/keys/rotate': {
    body: z.object({
      new_key: secret.meta({
        pattern: KEY_PATTERN,
        description: 'The new master key: 32 bytes in hex or base64.',
      }),
    }),
    answer: masterKeyObject.extend({ replaced: described(z.string(), 'The fingerprint of the old key.') }),
  },
  'POST /api/admin/keys/export': {
    body: z.object({
      passphrase: secret.meta({ minLength: 12, description: 'The passphrase that opens the export.' }),
    }),
    required: ['passphrase'],
    answer: exportObject,
  },
} as const satisfies Operations;
