import { name, strictLicenseId, told, userName } from '@berth/protocol/fields';
import { z } from 'zod';
import { LIMITS } from '../../../config.ts';
import { licenseId } from '../../../core/nouns/license.ts';
import { isBorrowed } from '../../../core/nouns/registration.ts';
import { type Lending, requireRange } from '../../../services/lending/lending.ts';
import { RequestError } from '../../../services/request-error.ts';
import { actorOf } from '../../access/caller.ts';
import { countReply } from '../../reply/count-reply.ts';
import { json } from '../../reply/reply.ts';
import { toWire } from '../../reply/to-wire.ts';
import { defineRoute, type Route } from '../../route.ts';
import { targetOf } from '../v4/lending.ts';

const target = {
  product: told(name, 'The product code.'),
  license_id: strictLicenseId,
  user: told(userName, 'Who holds the slot.'),
};

const address = told(name, 'The address of the client, or a range such as 10.0.0.0/8.');

const text = z.string().nullable();

export const registrationRecord = z
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
  })
  .meta({ id: 'RegistrationRecord', description: 'A slot, and who holds it.' });

export function registrationRoutes(lending: Lending): readonly Route[] {
  return [listRoute(lending), releaseRoute(lending), recallRoute(lending)];
}

function listRoute(lending: Lending): Route {
  return defineRoute({
    name: 'admin_registrations',
    methods: ['GET'],
    paths: ['/api/admin/registrations'],
    access: 'operator',
    summary: 'Who holds a slot, in pages: continue after the last license_id and user',
    query: z.object({
      ...target,
      address,
      after_license_id: told(strictLicenseId, 'Continue after this license and `after_user`.'),
      after_user: told(z.string().optional(), 'Continue after this user.'),
    }),
    answer: {
      kind: 'json',
      schema: z.object({ registrations: told(z.array(registrationRecord), 'A page.') }),
    },
    errors: [],
    handle: async ({ query }) => {
      const records = await lending.list({
        ...targetOf(query),
        user: query.user ?? null,
        ...(query.address === undefined ? {} : { origin: requireRange(query.address) }),
        limit: LIMITS.pageRows,
        after:
          query.after_license_id === undefined
            ? null
            : { licenseId: licenseId(query.after_license_id), user: query.after_user ?? '' },
      });
      return json({ registrations: records.map(presentRegistration) });
    },
  });
}

function releaseRoute(lending: Lending): Route {
  return defineRoute({
    name: 'admin_release',
    methods: ['POST'],
    paths: ['/api/admin/registrations/release'],
    access: 'operator',
    summary: 'Release a slot that is not borrowed, or with "address" all slots of an address',
    body: z
      .object({ ...target, address })
      .meta({ not: { required: ['user', 'address'] }, description: 'Send `user` or `address`.' }),
    answer: { kind: 'json', schema: z.object({ released: told(z.int(), 'How many slots.') }) },
    errors: [
      'missing_parameters',
      'unknown_product',
      'license_not_found',
      'device_not_found',
      'slot_is_borrowed',
    ],
    handle: async ({ body, caller }) => {
      const by = actorOf(caller);
      if (body.address === undefined) {
        return countReply('released', await lending.release(targetOf(body), requireUser(body), by));
      }
      if (body.user !== undefined) throw new RequestError('validation_error', USER_OR_ADDRESS);
      return json({ released: await lending.releaseFrom(targetOf(body), body.address, by) });
    },
  });
}

const USER_OR_ADDRESS = 'Send either "user" or "address".';

function recallRoute(lending: Lending): Route {
  return defineRoute({
    name: 'admin_recall',
    methods: ['POST'],
    paths: ['/api/admin/registrations/recall'],
    access: 'operator',
    summary: 'Recall a borrowed slot before it ends',
    body: z.object(target).meta({ required: ['user'] }),
    answer: { kind: 'json', schema: z.object({ recalled: told(z.int(), 'How many slots.') }) },
    errors: [
      'missing_parameters',
      'unknown_product',
      'license_not_found',
      'device_not_found',
      'slot_not_borrowed',
    ],
    handle: async ({ body, caller }) =>
      countReply('recalled', await lending.recall(targetOf(body), requireUser(body), actorOf(caller))),
  });
}

function requireUser({ user }: { readonly user?: string | undefined }): string {
  if (user === undefined) throw new RequestError('missing_parameters', 'Say whose slot: "user" is missing.');
  return user;
}

export function presentRegistration({
  licenseId: id,
  product,
  registration,
  now,
}: Awaited<ReturnType<Lending['list']>>[number]) {
  const { user, spelling, host, origin, credential, registeredAt, endsAt, borrowedUntil } = registration;
  const borrowed = isBorrowed(registration, now);
  return {
    license_id: id,
    product,
    user: spelling ?? user,
    os_hostname: host.hostname,
    ip_local: host.address,
    user_info: host.info,
    address: origin,
    credential,
    ...toWire({ registeredAt, endsAt, isBorrowed: borrowed, borrowedUntil: borrowed ? borrowedUntil : null }),
  };
}
