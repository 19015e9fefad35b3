import {
  borrowAnswer,
  borrowRequest,
  type leftAnswer,
  minimalAnswer,
  registerAnswer,
  registerRequest,
  unregisterRequest,
} from '@berth/protocol/api/lending';
import { parseTimestamp } from '@berth/protocol/timestamp';
import type { HttpRequest } from '@berth/web/http-request';
import { empty, type Fields, fieldsReply, json, type Reply, text } from '@berth/web/reply';
import type { z } from 'zod';
import { includesRole } from '../../../core/access/role.ts';
import type { BorrowUntil, Target } from '../../../core/command.ts';
import { instant, SECOND_MS } from '../../../core/nouns/instant.ts';
import { licenseId } from '../../../core/nouns/license.ts';
import { isBorrowed } from '../../../core/nouns/registration.ts';
import type { Granted } from '../../../core/outcome.ts';
import type { Grants } from '../../../services/grants/grants.ts';
import type { Executed, Lending, LendingRequest } from '../../../services/lending/lending.ts';
import type { Patience } from '../../../services/lending/waiting-room.ts';
import type { Caller } from '../../access/caller.ts';
import type { ReplyDenial } from '../../reply/denial-reply.ts';
import { type GrantFacts, type GrantMarks, presentGrant, withGrant } from '../../reply/present-grant.ts';
import { grantedFields, minimalFields } from '../../reply/present-license.ts';
import { refusalReply } from '../../reply/problem.ts';
import { defineRoute, type Route } from '../../route.ts';

/** Refusals of all license requests. */
export const LICENSE_REFUSALS = [
  'missing_parameters',
  'unknown_product',
  'license_not_found',
  'license_not_enabled',
  'license_not_active',
  'license_start_date_error',
  'license_expired',
  'server_identity_changed',
  'license_check_overdue',
  'blacklisted',
] as const;

interface LendingServices {
  readonly lending: Lending;
  readonly grants: Grants;
  readonly replyDenial: ReplyDenial;
}

export function lendingRoutes(services: LendingServices): readonly Route[] {
  const { lending } = services;
  return [
    registerRoute(services),
    borrowRoute(services),
    unregisterRoute(lending),
    unregisterAllRoute(lending),
  ];
}

function registerRoute({ lending, grants, replyDenial }: LendingServices): Route {
  return defineRoute('POST /api/v4/register /api/v4/floating/register', {
    name: 'register',
    access: 'client',
    isForProducts: true,
    summary: 'Lend a slot to a user, or renew the one they hold (the heartbeat)',
    body: registerRequest,
    answer: { kind: 'json', schema: registerAnswer, minimal: minimalAnswer },
    errors: [...LICENSE_REFUSALS, 'floating_not_available', 'address_limit_reached'],
    headers: ['Prefer'],
    handle: async ({ request, body, caller }) => {
      const preferences = readPreferences(request);
      const { patience } = preferences;
      const outcome = await lending.register(requestOf(body, caller), patience);
      if (outcome.kind === 'refused') return withPatience(replyDenial(outcome, body), patience);
      const reply = slotReply(grants, outcome, preferences, body);
      return patience === undefined ? reply : withPatience(await reply, patience);
    },
  });
}

function borrowRoute({ lending, grants, replyDenial }: LendingServices): Route {
  return defineRoute('POST /api/v4/borrow', {
    name: 'borrow',
    access: 'client',
    isForProducts: true,
    summary: 'Lend a slot and hold it until an instant, heartbeats or not',
    body: borrowRequest,
    answer: { kind: 'json', schema: borrowAnswer, minimal: minimalAnswer },
    errors: [
      ...LICENSE_REFUSALS,
      'license_borrow_not_allowed',
      'borrow_until_not_valid',
      'floating_not_available',
      'address_limit_reached',
    ],
    headers: ['Prefer'],
    handle: async ({ request, body, caller }) => {
      const outcome = await lending.borrow(requestOf(body, caller), untilOf(body.borrowed_until));
      if (outcome.kind === 'refused') return replyDenial(outcome, body);
      return slotReply(grants, outcome, readPreferences(request), body);
    },
  });
}

function unregisterRoute(lending: Lending): Route {
  return defineRoute('POST /api/v4/unregister /api/v4/floating/unregister', {
    name: 'unregister',
    access: 'client',
    isForProducts: true,
    summary: 'Return a slot, borrowed or not; with instance, let a program leave it',
    body: unregisterRequest,
    answer: { kind: 'text', example: 'user_unregistered' },
    errors: [
      'missing_parameters',
      'unknown_product',
      'license_not_found',
      'device_not_found',
      'slot_of_another_client',
    ],
    handle: async ({ body, caller }) => {
      const outcome = await lending.unregister(returnOf(body, caller));
      return returnReply(outcome, 'user_unregistered');
    },
  });
}

function unregisterAllRoute(lending: Lending): Route {
  return defineRoute('GET POST /api/v4/unregister/all /api/v4/floating/unregister/all', {
    name: 'unregister_all',
    access: 'admin',
    summary: 'Release all slots of all licenses, including borrowed ones',
    answer: { kind: 'empty' },
    handle: async ({ caller }) => {
      await lending.releaseAll(caller.actor);
      return empty();
    },
  });
}

