import { PROVIDER_API } from '@berth/protocol/admin/provider';
import type { Accounts } from '../../../services/access/accounts.ts';
import { ATTEMPT_SECONDS, type SingleSignOn } from '../../../services/access/single-sign-on.ts';
import type { AuthSettings } from '../../access/caller.ts';
import {
  cookie,
  readCookie,
  readSessionToken,
  requirePage,
  requireSameOrigin,
} from '../../access/session.ts';
import { adminRoutes } from '../../admin-route.ts';
import type { Route } from '../../route.ts';
import { endReplaced } from './session.ts';

interface ProviderServices {
  readonly accounts: Accounts;
  readonly singleSignOn: SingleSignOn;
  readonly auth: AuthSettings;
}

/** Signs browsers in with the provider of the company: there, and back. */
export function providerRoutes({ accounts, singleSignOn, auth }: ProviderServices): readonly Route[] {
  return adminRoutes(PROVIDER_API, {
    'POST /api/admin/session/provider': {
      name: 'admin_sign_in_provider',
      access: 'public',
      takesPassword: true,
      summary: 'Sign in a browser with the provider: there, and back',
      errors: ['sign_in_refused', 'sign_in_unavailable', 'csrf_rejected', 'too_many_requests'],
      handle: async ({ request, peer, body: { page: given, answer, anew = false } }, send) => {
        requireSameOrigin(request, peer);
        const page = requirePage(given, request, peer);
        if (answer === undefined) {
          const { url, attempt } = await singleSignOn.begin(page, anew);
          const kept = cookie('attempt', attempt, peer, ATTEMPT_SECONDS);
          return { ...send({ url }), headers: { 'Set-Cookie': kept } };
        }
        const { address } = peer;
        const back = { page, answer, address, attempt: readCookie('attempt', request, peer) };
        const { name, token } = await singleSignOn.finish(back);
        await endReplaced(readSessionToken(request, peer, auth), { name, address }, accounts);
        return { ...send({ url: null }), headers: { 'Set-Cookie': cookie('session', token, peer) } };
      },
    },
  });
}
