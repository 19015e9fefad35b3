import { createHash } from 'node:crypto';
import { quote } from '@berth/protocol/quote';
import type { ClientAuth, Configuration, ServerMetadata } from 'openid-client';
import { SECOND_MS } from '../core/nouns/instant.ts';
import { createBoundedFetch } from './bounded-fetch.ts';
import { explainFault } from './explain-fault.ts';
import { type Person, ProviderFault, type SignInProvider } from './sign-in-provider.ts';

interface OpenIdOptions {
  readonly issuer: string;
  readonly clientId: string;
  /** Empty if the provider asks for none. */
  readonly clientSecret: string;
  readonly scopes: readonly string[];
  readonly nameClaim: string;
  readonly groupsClaim: string;
  /** PEM of those that vouch for the provider, instead of those that Node knows. */
  readonly ca: string | null;
  /** For each request; a sign-in takes five at the most. */
  readonly timeoutSeconds: number;
  readonly readMonotonicMs: () => number;
  readonly readWall: () => number;
}

type Library = typeof import('openid-client');
type Claims = Readonly<Record<string, unknown>>;

/** How far the clocks of provider and server may be apart. */
const CLOCK_TOLERANCE_SECONDS = 60;

/**
 * How long the addresses of the provider are remembered: not longer, so that nobody is sent to one that is
 * away, but strangers cannot make us ask all the time. Its keys are read with each sign-in.
 */
const REMEMBERED_MS = 10 * SECOND_MS;

/** OpenID Connect: authorization code with PKCE. The library checks what the provider says. */
export function createOpenIdProvider(options: OpenIdOptions): SignInProvider {
  const discovery = createDiscovery(options);
  const open = async () => {
    const library = await import('openid-client');
    return { library, provider: configure(library, options, await discovery.find(library)) };
  };
  return {
    begin: (secrets, page, isAnew) =>
      explained(async () => {
        const { library, provider } = await open();
        const { href } = library.buildAuthorizationUrl(provider, {
          redirect_uri: page,
          scope: options.scopes.join(' '),
          state: secrets.state,
          nonce: secrets.nonce,
          code_challenge: createHash('sha256').update(secrets.verifier).digest('base64url'),
          code_challenge_method: 'S256',
          ...(isAnew ? { max_age: '0' } : {}),
        });
        return href;
      }),
    finish: (secrets, page, answer) =>
      explained(async () => {
        const { library, provider } = await open();
        const given = await library.authorizationCodeGrant(provider, new URL(`${page}?${answer}`), {
          expectedState: secrets.state,
          expectedNonce: secrets.nonce,
          pkceCodeVerifier: secrets.verifier,
          idTokenExpected: true,
        });
        const claims = given.claims() as Claims & { readonly sub: string };
        const { nameClaim, groupsClaim } = options;
        const isThere = claims[nameClaim] !== undefined && claims[groupsClaim] !== undefined;
        const hasMore = !isThere && provider.serverMetadata().userinfo_endpoint !== undefined;
        const more = hasMore ? await library.fetchUserInfo(provider, given.access_token, claims.sub) : {};
        const person = describePerson({ ...more, ...claims, ...findEmail([claims, more]) }, options);
        return { ...person, shownAgoMs: ageOf(claims, options) };
      }),
    findSignOut: () =>
      explained(async () => {
        const { library, provider } = await open();
        if (provider.serverMetadata().end_session_endpoint === undefined) return null;
        return library.buildEndSessionUrl(provider, {}).href;
      }),
    probe: () =>
      explained(async () => {
        await discovery.ask(await import('openid-client'));
      }),
  };
}

async function explained<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw explainFault(error);
  }
}

