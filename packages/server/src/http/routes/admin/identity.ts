import { told } from '@berth/protocol/fields';
import { z } from 'zod';
import { LIMITS } from '../../../config.ts';
import type { IdentityDesk } from '../../../services/grants/identity-desk.ts';
import { actorOf } from '../../access/caller.ts';
import { json } from '../../reply/reply.ts';
import { toWire } from '../../reply/to-wire.ts';
import { defineRoute, type Route } from '../../route.ts';

const date = z.string().nullable();

const certificateText = z.string({ error: 'must be text' }).max(LIMITS.fileBodyBytes).optional();

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

export function identityRoutes(desk: IdentityDesk): readonly Route[] {
  return [
    defineRoute({
      name: 'admin_identity',
      methods: ['GET'],
      paths: ['/api/admin/identity'],
      access: 'operator',
      summary: 'The keys that sign grants, and their certificates',
      answer: { kind: 'json', schema: identityObject },
      errors: [],
      handle: async () => json(toWire(await desk.describe())),
    }),
    defineRoute({
      name: 'admin_identity_rotate',
      methods: ['POST'],
      paths: ['/api/admin/identity/rotate'],
      access: 'admin',
      summary: 'Sign grants with a new key; the one before stays valid until its grants have ended',
      answer: { kind: 'json', schema: identityObject },
      errors: ['too_many_grant_keys'],
      handle: async ({ caller }) => json(toWire(await desk.rotate(actorOf(caller)))),
    }),
    defineRoute({
      name: 'admin_identity_certify',
      methods: ['POST'],
      paths: ['/api/admin/identity/certificates'],
      access: 'admin',
      summary: "Install the vendor's certificate for the newest key that signs grants",
      holdsFile: true,
      body: z
        .object({
          certificate: certificateText.meta({
            description: "The certificate: a compact JWS, or one under each of the vendor's keys.",
          }),
        })
        .meta({ required: ['certificate'] }),
      answer: { kind: 'json', schema: identityObject },
      errors: [
        'missing_parameters',
        'license_not_found',
        'offline_key_not_configured',
        'server_certificate_invalid',
        'server_certificate_mismatch',
      ],
      handle: async ({ body, caller }) =>
        json(toWire(await desk.addCertificate(body.certificate ?? null, actorOf(caller)))),
    }),
  ];
}
