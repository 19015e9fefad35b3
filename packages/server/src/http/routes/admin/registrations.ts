import { name, strictLicenseId, userName } from '@berth/protocol/fields';
import { z } from 'zod';
import { LIMITS } from '../../../config.ts';
import { licenseId } from '../../../core/license.ts';
import { isBorrowed } from '../../../core/registration.ts';
import { type Lending, requireRange } from '../../../services/lending.ts';
import { RequestError } from '../../../services/request-error.ts';
import { actorOf } from '../../caller.ts';
import { countReply } from '../../count-reply.ts';
import { json } from '../../reply.ts';
import { defineRoute, type Route } from '../../route.ts';
import { toWire } from '../../to-wire.ts';
import { targetOf } from '../v4/lending.ts';

const target = { product: name, license_id: strictLicenseId, user: userName };

/** Of the connection: one address, or a range. */
const address = name;

const registrationRecord = z.object({
  license_id: z.int(),
  product: z.string(),
  user: z.string(),
  os_hostname: z.string().nullable(),
  ip_local: z.string().nullable(),
  user_info: z.string().nullable(),
  address: z.string().nullable(),
  credential: z.string().nullable(),
  registered_at: z.string(),
  ends_at: z.string(),
  is_borrowed: z.boolean(),
  borrowed_until: z.string().nullable(),
});

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
      after_license_id: strictLicenseId,
      after_user: z.string().optional(),
    }),
    answer: { kind: 'json', schema: z.object({ registrations: z.array(registrationRecord) }) },
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
    summary: 'Take back a slot that is not borrowed, or with "address" everything that came from there',
    body: z.object({ ...target, address }),
    answer: { kind: 'json', schema: z.object({ released: z.int() }) },
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

const USER_OR_ADDRESS = 'Say whose slot with "user", or where from with "address", and not both.';

function recallRoute(lending: Lending): Route {
  return defineRoute({
    name: 'admin_recall',
    methods: ['POST'],
    paths: ['/api/admin/registrations/recall'],
    access: 'operator',
    summary: 'Take back a borrowed slot before its time',
    body: z.object(target),
    answer: { kind: 'json', schema: z.object({ recalled: z.int() }) },
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

function presentRegistration({
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
