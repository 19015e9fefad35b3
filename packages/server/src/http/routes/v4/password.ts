import { setPasswordAnswer, setPasswordRequest } from '@berth/protocol/api/passwords';
import { RequestError } from '@berth/protocol/request-error';
import { json } from '@berth/web/reply';
import { type Accounts, FIRST_ADMINISTRATOR } from '../../../services/access/accounts.ts';
import { refusalReply } from '../../reply/problem.ts';
import { defineRoute, type Route } from '../../route.ts';
import { rejectSecretsInUrl } from './keys.ts';

interface PasswordServices {
  readonly accounts: Accounts;
  readonly allowKeysInUrl: boolean;
}

/** Callers without an account change the password of the first administrator and must send the old one. */
export function passwordRoutes({ accounts, allowKeysInUrl }: PasswordServices): readonly Route[] {
  return [
    defineRoute({
      name: 'set_password',
      methods: ['GET', 'POST'],
      paths: ['/api/v4/setPassword'],
      access: 'account',
      isForProducts: true,
      takesPassword: true,
      summary: "Change the caller's password, or that of the first administrator; prefer POST",
      query: setPasswordRequest,
      body: setPasswordRequest,
      answer: { kind: 'json', schema: setPasswordAnswer },
      errors: [
        'too_many_requests',
        'missing_parameters',
        'keys_in_url_not_allowed',
        'account_not_found',
        'invalid_credentials',
      ],
      handle: async ({ request, query, body, caller, peer }) => {
        const { password_old: oldPassword, password_new: newPassword } = { ...query, ...body };
        if ((oldPassword ?? newPassword) !== undefined) rejectSecretsInUrl(request, allowKeysInUrl);
        if (oldPassword === undefined || newPassword === undefined) {
          throw new RequestError('missing_parameters', 'Send "passwordOld" and "passwordNew".');
        }
        const account = caller.holder?.account ?? FIRST_ADMINISTRATOR;
        const keptToken = caller.holder?.tokenHash ?? null;
        const from = { address: peer.address, signal: request.signal };
        const change = { account, oldPassword, newPassword, keptToken, ...from };
        const outcome = await accounts.changePassword(change, caller.actor);
        if (outcome.kind === 'refused') return refusalReply(outcome);
        return json({ message: `The password of "${account}" has been changed.` });
      },
    }),
  ];
}
