import { REGISTRATION_API } from '@berth/protocol/admin/registrations';
import { RequestError } from '@berth/protocol/request-error';
import { LIMITS } from '../../../config.ts';
import { licenseId } from '../../../core/nouns/license.ts';
import { countPrograms, isBorrowed } from '../../../core/nouns/registration.ts';
import { type Lending, requireRange } from '../../../services/lending/lending.ts';
import { adminRoutes } from '../../admin-route.ts';
import { toWire } from '../../reply/to-wire.ts';
import type { Route } from '../../route.ts';
import { targetOf } from '../v4/lending.ts';

const TAKE_BACK_ERRORS = ['unknown_product', 'license_not_found', 'device_not_found'] as const;

export function registrationRoutes(lending: Lending): readonly Route[] {
  return adminRoutes(REGISTRATION_API, {
    'GET /api/admin/registrations': {
      name: 'admin_registrations',
      access: 'viewer',
      isForProducts: true,
      summary:
        'Who holds a slot: any part of a list that is searched and sorted. For all, add `next` to the query',
      handle: async ({ query }, send) => {
        const { sort: order, direction, offset, limit, state, address, after_license_id: afterId } = query;
        const isDescending = direction === 'down';
        const isInOrder = !isDescending && (order ?? 'license') === 'license';
        if (afterId !== undefined && !isInOrder) {
          throw new RequestError('validation_error', ONE_ORDER, { field: 'after_license_id' });
        }
        const { search, feature, after_user: user = '' } = query;
        const from = Number(offset ?? 0);
        const { matched, registrations, now, last } = await lending.list({
          ...targetOf(query),
          user: query.user ?? null,
          origin: address === undefined ? undefined : requireRange(address),
          isBorrowed: state === undefined ? undefined : state === 'borrowed',
          ...{ search, feature, order, isDescending },
          offset: from,
          limit: Math.min(limit ?? LIMITS.pageRows, LIMITS.pageRows),
          after: afterId === undefined ? null : { licenseId: licenseId(afterId), user },
        });
        const shown = registrations.map((one) => presentRegistration(one, now));
        const behind = isInOrder ? placeOf(last) : { offset: from + shown.length };
        return send({ matched, registrations: shown, next: last === null ? null : behind });
      },
    },
    'POST /api/admin/registrations/release': {
      name: 'admin_release',
      access: 'operator',
      isForProducts: true,
      summary: 'Release a slot that is not borrowed, or with "address" all slots of an address',
      errors: ['missing_parameters', ...TAKE_BACK_ERRORS, 'slot_is_borrowed'],
      handle: async ({ body, caller }, send) => {
        const by = caller.actor;
        if (body.address === undefined) return lending.release(targetOf(body), requireUser(body), by);
        if (body.user !== undefined) throw new RequestError('validation_error', USER_OR_ADDRESS);
        return send({ released: await lending.releaseFrom(targetOf(body), body.address, by) });
      },
    },
    'POST /api/admin/registrations/recall': {
      name: 'admin_recall',
      access: 'operator',
      isForProducts: true,
      summary: 'Recall a borrowed slot before it ends',
      errors: [...TAKE_BACK_ERRORS, 'slot_not_borrowed'],
      handle: ({ body, caller }) => lending.recall(targetOf(body), body.user, caller.actor),
    },
  });
}

const ONE_ORDER =
  '"after_license_id" continues a list that is sorted by license and user. Leave out "sort" and ' +
  '"direction", or use "offset".';

const USER_OR_ADDRESS = 'Send either "user" or "address".';

function requireUser({ user }: { readonly user?: string | undefined }): string {
  if (user === undefined) throw new RequestError('missing_parameters', 'Say whose slot: "user" is missing.');
  return user;
}

/** A place in the list that stays the same when slots before it end. */
function placeOf(last: Page['last']) {
  return { after_license_id: last?.licenseId, after_user: last?.registration.user };
}

type Page = Awaited<ReturnType<Lending['list']>>;

function presentRegistration(
  { licenseId: id, product, ...held }: Page['registrations'][number],
  now: Page['now'],
) {
  const { user, spelling, host, origin, credential, registeredAt, endsAt, borrowedUntil } = held.registration;
  const borrowed = isBorrowed(held.registration, now);
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
    programs: countPrograms(held.registration.programs),
    features: held.features,
  };
}
