import { z } from 'zod';
import { MAX_LICENSE_FILE_BYTES } from '../carried/license-size.ts';
import { described } from '../fields.ts';
import type { Operations } from './operation.ts';

const date = z.string().nullable();

const certificateText = z.string({ error: 'must be text' }).max(MAX_LICENSE_FILE_BYTES).optional();

const keyObject = z.object({
  kid: described(z.string(), 'Names the key.'),
  x: described(z.string(), 'The public key, in base64url.'),
  created_at: described(z.string(), 'When it was made, UTC.'),
  ends_at: described(date, 'When its last grant has ended; null: it is the newest.'),
});

const certificateObject = z.object({
  issued_at: described(z.string(), 'When it was issued, UTC.'),
  expires_at: described(z.string(), 'When it ends, UTC.'),
});

const certifiedLicense = z.object({
  license_id: described(z.int(), 'The id of the license.'),
  product: described(z.string(), 'Its product code.'),
  kid: described(z.string(), 'The key that signs its grants.'),
  certificate: described(
    certificateObject.nullable(),
    "The vendor's certificate for it; null: there is none.",
  ),
  uncertified: described(
    z.string().nullable(),
    'What its grants claim beyond the certificate, such as `limits.floating_users`; null: nothing.',
  ),
});

const identityObject = z
  .object({
    hardware_id: described(z.string(), 'The hardware id of this server.'),
    identity_key: described(z.string(), 'As in the status.'),
    keys: described(z.array(keyObject), 'The keys of grants, the newest first.'),
    licenses: described(z.array(certifiedLicense), 'How the grants of each license can be verified.'),
  })
  .meta({ id: 'Identity', description: 'What applications and the vendor know this server by.' });

export const IDENTITY_API = {
  'GET /api/admin/identity': { answer: identityObject },
  'POST /api/admin/identity/rotate': { answer: identityObject },
  'POST /api/admin/identity/certificates': {
    body: z.object({
      certificate: certificateText.meta({
        description: "The certificate: a compact JWS, or one under each of the vendor's keys.",
      }),
    }),
    required: ['certificate'],
    answer: identityObject,
  },
} as const satisfies Operations;
