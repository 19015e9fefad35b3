import { z } from 'zod';
import { name, positiveInteger, strictLicenseId, told, userName } from '../fields.ts';
import { SLOT_ORDERS } from './choices.ts';
import type { Operations } from './operation.ts';

const target = {
  product: told(name, 'The product code.'),
  license_id: strictLicenseId,
  user: told(userName, 'Who holds the slot.'),
};

const address = told(name, 'The address of the client, or a range such as 10.0.0.0/8.');

const text = z.string().nullable();

const registrationRecord = z
  .object({
    license_id: told(z.int(), 'The id of the license.'),
    product: told(z.string(), 'Its product code.'),
    user: told(z.string(), 'Who holds the slot.'),
    os_hostname: told(text, 'The name of the host, as it was sent.'),
    ip_local: told(text, 'The address of the host, as it was sent.'),
    user_info: told(text, 'What else was sent.'),
    address: told(text, 'The address of the connection.'),
    credential: told(text, 'The credentials of the client; null if none were required.'),
    registered_at: told(z.string(), 'Since when, UTC.'),
    ends_at: told(z.string(), 'When the slot becomes free unless it is renewed, UTC.'),
    is_borrowed: told(z.boolean(), 'Whether it is borrowed.'),
    borrowed_until: told(text, 'Until when, UTC.'),
    features: told(z.array(z.string()), 'The features of which the user holds a slot, too.'),
  })
  .meta({
    id: 'RegistrationRecord',
    description: 'A slot, who holds it, and the features that they hold.',
  });

export type Slot = z.output<typeof registrationRecord>;

function choice<const C extends readonly [string, ...string[]]>(choices: C) {
  return z.enum(choices, { error: `must be one of ${choices.join(', ')}` }).optional();
}

const listQuery = z.object({
  ...target,
  address,
  search: told(name, 'A part of the name of the user or host, or an address or its beginning.'),
  state: told(choice(['in_use', 'borrowed']), 'Only those that are borrowed, or are not.'),
  feature: told(name, 'Only those whose users hold a slot of this feature, too.'),
  sort: told(choice(SLOT_ORDERS), 'What to sort by; by default `license`, and then by user.'),
  direction: told(choice(['up', 'down']), 'The smallest or earliest first, which is the default, or last.'),
  offset: z
    .string()
    .regex(/^\d{1,9}$/, { error: 'must be a whole number' })
    .optional()
    .meta({ pattern: '^\\d{1,9}$', description: 'How many to skip.' }),
  limit: told(positiveInteger, 'How many at most, up to 1000.'),
  after_license_id: told(
    strictLicenseId,
    'Continue after this license and `after_user`, in the order of licenses and users.',
  ),
  after_user: told(z.string().optional(), 'Continue after this user.'),
});

export const REGISTRATION_API = {
  'GET /api/admin/registrations': {
    query: listQuery,
    answer: z.object({
      matched: told(
        z.int().nullable(),
        'How many there are in the whole list; null behind `after_license_id`.',
      ),
      registrations: told(z.array(registrationRecord), 'The part that was asked for.'),
    }),
  },
  'POST /api/admin/registrations/release': {
    body: z
      .object({ ...target, address })
      .meta({ not: { required: ['user', 'address'] }, description: 'Send `user` or `address`.' }),
    answer: z.object({ released: told(z.int(), 'How many slots.') }),
  },
  'POST /api/admin/registrations/recall': {
    body: z.object(target).meta({ required: ['user'] }),
    answer: z.object({ recalled: told(z.int(), 'How many slots.') }),
  },
} as const satisfies Operations;
