import { randomBytes } from 'node:crypto';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { rsaKeysOf } from '../rsa-keys.ts';

interface Life {
  after(work: () => unknown): void;
}

interface ProviderOptions {
  /** The address of the page. */
  readonly page: string;
  /** What the provider says about each person. */
  readonly people: Readonly<Record<string, object>>;
}

/** The part of `oidc-provider`, which has no types, that is used here. */
interface Provider {
  callback(): RequestListener;
  interactionFinished(...request: readonly unknown[]): Promise<void>;
  readonly Grant: new (of: object) => { addOIDCScope(scope: string): void; save(): Promise<string> };
}

type Context = { readonly oidc: { readonly [part: string]: Readonly<Record<string, string>> } };

export const CLIENT = { id: 'berth', secret: 'the secret of berth at its provider' } as const;

quieten();

const KEYS = rsaKeysOf('provider');

/** Where a person chooses who they are; another provider would ask for a password. */
const CHOICE = /^\/choose\/[\w-]+(?:\/(\w+))?$/;

/** A certified OpenID provider, at which everybody may be anybody. */
export async function openRealProvider(t: Life, { page, people }: ProviderOptions) {
  let answer: RequestListener = () => {};
  const server = createServer((request, response) => answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const stop = () => {
    server.closeAllConnections();
    server.close();
  };
  t.after(stop);
  const provider = await createProvider(issuer, page, people);
  const others = provider.callback();
  answer = async (request, response) => {
    const [isChoice, who] = CHOICE.exec(request.url ?? '') ?? [];
    if (isChoice === undefined) return others(request, response);
    if (who !== undefined) {
      const options = { mergeWithLastSubmission: false };
      return provider.interactionFinished(request, response, { login: { accountId: who } }, options);
    }
    const links = Object.keys(people).map((name) => `<p><a href="${request.url}/${name}">${name}</a></p>`);
    response.setHeader('content-type', 'text/html').end(`<h1>Who are you?</h1>${links.join('')}`);
  };
  return { issuer, stop };
}

async function createProvider(
  issuer: string,
  page: string,
  people: ProviderOptions['people'],
): Promise<Provider> {
  const { Provider: Made } = await import('oidc-provider' as string);
  const provider: Provider = new Made(issuer, {
    clients: [
      {
        client_id: CLIENT.id,
        client_secret: CLIENT.secret,
        redirect_uris: [page],
        post_logout_redirect_uris: [page],
      },
    ],
    jwks: { keys: [{ ...KEYS.privateKey.export({ format: 'jwk' }), kid: 'first', use: 'sig' }] },
    cookies: { keys: [randomBytes(32).toString('hex')] },
    claims: {
      openid: ['sub'],
      profile: ['preferred_username', 'groups'],
      email: ['email', 'email_verified'],
    },
    features: { devInteractions: { enabled: false } },
    findAccount: (_: unknown, id: string) => ({ accountId: id, claims: () => ({ sub: id, ...people[id] }) }),
    interactions: { url: (_: unknown, { uid }: { readonly uid: string }) => `/choose/${uid}` },
    async loadExistingGrant({ oidc }: Context) {
      const grant = new provider.Grant({ clientId: CLIENT.id, accountId: oidc.session?.accountId });
      grant.addOIDCScope('openid profile email');
      await grant.save();
      return grant;
    },
  });
  return provider;
}

/** It warns of what is right in a test: that it forgets everything. */
function quieten(): void {
  for (const level of ['info', 'warn'] as const) {
    const print = console[level];
    console[level] = (...words: readonly unknown[]) => {
      if (!String(words[0]).startsWith('oidc-provider ')) print(...words);
    };
  }
}
