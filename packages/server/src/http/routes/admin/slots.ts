import { name, positiveInteger, strictLicenseId, told } from '@berth/protocol/fields';
import { z } from 'zod';
import { LIMITS } from '../../../config.ts';
import { licenseId } from '../../../core/nouns/license.ts';
import type { Lending } from '../../../services/lending/lending.ts';
import { json } from '../../reply/reply.ts';
import { defineRoute, type Route } from '../../route.ts';
import { presentRegistration, registrationRecord } from './registrations.ts';

const ORDERS = ['user', 'host', 'address', 'license', 'state', 'since', 'until'] as const;
const STATES = ['in_use', 'borrowed'] as const;

function choice<const C extends readonly [string, ...string[]]>(choices: C) {
  return z.enum(choices, { error: `must be one of ${choices.join(', ')}` }).optional();
}

const slotsQuery = z.object({
  license_id: strictLicenseId,
  search: told(name, 'A part of the name of the user or host, or an address or its beginning.'),
  state: told(choice(STATES), 'Only those that are borrowed, or are not.'),
  feature: told(name, 'Only those whose users hold a slot of this feature, too.'),
  sort: told(choice(ORDERS), 'What to sort by; `since` by default.'),
  direction: told(choice(['up', 'down']), 'The smallest or earliest first, which is the default, or last.'),
  offset: z
    .string()
    .regex(/^\d{1,9}$/, { error: 'must be a whole number' })
    .optional()
    .meta({ pattern: '^\\d{1,9}$', description: 'How many to skip.' }),
  limit: told(positiveInteger, `How many at most, up to ${LIMITS.pageRows}.`),
});

const slotRecord = registrationRecord
  .extend({ features: told(z.array(z.string()), 'The features of which the user holds a slot, too.') })
  .meta({ id: 'SlotRecord', description: 'A slot, who holds it, and the features that they hold.' });

/** For lists that people look at. Programs go through all slots with `/api/admin/registrations`. */
export function slotRoutes(lending: Lending): readonly Route[] {
  return [
    defineRoute({
      name: 'admin_slots',
      methods: ['GET'],
      paths: ['/api/admin/slots'],
      access: 'operator',
      summary: 'Who holds a slot: any part of a list that is searched and sorted',
      query: slotsQuery,
      answer: {
        kind: 'json',
        schema: z.object({
          matched: told(z.int(), 'How many there are in the whole list.'),
          slots: told(z.array(slotRecord), 'The part that was asked for.'),
        }),
      },
      errors: [],
      handle: async ({ query }) => {
        const { matched, slots, now } = await lending.listSlots({
          licenseId: query.license_id === undefined ? null : licenseId(query.license_id),
          search: query.search ?? null,
          isBorrowed: query.state === undefined ? null : query.state === 'borrowed',
          feature: query.feature ?? null,
          order: query.sort ?? 'since',
          isDescending: query.direction === 'down',
          offset: Number(query.offset ?? 0),
          limit: Math.min(query.limit ?? LIMITS.pageRows, LIMITS.pageRows),
        });
        const present = (slot: (typeof slots)[number]) => ({
          ...presentRegistration({ ...slot, now }),
          features: slot.features,
        });
        return json({ matched, slots: slots.map(present) });
      },
    }),
  ];
}