interface LendingBody {
  readonly product?: string | undefined;
  readonly user?: string | undefined;
  readonly license_id?: number | undefined;
  readonly os_hostname?: string | undefined;
  readonly ip_local?: string | undefined;
  readonly user_info?: string | undefined;
  readonly instance?: string | undefined;
}

export function targetOf({ product, license_id }: Pick<LendingBody, 'product' | 'license_id'>): Target {
  return { product: product ?? null, licenseId: license_id === undefined ? null : licenseId(license_id) };
}

export function requestOf(body: LendingBody, caller: Caller): LendingRequest {
  const { actor, credential } = caller;
  const { instance } = body;
  const request = {
    ...targetOf(body),
    by: actor,
    ...(credential === undefined ? {} : { credential }),
    user: body.user ?? null,
    host: {
      hostname: body.os_hostname ?? null,
      address: body.ip_local ?? null,
      info: body.user_info ?? null,
    },
  };
  return instance === undefined ? request : { ...request, instance };
}

/** A request to return a slot. Operators may return any slot, so their credentials are not compared. */
export function returnOf(body: LendingBody, caller: Caller): LendingRequest {
  const { credential, ...request } = requestOf(body, caller);
  const isOperator = caller.role !== null && includesRole(caller.role, 'operator');
  return isOperator || credential === undefined ? request : { ...request, credential };
}

/** The word for a slot that is returned; if one program has left it, with how many still use it. */
export function returnReply(outcome: Executed, code: z.output<typeof leftAnswer>['code']): Reply {
  if (outcome.kind === 'refused') return refusalReply(outcome);
  const programs = outcome.kind === 'done' ? outcome.programs : undefined;
  return programs === undefined ? text(code) : json({ code, programs });
}

export function untilOf(text: string | null | undefined): BorrowUntil {
  const millis = parseTimestamp(text ?? '');
  if (millis === undefined) return 'unreadable';
  return millis === null ? 'longest' : instant(millis);
}

function slotReply(
  grants: Grants,
  outcome: Executed,
  { isMinimal }: Preferences,
  body: Marks,
): Reply | Promise<Reply> {
  if (outcome.kind !== 'granted') throw new Error(`Expected a slot, not "${outcome.kind}".`);
  const fields = isMinimal ? minimalFields(outcome) : grantedFields(outcome);
  return replyWithGrant(grants, fields, () => slotFacts(outcome), body);
}

function slotFacts({ license, registration, now }: Granted): GrantFacts {
  const user = registration.spelling ?? registration.user;
  const isHeldByBorrow = isBorrowed(registration, now);
  return { license, feature: null, user, isBorrowed: isHeldByBorrow, validUntil: registration.endsAt, now };
}

/** The same before it is known whether a grant is asked for. */
type Marks = Pick<GrantMarks, 'device_mark'> & { readonly nonce?: string | undefined };

/** With a grant if the request asks for one: what the store has committed, signed. */
export function replyWithGrant(
  grants: Grants,
  fields: Fields,
  describe: () => GrantFacts,
  { nonce, device_mark }: Marks,
): Reply | Promise<Reply> {
  if (nonce === undefined) return fieldsReply(fields);
  const facts = describe();
  const claims = (hardwareId: string) => presentGrant(facts, { nonce, device_mark }, hardwareId);
  return grants
    .sign(facts.license, facts.now, claims)
    .then((signed) => fieldsReply(withGrant(fields, signed)));
}

/** What a client prefers (RFC 7240). */
interface Preferences {
  readonly isMinimal: boolean;
  /** `undefined`: it does not wait. */
  readonly patience: Patience | undefined;
}

const NO_PREFERENCES: Preferences = { isMinimal: false, patience: undefined };

/** Many clients and proxies give up after a minute. */
const LONGEST_SECONDS = 50;

/** Preferences are a list. Unknown ones are ignored. */
export function readPreferences(request: HttpRequest): Preferences {
  const text = request.headers.get('prefer');
  if (text === null) return NO_PREFERENCES;
  const listed = text
    .toLowerCase()
    .replaceAll(/[ \t"]/g, '')
    .split(/[,;]/);
  const wait = listed.find((one) => /^wait=\d+$/.test(one));
  const seconds = Number(wait?.slice('wait='.length) ?? 0);
  return {
    isMinimal: listed.includes('return=minimal'),
    patience: seconds === 0 ? undefined : patienceOf(request, seconds),
  };
}

function patienceOf(request: HttpRequest, seconds: number): Patience {
  const forMs = Math.min(seconds, LONGEST_SECONDS) * SECOND_MS;
  const client = request.watch?.() ?? { isGone: false, onGone: null };
  return { forMs, client, isApplied: false, since: null, waitedMs: 0 };
}

/** Tells the client that it waited, or would have. */
export function withPatience(reply: Reply, patience: Patience | undefined): Reply {
  if (patience === undefined || !patience.isApplied) return reply;
  const headers = { ...reply.headers, 'Preference-Applied': 'wait' };
  return { ...reply, headers, waitedMs: patience.waitedMs };
}
