import { z } from 'zod';
import { described, name, positiveInteger, strictLicenseId, userName } from '../fields.ts';
import { SLOT_ORDERS } from './choices.ts';
import type { Operations } from './operation.ts';

const target = {
  product: described(name, 'The product code.'),
  license_id: strictLicenseId,
  user: described(userName, 'Who holds the slot.'),
};

const address = described(name, 'The address of the client, or a range such as 10.0.0.0/8.');

const text = z.string().nullable();

const registrationRecord = z
  .object({
    license_id: described(z.int(), 'The id of the license.'),
    product: described(z.string(), 'Its product code.'),
    user: described(z.string(), 'Who holds the slot.'),
    os_hostname: described(text, 'The name of the host, as it was sent.'),
    ip_local: described(text, 'The address of the host, as it was sent.'),
    user_info: described(text, 'What else was sent.'),
    address: described(text, 'The address of the connection.'),
    credential: described(text, 'The credentials of the client; null if none were required.'),
    registered_at: described(z.string(), 'Since when, UTC.'),
    ends_at: described(z.string(), 'When the slot becomes free unless it is renewed, UTC.'),
    is_borrowed: described(z.boolean(), 'Whether it is borrowed.'),
    borrowed_until: described(text, 'Until when, UTC.'),
    programs: described(z.int(), 'How many programs of the user use it; 0 if it is only borrowed.'),
    features: described(z.array(z.string()), 'The features of which the user holds a slot, too.'),
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
  search: described(name, 'A part of the name of the user or host, or an address or its beginning.'),
  state: described(choice(['in_use', 'borrowed']), 'Only those that are borrowed, or are not.'),
  feature: described(name, 'Only those whose users hold a slot of this feature, too.'),
  sort: described(choice(SLOT_ORDERS), 'What to sort by; by default `license`, and then by user.'),
  direction: described(
    choice(['up', 'down']),
    'The smallest or earliest first, which is the default, or last.',
  ),
  offset: z
    .string()
    .regex(/^\d{1,9}$/, { error: 'must be a whole number' })
    .optional()
    .meta({ pattern: '^\\d{1,9}$', description: 'How many to skip.' }),
  limit: described(positiveInteger, 'How many at most, up to 1000.'),
  after_license_id: described(
    strictLicenseId,
    'Continue after this license and `after_user`, in the order of licenses and users.',
  ),
  after_user: described(z.string().optional(), 'Continue after this user.'),
});

const nextPart = z.object({
  after_license_id: described(z.int().optional(), 'If by license.'),
  after_user: described(z.string().optional(), 'If by license.'),
  offset: described(z.int().optional(), 'In other orders.'),
});

export const REGISTRATION_API = {
  'GET /api/admin/registrations': {
    query: listQuery,
    answer: z.object({
      matched: described(
        z.int().nullable(),
        'How many there are in the whole list; null behind `after_license_id`.',
      ),
      registrations: described(z.array(registrationRecord), 'The part that was asked for.'),
      next: described(
        nextPart.nullable(),
        'What to add to the query for the next part; null if there is none.',
      ),
    }),
  },
  'POST /api/admin/registrations/release': {
    body: z
      .object({ ...target, address })
      .meta({ not: { required: ['user', 'address'] }, description: 'Send `user` or `address`.' }),
    answer: z.object({ released: described(z.int(), 'How many slots.') }),
  },
  'POST /api/admin/registrations/recall': {
    body: z.object(target),
    required: ['user'],
    answer: z.object({ recalled: described(z.int(), 'How many slots.') }),
  },
} as const satisfies Operations;
