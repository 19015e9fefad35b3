import { setPasswordAnswer, setPasswordRequest } from '@berth/protocol/api/passwords';
import { RequestError } from '@berth/protocol/request-error';
import { json } from '@berth/web/reply';
import { type Accounts, FIRST_ADMINISTRATOR } from '../../../services/access/accounts.ts';
import { refusalReply } from '../../reply/problem.ts';
import { defineRoute, type Route } from '../../route.ts';
import { readCode } from '../public.ts';
import { rejectSecretsInUrl } from './keys.ts';

interface PasswordServices {
  readonly accounts: Accounts;
  readonly allowKeysInUrl: boolean;
}

/** Without credentials, it is the password of the first administrator. */
export function passwordRoutes({ accounts, allowKeysInUrl }: PasswordServices): readonly Route[] {
  return [
    defineRoute('GET POST /api/v4/setPassword', {
      name: 'set_password',
      access: 'password',
      isForProducts: true,
      takesPassword: true,
      summary: "Change the caller's password, or that of the first administrator; prefer POST",
      query: setPasswordRequest,
      body: setPasswordRequest,
      headers: ['X-Berth-Code'],
      answer: { kind: 'json', schema: setPasswordAnswer },
      errors: [
        'too_many_requests',
        'missing_parameters',
        'keys_in_url_not_allowed',
        'account_not_found',
        'invalid_credentials',
        'second_factor_required',
      ],
      handle: async ({ request, query, body, caller, peer }) => {
        const { password_old: oldPassword, password_new: newPassword, code: sent } = { ...query, ...body };
        if ((oldPassword ?? newPassword) !== undefined) rejectSecretsInUrl(request, allowKeysInUrl);
        if (oldPassword === undefined || newPassword === undefined) {
          throw new RequestError('missing_parameters', 'Send "passwordOld" and "passwordNew".');
        }
        const account = caller.holder?.account ?? FIRST_ADMINISTRATOR;
        const keptToken = caller.holder?.tokenHash ?? null;
        const code = sent ?? readCode(request);
        const from = { code, address: peer.address, signal: request.signal };
        const change = { account, oldPassword, newPassword, keptToken, ...from };
        const outcome = await accounts.changePassword(change, caller.actor);
        if (outcome.kind === 'refused') return refusalReply(outcome);
        return json({ message: `The password of "${account}" has been changed.` });
      },
    }),
  ];
}
