import { createHmac, sign } from 'node:crypto';
import { createServer, type RequestListener, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Certificate } from '../certificate.ts';
import { rsaKeysOf } from '../rsa-keys.ts';

interface Life {
  after(work: () => unknown): void;
}

/** What the provider does otherwise than it should. */
export interface Lies {
  /** Of its ID token. */
  readonly claims?: Readonly<Record<string, unknown>>;
  readonly header?: Readonly<Record<string, unknown>>;
  /** `none`: no signature. `public`: with the public key as if it were a secret. `other`: by another key. */
  readonly signed?: 'none' | 'public' | 'other';
  /** Of its description. */
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly userInfo?: Readonly<Record<string, unknown>>;
  /** Answers a path in another way. */
  readonly answers?: Readonly<Record<string, (response: ServerResponse) => void>>;
}

const OWN = rsaKeysOf('provider');
const OTHER = rsaKeysOf('stranger');

/** An OpenID provider that signs in a person called ann, and lies about it as it is told. */
export async function openHostileProvider(t: Life, clientId: string, certificate?: Certificate) {
  let lies: Lies = {};
  let nonce = '';
  let keys = { kid: 'first', ...OWN };
  const asked: string[] = [];
  const answer: RequestListener = (request, response) => {
    const path = request.url ?? '';
    asked.push(path);
    request.resume();
    const own = lies.answers?.[path];
    if (own !== undefined) return own(response);
    const answers: Record<string, () => unknown> = {
      '/.well-known/openid-configuration': () => ({ ...describe(issuer), ...lies.metadata }),
      '/keys': () => ({
        keys: [{ ...keys.publicKey.export({ format: 'jwk' }), kid: keys.kid, use: 'sig', alg: 'RS256' }],
      }),
      '/token': () => ({
        access_token: 'access',
        token_type: 'Bearer',
        id_token: makeToken({ ...claimsOf(issuer, clientId, nonce), ...lies.claims }, keys, lies),
      }),
      '/user': () => ({ sub: 'id-of-ann', ...lies.userInfo }),
    };
    const make = answers[path];
    if (make === undefined) return response.writeHead(404).end();
    response.setHeader('content-type', 'application/json').end(JSON.stringify(make()));
  };
  const server = certificate === undefined ? createServer(answer) : createSecureServer(certificate, answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const scheme = certificate === undefined ? 'http' : 'https';
  const issuer = `${scheme}://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const stop = () => {
    server.closeAllConnections();
    server.close();
  };
  t.after(stop);
  return {
    issuer,
    asked,
    stop,
    lie(more: Lies): void {
      lies = more;
    },
    /** From the address to which it was sent. */
    meet(url: string): void {
      nonce = new URL(url).searchParams.get('nonce') ?? '';
    },
    changeKeys(): void {
      keys = { kid: 'second', ...OTHER };
    },
  };
}

function describe(issuer: string) {
  return {
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    jwks_uri: `${issuer}/keys`,
    userinfo_endpoint: `${issuer}/user`,
    end_session_endpoint: `${issuer}/leave`,
    response_types_supported: ['code'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['RS256', 'HS256', 'none'],
    authorization_response_iss_parameter_supported: true,
  };
}

const LIFETIME_SECONDS = 300;

function claimsOf(issuer: string, clientId: string, nonce: string) {
  const iat = Math.floor(Date.now() / 1000);
  const person = { sub: 'id-of-ann', preferred_username: 'ann', groups: ['staff'] };
  return { iss: issuer, aud: clientId, iat, exp: iat + LIFETIME_SECONDS, nonce, ...person };
}

type Keys = typeof OWN & { readonly kid: string };

function makeToken(claims: object, { kid, privateKey, publicKey }: Keys, lies: Lies): string {
  const alg = { none: 'none', public: 'HS256', other: 'RS256' }[lies.signed ?? 'other'];
  const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url');
  const text = `${encode({ alg, kid, ...lies.header })}.${encode(claims)}`;
  const signatures = {
    none: () => '',
    public: () => {
      const pem = publicKey.export({ type: 'spki', format: 'pem' });
      return createHmac('sha256', pem).update(text).digest('base64url');
    },
    other: () => sign('sha256', Buffer.from(text), OTHER.privateKey).toString('base64url'),
    own: () => sign('sha256', Buffer.from(text), privateKey).toString('base64url'),
  };
  return `${text}.${signatures[lies.signed ?? 'own']()}`;
}
