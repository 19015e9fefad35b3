import { described } from '@berth/protocol/fields';
import { RequestError } from '@berth/protocol/request-error';
import type { RequestHead } from '@berth/web/http-request';
import { json } from '@berth/web/reply';
import { z } from 'zod';
import type { Accounts } from '../../services/access/accounts.ts';
import type { GrantKeys } from '../../services/grants/grant-keys.ts';
import type { Identity } from '../../services/identity/identity.ts';
import type { Oversight } from '../../services/lending/oversight.ts';
import { isOnMachine } from '../access/local-caller.ts';
import { problem } from '../reply/problem.ts';
import { defineRoute, type Route } from '../route.ts';
import { SIGN_IN_ERRORS } from './admin/session.ts';
import { type FindPage, pageReply, wantsPage } from './page.ts';

interface PublicServices {
  readonly accounts: Accounts;
  readonly oversight: Oversight;
  readonly grantKeys: GrantKeys;
  readonly identity: Identity;
  readonly version: string;
  readonly findPage: FindPage;
}

export function publicRoutes(services: PublicServices): readonly Route[] {
  const { accounts, oversight } = services;
  return [rootRoute(services), healthRoute(oversight), authRoute(accounts), keySetRoute(services)];
}

const rootObject = z.object({
  name: described(z.string(), 'Always "berth".'),
  version: described(z.string(), 'The version of the server.'),
  docs: described(z.string(), 'Where this API is described.'),
});

function rootRoute({ version, findPage }: PublicServices): Route {
  return defineRoute('GET /', {
    name: 'root',
    access: 'public',
    summary: "Identify the license server; with text/html, the administrator's page",
    answer: { kind: 'json', schema: rootObject },
    handle: ({ request }) => {
      if (wantsPage(request)) return pageReply(findPage);
      return { ...json({ name: 'berth', version, docs: '/api/v4/docs' }), headers: { Vary: 'Accept' } };
    },
  });
}

function healthRoute(oversight: Oversight): Route {
  return defineRoute('GET /api/v4/health', {
    name: 'health',
    access: 'public',
    summary: 'Whether the server can lend slots now',
    answer: { kind: 'json', schema: z.object({ status: described(z.literal('ok'), 'Always "ok".') }) },
    errors: ['store_unavailable'],
    handle: () =>
      oversight.isHealthy()
        ? json({ status: 'ok' })
        : problem('store_unavailable', 'The server cannot write its data. See its log.'),
  });
}

function authRoute(accounts: Accounts): Route {
  return defineRoute('GET /auth', {
    name: 'auth',
    access: 'public',
    takesPassword: true,
    summary: 'Exchange a name and a password (HTTP Basic) for a token',
    answer: {
      kind: 'json',
      schema: z.object({
        message: described(z.string(), 'A message that the login was successful.'),
        token: described(z.string(), 'The token: send it as `Authorization: Bearer TOKEN`.'),
      }),
    },
    headers: ['X-Berth-Code'],
    errors: [...SIGN_IN_ERRORS, 'store_unavailable'],
    handle: async ({ request, peer }) => {
      const credentials = readBasic(request.headers.get('authorization'));
      const from = { address: peer.address, isHere: isOnMachine(request, peer), signal: request.signal };
      const token = await accounts.signIn({ ...credentials, code: readCode(request), ...from });
      if (token === null) throw new RequestError('unauthorized', 'The name or the password is wrong.');
      return json({ message: 'Login successful', token });
    },
  });
}

const keyObject = z
  .object({
    kty: described(z.literal('OKP'), 'Its type.'),
    crv: described(z.literal('Ed25519'), 'Its curve.'),
    x: described(z.string(), 'The key, in base64url.'),
    kid: described(z.string(), 'Its thumbprint (RFC 7638).'),
    use: described(z.literal('sig'), 'For signatures.'),
    alg: described(z.literal('EdDSA'), 'For EdDSA.'),
  })
  .meta({ id: 'GrantKey', description: 'A public key that verifies grants, as RFC 8037 writes it.' });

/** A new key signs at once, so the set must not be cached for long. */
const KEY_SET_HEADERS = { 'Cache-Control': 'public, max-age=60' };

function keySetRoute({ grantKeys, identity }: PublicServices): Route {
  return defineRoute('GET /.well-known/jwks.json', {
    name: 'jwks',
    access: 'public',
    summary: 'The keys that verify grants, and the public id of the store',
    answer: {
      kind: 'json',
      schema: z.object({
        keys: described(z.array(keyObject), 'The newest first.'),
        store_id: described(
          z.string(),
          'Names the data of the server: the same on all servers of one database, wherever it moves.',
        ),
      }),
    },
    errors: ['store_unavailable'],
    handle: async () => {
      const keys = await grantKeys.list();
      const presented = keys.map(({ jwk, kid }) => ({ ...jwk, kid, use: 'sig', alg: 'EdDSA' }));
      return {
        ...json({ keys: presented, store_id: await identity.readStoreId() }),
        headers: KEY_SET_HEADERS,
      };
    },
  });
}

/** Longer names and passwords cannot belong to an account. */
const MAX_CREDENTIAL_LENGTH = 256;

/** HTTP Basic forbids control characters. */
const CONTROL_CHARACTER = /\p{Cc}/u;

/** Names appear in the audit log, so they must not hide or reorder the text around them. */
const INVISIBLE_CHARACTER = /[\p{Cf}\p{Zl}\p{Zp}]/u;

/** Of the second factor; `null`: none was sent. */
export function readCode({ headers }: RequestHead): string | null {
  return headers.get('x-berth-code')?.slice(0, MAX_CREDENTIAL_LENGTH) ?? null;
}

function readBasic(authorization: string | null): { name: string; password: string } {
  const encoded = /^Basic +([A-Za-z0-9+/=_-]+)$/i.exec(authorization ?? '')?.[1];
  const pair = encoded === undefined ? '' : Buffer.from(encoded, 'base64').toString('utf8');
  const colon = pair.indexOf(':');
  const [name, password] = [pair.slice(0, colon), pair.slice(colon + 1)];
  const isTooLong = name.length > MAX_CREDENTIAL_LENGTH || password.length > MAX_CREDENTIAL_LENGTH;
  const isUnreadable = CONTROL_CHARACTER.test(pair) || INVISIBLE_CHARACTER.test(name);
  if (colon < 1 || isTooLong || isUnreadable) {
    throw new RequestError(
      'unauthorized',
      'Send the name and password with HTTP Basic, such as curl -u NAME:PASSWORD.',
    );
  }
  return { name, password };
}