/** Asks for the addresses of the provider, once for all who need them at the same time. */
function createDiscovery(options: OpenIdOptions) {
  let known: { readonly server: ServerMetadata; readonly readMs: number } | null = null;
  let asking: Promise<ServerMetadata> | null = null;
  const askOnce = async (library: Library) => {
    const server = await askProvider(library, options);
    known = { server, readMs: options.readMonotonicMs() };
    return server;
  };
  const ask = (library: Library): Promise<ServerMetadata> => {
    asking ??= askOnce(library).finally(() => {
      asking = null;
    });
    return asking;
  };
  const isFresh = () => known !== null && options.readMonotonicMs() - known.readMs < REMEMBERED_MS;
  return { ask, find: async (library: Library) => (isFresh() && known?.server) || ask(library) };
}

async function askProvider(library: Library, options: OpenIdOptions): Promise<ServerMetadata> {
  const { issuer, clientId, ca, timeoutSeconds } = options;
  const url = new URL(issuer);
  const found = await library.discovery(url, clientId, undefined, undefined, {
    [library.customFetch]: createBoundedFetch(ca),
    timeout: timeoutSeconds,
    execute: url.protocol === 'http:' ? [library.allowInsecureRequests] : [],
  });
  const server = found.serverMetadata();
  // The library lets some providers use another name, and would then accept people of every company.
  if (new URL(server.issuer).href === url.href) return server;
  throw new ProviderFault(
    'unavailable',
    `The provider calls itself ${quote(server.issuer)}. Set "auth.oidc.issuer" to exactly this, if it is ` +
      'the right one.',
  );
}

/** With its own copy of the addresses, so that the library reads the keys of the provider anew. */
function configure(library: Library, options: OpenIdOptions, server: ServerMetadata): Configuration {
  const { issuer, clientId, clientSecret, ca, timeoutSeconds } = options;
  const client = { [library.clockTolerance]: CLOCK_TOLERANCE_SECONDS };
  const provider = new library.Configuration(
    server,
    clientId,
    client,
    proofOf(library, clientSecret, server),
  );
  provider.timeout = timeoutSeconds;
  provider[library.customFetch] = createBoundedFetch(ca);
  library.enableNonRepudiationChecks(provider);
  if (issuer.startsWith('http:')) library.allowInsecureRequests(provider);
  return provider;
}

/** A provider that names no way expects HTTP Basic. */
function proofOf(library: Library, secret: string, server: ServerMetadata): ClientAuth {
  if (secret === '') return library.None();
  const ways = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
  return ways.includes('client_secret_basic')
    ? library.ClientSecretBasic(secret)
    : library.ClientSecretPost(secret);
}

/** Since the provider has asked for a password, for example. A time to come says nothing. */
function ageOf({ auth_time: at }: Claims, { readWall }: OpenIdOptions): number | null {
  if (typeof at !== 'number') return null;
  const ageMs = readWall() - at * SECOND_MS;
  return ageMs >= -CLOCK_TOLERANCE_SECONDS * SECOND_MS ? Math.max(0, Math.round(ageMs)) : null;
}

/** An address and its verification come from one source: each says whether its own address is verified. */
function findEmail(sources: readonly Claims[]): Claims {
  const having = sources.filter(({ email }) => email !== undefined);
  const source = having.find(({ email_verified }) => email_verified !== undefined) ?? having[0];
  return { email: source?.email, email_verified: source?.email_verified };
}

function describePerson(claims: Claims & { readonly sub: string }, options: OpenIdOptions): Person {
  const { sub: subject } = claims;
  const name = claims[options.nameClaim];
  const groups = claims[options.groupsClaim];
  const isVerified = typeof claims.email === 'string' && claims.email_verified === true;
  if (options.groupsClaim === 'email' && groups !== undefined && !isVerified) {
    throw new ProviderFault(
      'refused',
      `The provider has not verified the e-mail address ${quote(String(groups))}, so it gives nobody a role.`,
    );
  }
  return { subject, name: typeof name === 'string' ? name : subject, groups: readGroups(groups) };
}

/** A single text is a list of one; whatever is no text is no group. */
function readGroups(claim: unknown): readonly string[] | null {
  if (typeof claim === 'string') return [claim];
  if (!Array.isArray(claim)) return null;
  return claim.filter((group) => typeof group === 'string');
}
