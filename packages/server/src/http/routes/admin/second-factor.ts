import { SECOND_FACTOR_API } from '@berth/protocol/admin/users';
import { escapeHidden } from '@berth/protocol/hidden-characters';
import type { Config } from '../../../config.ts';
import type { Accounts } from '../../../services/access/accounts.ts';
import type { Holder } from '../../../services/access/tokens.ts';
import type { Caller } from '../../access/caller.ts';
import { adminRoutes } from '../../admin-route.ts';
import type { Route } from '../../route.ts';

interface SecondFactorServices {
  readonly accounts: Accounts;
  readonly settings: { readonly current: Pick<Config, 'page'> };
}

/** People set up and turn off the second factor of their own account. */
export function secondFactorRoutes({ accounts, settings }: SecondFactorServices): readonly Route[] {
  const { secondFactors } = accounts;
  return adminRoutes(SECOND_FACTOR_API, {
    'POST /api/admin/second-factor/offer': {
      name: 'admin_second_factor_offer',
      access: 'own',
      isForProducts: true,
      summary: 'A new secret for an authenticator app, which has to be confirmed',
      handle: ({ caller, request }, send) => {
        const issuer =
          escapeHidden(settings.current.page.name) || `Berth ${request.headers.get('host') ?? ''}`.trim();
        return send(secondFactors.offer(ownerOf(caller).account, issuer));
      },
    },
    'POST /api/admin/second-factor/confirm': {
      name: 'admin_second_factor_confirm',
      access: 'own',
      isForProducts: true,
      takesPassword: true,
      summary: "Set up the caller's second factor, end their other sessions, and return recovery codes",
      errors: ['invalid_credentials', 'account_not_found', 'too_many_requests'],
      handle: async ({ request, peer, body: { password, secret, code }, caller }, send) => {
        const { account, tokenHash: keptToken } = ownerOf(caller);
        const owner = { account, password, address: peer.address, signal: request.signal };
        const codes = await secondFactors.confirm({ ...owner, secret, code, keptToken }, caller.actor);
        return send({ recovery_codes: codes });
      },
    },
    'POST /api/admin/second-factor/remove': {
      name: 'admin_second_factor_remove',
      access: 'own',
      isForProducts: true,
      takesPassword: true,
      summary: "Turn off the caller's second factor, with the password and a code",
      errors: ['invalid_credentials', 'account_not_found', 'too_many_requests'],
      handle: ({ request, peer, body: { password, code }, caller }) => {
        const { account } = ownerOf(caller);
        const owner = { account, password, code, address: peer.address, signal: request.signal };
        return secondFactors.remove(owner, caller.actor);
      },
    },
  });
}

/** The route is only for callers who have an account. */
function ownerOf({ holder }: Caller): { readonly account: string; readonly tokenHash: string } {
  return holder as Holder & { readonly account: string };
}
