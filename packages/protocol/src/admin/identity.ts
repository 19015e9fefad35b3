import { z } from 'zod';
import { MAX_LICENSE_FILE_BYTES } from '../carried/license-size.ts';
import { told } from '../fields.ts';
import type { Operations } from './operation.ts';

const date = z.string().nullable();

const certificateText = z.string({ error: 'must be text' }).max(MAX_LICENSE_FILE_BYTES).optional();

const keyObject = z.object({
  kid: told(z.string(), 'Names the key.'),
  x: told(z.string(), 'The public key, in base64url.'),
  created_at: told(z.string(), 'When it was made, UTC.'),
  ends_at: told(date, 'When its last grant has ended; null: it is the newest.'),
});

const certificateObject = z.object({
  issued_at: told(z.string(), 'When it was issued, UTC.'),
  expires_at: told(z.string(), 'When it ends, UTC.'),
});

const certifiedLicense = z.object({
  license_id: told(z.int(), 'The id of the license.'),
  product: told(z.string(), 'Its product code.'),
  kid: told(z.string(), 'The key that signs its grants.'),
  certificate: told(certificateObject.nullable(), "The vendor's certificate for it; null: there is none."),
  uncertified: told(
    z.string().nullable(),
    'What its grants claim beyond the certificate, such as `limits.floating_users`; null: nothing.',
  ),
});

const identityObject = z
  .object({
    hardware_id: told(z.string(), 'The hardware id of this server.'),
    identity_key: told(z.string(), 'As in the status.'),
    keys: told(z.array(keyObject), 'The keys of grants, the newest first.'),
    licenses: told(z.array(certifiedLicense), 'How the grants of each license can be verified.'),
  })
  .meta({ id: 'Identity', description: 'What applications and the vendor know this server by.' });

export const IDENTITY_API = {
  'GET /api/admin/identity': { answer: identityObject },
  'POST /api/admin/identity/rotate': { answer: identityObject },
  'POST /api/admin/identity/certificates': {
    body: z
      .object({
        certificate: certificateText.meta({
          description: "The certificate: a compact JWS, or one under each of the vendor's keys.",
        }),
      })
      .meta({ required: ['certificate'] }),
    answer: identityObject,
  },
} as const satisfies Operations;
