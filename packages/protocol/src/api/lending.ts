import { z } from 'zod';
import {
  described,
  deviceMark,
  field,
  hostText,
  instance,
  licenseId,
  nonce,
  product,
  storeId,
  user,
  userInfo,
} from '../fields.ts';
import { licenseObject } from './license-object.ts';

/**
 * Which license is meant, and for whom. Every field may be missing; see `docs/leases.md` for what then
 * counts.
 */
export const target = { product, user, license_id: licenseId, store_id: storeId };

const os_hostname = hostText.meta({
  description: 'The name of the host. It is used as the user if `user` is missing.',
});

export const host = {
  os_hostname,
  ip_local: hostText.meta({ description: 'The address that the host gives itself.' }),
  user_info: userInfo.meta({ description: 'Anything worth showing to an administrator.' }),
};

/** As precise as a pattern can be. */
export const DATE_PATTERN =
  '^\\s*\\d{4}-\\d{2}-\\d{2}([Tt ]\\d{2}:\\d{2}(:\\d{2}(\\.\\d+)?)?([Zz]|[+-]\\d{2}:\\d{2})?)?\\s*$';

/**
 * A value that is not text is reported like any other invalid date.
 */
export const anyDate = field((value) =>
  value === null || value === undefined || typeof value === 'string' ? value : NO_DATE,
).meta({ type: 'string', pattern: DATE_PATTERN });

const NO_DATE = 'not a date';

export const registerRequest = z
  .object({ ...target, ...host, instance, nonce, device_mark: deviceMark })
  .meta({
    description: 'Send `user` or `os_hostname`.',
    examples: [
      {
        product: 'demo',
        user: 'ada@example.com',
        os_hostname: 'ws-7',
        ip_local: '10.0.0.7',
        user_info: '',
      },
    ],
  });

/**
 * The date may be any text here: invalid dates and dates that the license does not allow get the same refusal
 * (`borrow_until_not_valid`), which comes after the license's own refusals.
 */
export const borrowRequest = z
  .object({
    ...target,
    ...host,
    borrowed_until: anyDate.meta({
      description:
        'RFC 3339, or shorter: `2026-09-27 23:30`, `2026-09-27`; without a zone it is UTC. Not given, or ' +
        'year 1: as long as the license allows. Also accepted as `borrow_until`.',
    }),
    instance,
    nonce,
    device_mark: deviceMark,
  })
  .meta({
    extends: 'RegisterRequest',
    description: 'Send `user` or `os_hostname`.',
    examples: [{ product: 'demo', user: 'bob@example.com', os_hostname: 'laptop', borrowed_until: null }],
  });

export const leaver = described(
  instance,
  'The program that leaves the slot. Without it, the slot is free at once, whoever uses it.',
);

export const unregisterRequest = z.object({ ...target, os_hostname, instance: leaver }).meta({
  description: 'Send `user` or `os_hostname`.',
  examples: [{ product: 'demo', user: 'ada@example.com' }],
});

/** The answer to a return with `instance`. Without it, the code alone is sent, as text. */
export const leftAnswer = z
  .object({
    code: described(
      z.enum(['user_unregistered', 'feature_released']),
      'The word for a slot that is returned.',
    ),
    programs: described(
      z.int(),
      'How many programs still use the slot. With 0 it is free, unless it is borrowed.',
    ),
  })
  .meta({ id: 'ProgramLeft', description: 'A program has left a slot.' });

export const licenseQuery = z.object({ product, license_id: licenseId });

export const licensesQuery = z.object({ product });

/** Only in answers to requests with a nonce; see `docs/grants.md`. */
export const proof = {
  grant: described(z.string().optional(), 'What was lent, signed (a compact JWS), if a `nonce` was sent.'),
  certificate: described(z.string().optional(), "The vendor's certificate for the key of the grant."),
  other_certificates: described(
    z.array(z.string()).optional(),
    'The same certificate under other keys of the vendor, while it changes its key.',
  ),
};

const seconds = z.int().min(0);

/** The answer to register and borrow: the license at top level, and once more as a text. */
export const registerAnswer = licenseObject
  .extend({
    slot_ends_at: described(z.iso.datetime({ precision: 3 }), 'When the slot ends if it is not renewed.'),
    slot_ends_in_seconds: described(seconds, 'The same, for clients whose clock may be wrong.'),
    renew_in_seconds: described(seconds, 'When to send the next heartbeat: it may fail twice.'),
    license_json: described(z.string(), 'The same license object, as JSON text.'),
    ...proof,
  })
  .meta({
    id: 'Registration',
    extends: 'License',
    description: 'The license, as seen by a user who has a slot of it.',
  });

export const borrowAnswer = registerAnswer;

/** The answer to clients that prefer a minimal one: only what a heartbeat is sent for. */
export const minimalAnswer = registerAnswer
  .pick({
    license_id: true,
    floating_users: true,
    floating_in_use: true,
    is_borrowed: true,
    borrowed_until: true,
    grant: true,
    certificate: true,
    other_certificates: true,
    slot_ends_at: true,
    slot_ends_in_seconds: true,
    renew_in_seconds: true,
  })
  .meta({ id: 'MinimalRegistration', description: 'The slot, without the license.' });
