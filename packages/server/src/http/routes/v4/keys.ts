import { setKeysAnswer, setKeysRequest } from '@berth/protocol/api/cloud-keys';
import { RequestError } from '@berth/protocol/request-error';
import type { HttpRequest } from '@berth/web/http-request';
import { json } from '@berth/web/reply';
import type { Credentials } from '../../../services/cloud/credentials.ts';
import { toWire } from '../../reply/to-wire.ts';
import { defineRoute, type Route } from '../../route.ts';

interface KeyServices {
  readonly credentials: Credentials;
  /** URLs end up in logs, so administrators can disable the GET. */
  readonly allowKeysInUrl: boolean;
}

export function keyRoutes({ credentials, allowKeysInUrl }: KeyServices): readonly Route[] {
  return [
    defineRoute('GET POST /api/v4/setKeys', {
      name: 'set_keys',
      access: 'admin',
      summary: "Set the vendor's two keys for the licensing cloud, or one of them; prefer POST",
      query: setKeysRequest,
      body: setKeysRequest,
      answer: { kind: 'json', schema: setKeysAnswer },
      errors: ['missing_parameters', 'keys_in_url_not_allowed'],
      handle: async ({ request, query, body, caller }) => {
        const { api_key: apiKey = null, shared_key: sharedKey = null } = { ...query, ...body };
        if ((apiKey ?? sharedKey) !== null) rejectSecretsInUrl(request, allowKeysInUrl);
        return json(toWire(await credentials.setKeys({ apiKey, sharedKey }, caller.actor)));
      },
    }),
  ];
}

export function rejectSecretsInUrl({ method }: Pick<HttpRequest, 'method'>, isAllowed: boolean): void {
  if (method === 'POST' || isAllowed) return;
  throw new RequestError(
    'keys_in_url_not_allowed',
    'This server does not accept secrets in a URL. Send them in the body of a POST, and replace ' +
      'those you sent.',
  );
}
