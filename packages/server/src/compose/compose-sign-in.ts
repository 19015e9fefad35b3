import { escapeHidden } from '@berth/protocol/hidden-characters';
import { type Config, ConfigError } from '../config.ts';
import { SECOND_MS } from '../core/nouns/instant.ts';
import { createLdapDirectory } from '../providers/ldap-directory.ts';
import { createOpenIdProvider } from '../providers/openid-provider.ts';
import type { Directory, SignInProvider } from '../providers/sign-in-provider.ts';
import { createDirectoryPeople, type DirectoryPeople } from '../services/access/directory-people.ts';
import { createSingleSignOn, type SingleSignOn } from '../services/access/single-sign-on.ts';
import type { Tokens } from '../services/access/tokens.ts';
import type { Clock } from '../store/clock.ts';
import type { Store } from '../store/store.ts';
import type { Log } from '../telemetry/log.ts';
import { readCertificates } from './read-certificates.ts';

type ProviderSettings = Config['auth']['oidc'];

const TIMEOUT_SECONDS = 10;

/** Signing in with the provider of the settings, if they have one. */
export function composeSignIn(
  store: Store,
  { auth }: Config,
  clock: Clock,
  { execute }: Pick<Tokens, 'execute'>,
): SingleSignOn {
  const { issuer, groupsClaim } = auth.oidc;
  return createSingleSignOn(store, {
    provider: issuer === '' ? null : openProvider(auth.oidc, clock),
    name: nameOfProvider(auth.oidc),
    groupsClaim,
    roles: auth.oidc,
    execute,
    readWall: clock.readWall,
    readMonotonicMs: clock.readMonotonicMs,
  });
}

function nameOfProvider({ name, issuer }: ProviderSettings): string {
  return escapeHidden(name) || (URL.parse(issuer)?.host ?? '');
}

/** What people sign in with from other machines; `null`: also with accounts of the server. */
export function findElsewhere({ auth }: Config): string | null {
  if (auth.localAccounts === 'everywhere') return null;
  const ways = [
    ...(auth.oidc.issuer === '' ? [] : [nameOfProvider(auth.oidc)]),
    ...(auth.ldap.url === '' ? [] : ["your name and password in the company's directory"]),
  ];
  if (ways.length > 0) return ways.join(', or with ');
  throw new ConfigError(
    '"auth.localAccounts: emergency" needs "auth.oidc.issuer" or "auth.ldap.url": otherwise nobody could ' +
      'sign in from another machine.',
  );
}

function openProvider(settings: ProviderSettings, { readMonotonicMs, readWall }: Clock): SignInProvider {
  if (settings.clientId === '') {
    throw new ConfigError('"auth.oidc.issuer" needs "auth.oidc.clientId": the provider gives you one.');
  }
  if (!settings.scopes.includes('openid')) {
    throw new ConfigError('"auth.oidc.scopes" must contain "openid".');
  }
  const ca = readCertificates('auth.oidc.caFile', settings.caFile);
  const clocks = { readMonotonicMs, readWall };
  return createOpenIdProvider({ ...settings, ca, timeoutSeconds: TIMEOUT_SECONDS, ...clocks });
}

/** Those in the directory. */
export function composePeople({ auth }: Config, directory: Directory | null): DirectoryPeople | null {
  return directory === null ? null : createDirectoryPeople(directory, auth.ldap);
}

/** The directory of the settings, if they have one. */
export function composeDirectory({ auth }: Config, { readWall }: Clock, log: Log): Directory | null {
  const { caFile, ...settings } = auth.ldap;
  if (settings.url === '') return null;
  if (settings.base === '') {
    throw new ConfigError('"auth.ldap.url" needs "auth.ldap.base": where in the directory people are.');
  }
  const ca = readCertificates('auth.ldap.caFile', caFile);
  const timeoutMs = TIMEOUT_SECONDS * SECOND_MS;
  const note = (line: string) => log.info(line);
  return createLdapDirectory({ ...settings, ca, timeoutMs, readWall, note });
}
