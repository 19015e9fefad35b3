import { SESSION_API } from '@berth/protocol/admin/session';
import { escapeHidden } from '@berth/protocol/hidden-characters';
import { RequestError } from '@berth/protocol/request-error';
import type { Peer, RequestHead } from '@berth/web/http-request';
import type { Config } from '../../../config.ts';
import { nameOfPerson } from '../../../core/access/person.ts';
import type { Actor } from '../../../core/nouns/actor.ts';
import type { Accounts } from '../../../services/access/accounts.ts';
import type { SingleSignOn } from '../../../services/access/single-sign-on.ts';
import type { AuthSettings, Caller } from '../../access/caller.ts';
import { findFirstStep, mayUse } from '../../access/identify-caller.ts';
import { isOnMachine } from '../../access/local-caller.ts';
import { cookie, csrfTokenOf, readSessionToken, requireSameOrigin } from '../../access/session.ts';
import { adminRoutes } from '../../admin-route.ts';
import type { Route } from '../../route.ts';

interface SessionServices {
  readonly facts: { readonly version: string };
  readonly settings: { readonly current: Pick<Config, 'page'> };
  readonly accounts: Accounts;
  readonly singleSignOn: SingleSignOn;
  readonly auth: AuthSettings;
  /** All routes of the server. */
  readonly listRoutes: () => readonly Route[];
}

/** With a name and a password. */
export const SIGN_IN_ERRORS = [
  'unauthorized',
  'second_factor_required',
  'sign_in_refused',
  'sign_in_unavailable',
  'too_many_requests',
] as const;

/** Signs browsers in and out. Programs use `/auth` and a token instead. */
export function sessionRoutes(services: SessionServices): readonly Route[] {
  const { accounts, singleSignOn, auth } = services;
  return adminRoutes(SESSION_API, {
    'GET /api/admin/welcome': {
      name: 'admin_welcome',
      access: 'public',
      summary: 'What the page shows before anybody has signed in',
      handle: async ({ request, peer }, send) => send(await welcome(request, peer, services)),
    },
    'POST /api/admin/session/start': {
      name: 'admin_sign_in',
      access: 'public',
      takesPassword: true,
      summary: 'Sign in a browser; the session is a cookie that expires after twelve hours',
      errors: [...SIGN_IN_ERRORS, 'csrf_rejected'],
      handle: async ({ request, peer, body }, send) => {
        requireSameOrigin(request, peer);
        const from = { address: peer.address, isHere: isOnMachine(request, peer), signal: request.signal };
        const token = await accounts.signIn({ ...body, code: body.code ?? null, ...from, isBrowser: true });
        if (token === null) throw new RequestError('unauthorized', 'The name or the password is wrong.');
        const name = (await accounts.tokens.find(token, { isUse: false }))?.name ?? body.name;
        const by = { name, address: peer.address };
        await endReplaced(readSessionToken(request, peer, auth), by, accounts);
        const reply = send({ name, csrf_token: csrfTokenOf(token) });
        return { ...reply, headers: { 'Set-Cookie': cookie('session', token, peer) } };
      },
    },
    'GET /api/admin/session': {
      name: 'admin_session',
      access: 'account',
      isForProducts: true,
      summary: 'The caller, and what they may do',
      handle: async ({ request, peer, caller }, send) => {
        const firstStep = findFirstStep(caller.holder, auth);
        return send({
          name: caller.name,
          role: caller.role,
          products: caller.products,
          operations: listOperations(caller, services),
          csrf_token: findCsrfToken(request, peer, caller, auth),
          must_set_password: firstStep === 'set_password',
          must_set_second_factor: firstStep === 'set_second_factor',
          recovery_codes_left: caller.holder?.recoveryCodesLeft ?? null,
          is_secure: peer.isSecure === true || peer.isControl,
        });
      },
    },
    'POST /api/admin/session/end': {
      name: 'admin_sign_out',
      access: 'account',
      isForProducts: true,
      summary: "End the caller's session, or revoke the caller's token",
      handle: async ({ peer, caller }, send) => {
        if (caller.holder !== null) await accounts.tokens.revoke(caller.holder.tokenId, caller.actor);
        const url = isOfProvider(caller) ? await singleSignOn.findSignOut() : null;
        const reply = send({ ended: caller.holder !== null, url });
        if (caller.holder?.kind !== 'session') return reply;
        return { ...reply, headers: { 'Set-Cookie': cookie('session', '', peer, 0) } };
      },
    },
  });
}

async function welcome(request: RequestHead, peer: Peer, services: SessionServices) {
  const { accounts, singleSignOn, auth, facts, settings } = services;
  const { name, logo } = settings.current.page;
  return {
    name: escapeHidden(name),
    has_logo: logo !== '',
    version: facts.version,
    is_set_up: !(await accounts.isBeingSetUp()),
    is_secure: peer.isSecure === true,
    provider: singleSignOn.name,
    takes_accounts: auth.localAccounts === 'everywhere' || isOnMachine(request, peer),
  };
}

/** Whether there is a session at the OpenID provider, too. */
function isOfProvider({ holder }: Caller): boolean {
  return holder?.account?.startsWith(nameOfPerson('oidc', '')) === true;
}

/** By method and path, as in the API document. */
function listOperations(caller: Caller, { auth, listRoutes }: SessionServices): readonly string[] {
  return listRoutes()
    .filter((route) => mayUse(caller, route, auth))
    .flatMap(({ methods, paths }) => methods.map((method) => `${method} ${paths[0]}`));
}

/** Revokes the session that a new sign-in replaces: the browser forgets it, so it has no other use. */
export async function endReplaced(session: string | null, by: Actor, { tokens }: Accounts): Promise<void> {
  const holder = session === null ? null : await tokens.find(session, { isUse: false });
  if (holder?.kind === 'session') await tokens.revoke(holder.tokenId, by);
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
