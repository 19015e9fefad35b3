import { z } from 'zod';
import { cloudKeysObject } from '../api/cloud-keys.ts';
import { secret, told } from '../fields.ts';
import type { Operations } from './operation.ts';

const masterKeyObject = z
  .object({
    fingerprint: told(z.string(), 'Identifies the key.'),
    source: told(z.enum(['file', 'environment']), 'Where it comes from.'),
    file: told(z.string().nullable(), 'The file with the key.'),
  })
  .meta({ id: 'MasterKey', description: 'The master key that seals the secrets.' });

export const keysObject = z.object({ cloud_keys: cloudKeysObject, master_key: masterKeyObject });

/** 32 bytes in hex or base64. */
const KEY_PATTERN = '^([0-9A-Fa-f]{64}|[A-Za-z0-9_+/-]{43}=?)$';

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

export const KEY_API = {
  'GET /api/admin/keys': { answer: keysObject },
  'POST /api/admin/keys/rotate': {
    body: z.object({
      new_key: secret.meta({
        pattern: KEY_PATTERN,
        description: 'The new master key: 32 bytes in hex or base64.',
      }),
    }),
    answer: masterKeyObject.extend({ replaced: told(z.string(), 'The fingerprint of the old key.') }),
  },
  'POST /api/admin/keys/export': {
    body: z
      .object({
        passphrase: secret.meta({ minLength: 12, description: 'The passphrase that opens the export.' }),
      })
      .meta({ required: ['passphrase'] }),
    answer: exportObject,
  },
} as const satisfies Operations;
