import { name, secret, told } from '@berth/protocol/fields';
import { z } from 'zod';
import type { Config } from '../../../config.ts';
import { ROLES } from '../../../core/access/role.ts';
import type { Actor } from '../../../core/nouns/actor.ts';
import type { Accounts } from '../../../services/access/accounts.ts';
import { RequestError } from '../../../services/request-error.ts';
import { type AuthSettings, actorOf, type Caller, type Peer } from '../../access/caller.ts';
import {
  csrfTokenOf,
  endedSessionCookie,
  readSessionToken,
  requireSameOrigin,
  sessionCookie,
} from '../../access/session.ts';
import type { RequestHead } from '../../http-request.ts';
import { json } from '../../reply/reply.ts';
import { defineRoute, type Route } from '../../route.ts';

const sessionObject = z.object({
  name: told(z.string(), 'The caller.'),
  role: told(z.enum(ROLES).nullable(), 'What they may do.'),
  csrf_token: told(z.string().nullable(), 'For the header x-berth-csrf; only with a session.'),
  must_set_password: told(z.boolean(), 'Whether the caller can only replace the one-time password.'),
  is_secure: told(z.boolean(), 'Whether the connection uses TLS.'),
});

interface SessionServices {
  readonly facts: { readonly version: string };
  readonly settings: Pick<Config, 'page'>;
  readonly accounts: Accounts;
  readonly auth: AuthSettings;
}

/** Signs browsers in and out. Programs use `/auth` and a token instead. */
export function sessionRoutes(services: SessionServices): readonly Route[] {
  return [welcomeRoute(services), signInRoute(services), whoRoute(services), signOutRoute(services)];
}

function welcomeRoute({ accounts, facts, settings }: SessionServices): Route {
  return defineRoute({
    name: 'admin_welcome',
    methods: ['GET'],
    paths: ['/api/admin/welcome'],
    access: 'public',
    summary: 'What the page shows before anybody has signed in',
    answer: {
      kind: 'json',
      schema: z.object({
        name: told(z.string(), 'The name in the setting "page.name"; empty if there is none.'),
        has_logo: told(z.boolean(), 'Whether "page.logo" is set.'),
        version: told(z.string(), 'The version of the server.'),
        is_set_up: told(z.boolean(), 'Whether an administrator has set a password.'),
        is_secure: told(z.boolean(), 'Whether the connection uses TLS.'),
      }),
    },
    errors: [],
    handle: async ({ peer }) =>
      json({
        name: settings.page.name,
        has_logo: settings.page.logo !== '',
        version: facts.version,
        is_set_up: !(await accounts.isBeingSetUp()),
        is_secure: peer.isSecure === true,
      }),
  });
}

function signInRoute({ accounts, auth }: SessionServices): Route {
  return defineRoute({
    name: 'admin_sign_in',
    methods: ['POST'],
    paths: ['/api/admin/session/start'],
    access: 'public',
    takesPassword: true,
    summary: 'Sign in a browser; the session is a cookie that expires after twelve hours',
    body: z
      .object({ name: told(name, 'The name of the account.'), password: told(secret, 'Its password.') })
      .meta({ required: ['name', 'password'] }),
    answer: {
      kind: 'json',
      schema: z.object({
        name: told(z.string(), 'Who is signed in.'),
        csrf_token: told(z.string(), 'For the header x-berth-csrf.'),
      }),
    },
    errors: ['unauthorized', 'csrf_rejected', 'too_many_requests', 'missing_parameters'],
    handle: async ({ request, peer, body }) => {
      requireSameOrigin(request, peer);
      if (body.name === undefined || body.password === undefined) {
        throw new RequestError('missing_parameters', 'Send "name" and "password".');
      }
      const credentials = { name: body.name, password: body.password, address: peer.address };
      const token = await accounts.signIn({ ...credentials, isBrowser: true, signal: request.signal });
      if (token === null) throw new RequestError('unauthorized', 'The name or the password is wrong.');
      await endReplaced(readSessionToken(request, peer, auth), credentials, accounts);
      const reply = json({ name: body.name, csrf_token: csrfTokenOf(token) });
      return { ...reply, headers: { 'Set-Cookie': sessionCookie(token, peer) } };
    },
  });
}

/** Revokes the session that a new sign-in replaces: the browser forgets it, so it has no other use. */
async function endReplaced(session: string | null, by: Actor, { tokens }: Accounts): Promise<void> {
  const holder = session === null ? null : await tokens.find(session, { isUse: false });
  if (holder?.kind === 'session') await tokens.revoke(holder.tokenId, by);
}

function whoRoute({ auth }: SessionServices): Route {
  return defineRoute({
    name: 'admin_session',
    methods: ['GET'],
    paths: ['/api/admin/session'],
    access: 'account',
    summary: 'The caller, and what they may do',
    answer: { kind: 'json', schema: sessionObject },
    errors: [],
    handle: async ({ request, peer, caller }) =>
      json({
        name: caller.name,
        role: caller.role,
        csrf_token: findCsrfToken(request, peer, caller, auth),
        must_set_password: caller.holder?.restriction === 'password_only',
        is_secure: peer.isSecure === true || peer.isControl,
      }),
  });
}

function findCsrfToken(
  request: RequestHead,
  peer: Peer,
  { holder }: Caller,
  auth: AuthSettings,
): string | null {
  const session = holder?.kind === 'session' ? readSessionToken(request, peer, auth) : null;
  return session === null ? null : csrfTokenOf(session);
}

function signOutRoute({ accounts }: SessionServices): Route {
  return defineRoute({
    name: 'admin_sign_out',
    methods: ['POST'],
    paths: ['/api/admin/session/end'],
    access: 'account',
    summary: "End the caller's session, or revoke the caller's token",
    answer: { kind: 'json', schema: z.object({ ended: told(z.boolean(), 'Whether there was one.') }) },
    errors: [],
    handle: async ({ peer, caller }) => {
      const { holder } = caller;
      if (holder !== null) await accounts.tokens.revoke(holder.tokenId, actorOf(caller));
      const reply = json({ ended: holder !== null });
      if (holder?.kind !== 'session') return reply;
      return { ...reply, headers: { 'Set-Cookie': endedSessionCookie(peer) } };
    },
  });
}
