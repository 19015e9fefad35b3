import { createHash, randomBytes } from 'node:crypto';
import { quote } from '@berth/protocol/quote';
import { RequestError } from '@berth/protocol/request-error';
import { isReadableName, nameOfPerson, recordedId } from '../../core/access/person.ts';
import { type GroupRoles, roleOfGroups, sayNoRole } from '../../core/access/role-of-groups.ts';
import { MINUTE_MS, SECOND_MS } from '../../core/nouns/instant.ts';
import { attemptKey } from '../../core/nouns/notice-key.ts';
import {
  type AttemptSecrets,
  type Person,
  ProviderFault,
  type SignInProvider,
} from '../../providers/sign-in-provider.ts';
import type { Clock } from '../../store/clock.ts';
import type { Store } from '../../store/store.ts';
import { createSignInThrottle } from './sign-in-throttle.ts';
import { hashToken, makeToken, type Tokens } from './tokens.ts';

interface SingleSignOnOptions extends Pick<Clock, 'readWall' | 'readMonotonicMs'> {
  /** `null`: only accounts of this server sign in. */
  readonly provider: SignInProvider | null;
  /** What the page calls the provider. */
  readonly name: string;
  readonly groupsClaim: string;
  readonly roles: GroupRoles;
  /** An administrator who signs in may end the tokens of others. */
  readonly execute: Tokens['execute'];
}

interface Return {
  /** From `begin`; `null` if the browser does not have it. */
  readonly attempt: string | null;
  /** Where the page is. */
  readonly page: string;
  /** The query with which the provider sent the browser back. */
  readonly answer: string;
  readonly address: string;
}

/**
 * Signs people in whom a provider of the company identifies. The browser keeps a random value, the attempt,
 * from which everything is derived that has to come back from the provider: so it does not matter which
 * server of a database begins and which finishes, and whoever has not begun cannot finish.
 */
export interface SingleSignOn {
  /** What the page calls the provider; `null` if there is none. */
  readonly name: string | null;
  /** `isAnew`: whoever signs in has to show who they are, even if the provider still knows. */
  begin(page: string, isAnew?: boolean): Promise<{ readonly url: string; readonly attempt: string }>;
  finish(back: Return): Promise<{ readonly name: string; readonly token: string }>;
  /** Where to sign out at the provider as well; `null` if that is not possible. */
  findSignOut(): Promise<string | null>;
  /** What is wrong with the provider; `null`: nothing. */
  findFault(): Promise<string | null>;
}

/** People may have to look for their second factor. */
export const ATTEMPT_SECONDS = 15 * 60;

/** Several servers may have clocks that differ. */
const CLOCKS_APART_MS = MINUTE_MS;

export function createSingleSignOn(store: Store, options: SingleSignOnOptions): SingleSignOn {
  const { provider, name, readWall, readMonotonicMs } = options;
  const throttle = createSignInThrottle(readMonotonicMs);
  const required = () => {
    if (provider !== null) return provider;
    throw new RequestError(
      'sign_in_refused',
      'No provider is configured: see the setting "auth.oidc.issuer".',
    );
  };

  async function finish(back: Return) {
    const asked = required();
    const attempt = requireOwn(back.attempt, readWall());
    const guess = throttle.begin(attempt, back.address);
    let isRight: boolean | 'unknown' = 'unknown';
    try {
      const used = await store.read({ kind: 'find_notice', key: attemptKey(hashToken(attempt)) });
      const found = used === null ? await identify(asked, attempt, back, options) : NOBODY;
      isRight = found.standing !== null;
      return await admit(options, found, attempt, back.address);
    } finally {
      guess.end(isRight);
    }
  }

  return {
    name: provider === null ? null : name,
    async begin(page, isAnew = false) {
      const attempt = `${readWall()}.${randomBytes(32).toString('base64url')}`;
      return { url: await reach(required().begin(secretsOf(attempt), page, isAnew)), attempt };
    },
    finish,
    findSignOut: async () => (await provider?.findSignOut().catch(ignoreFault)) ?? null,
    async findFault() {
      try {
        await provider?.probe();
        return null;
      } catch (error) {
        if (error instanceof ProviderFault) return error.message;
        throw error;
      }
    },
  };
}

/** A person with the role that they get, or why they get none. */
interface Found {
  readonly subject: string | null;
  readonly name: string;
  readonly shownAgoMs: number | null;
  readonly standing: ReturnType<typeof roleOfGroups>;
  readonly fault: string | null;
}

/** It is not known who it was. */
const NOBODY: Found = { subject: null, name: '?', standing: null, fault: null, shownAgoMs: null };

/** A refusal is returned, because it has to be written down. */
async function identify(
  provider: SignInProvider,
  attempt: string,
  { page, answer }: Return,
  options: SingleSignOnOptions,
): Promise<Found> {
  try {
    return judge(await provider.finish(secretsOf(attempt), page, answer), options);
  } catch (error) {
    if (!(error instanceof ProviderFault)) throw error;
    if (error.kind === 'unavailable') throw unavailable(error);
    return { ...NOBODY, fault: error.message };
  }
}

async function admit(
  { execute }: Pick<SingleSignOnOptions, 'execute'>,
  { subject, name, standing, fault, shownAgoMs }: Found,
  attempt: string,
  address: string,
) {
  const token = makeToken();
  const account = nameOfPerson('oidc', name);
  const outcome = await execute({
    kind: 'sign_in_person',
    account,
    subject,
    address,
    session: standing === null ? null : { tokenHash: hashToken(token), ...standing },
    reason: fault,
    isBrowser: true,
    attempt: hashToken(attempt),
    shownAgoMs,
  });
  if (outcome.kind === 'refused') throw new RequestError(outcome.code, outcome.message);
  if (standing === null) throw new RequestError('sign_in_refused', fault ?? '');
  return { name: account, token };
}

/** All three are as secret as the attempt, and say nothing about it or about each other. */
function secretsOf(attempt: string): AttemptSecrets {
  const derive = (what: string) =>
    createHash('sha256').update(`berth sign-in ${what}\n${attempt}`).digest('base64url');
  return { state: derive('state'), nonce: derive('nonce'), verifier: derive('verifier') };
}

/** Its date cannot be changed: everything else is derived from it, too. */
function requireOwn(attempt: string | null, now: number): string {
  const begun = /^(\d{1,15})\.[\w-]{43}$/.exec(attempt ?? '')?.[1];
  const ageMs = now - Number(begun ?? Number.NaN);
  if (ageMs >= -CLOCKS_APART_MS && ageMs < ATTEMPT_SECONDS * SECOND_MS) return attempt as string;
  throw new RequestError(
    'sign_in_refused',
    'This sign-in did not begin in this browser, or it took more than 15 minutes. Begin again with the ' +
      'button on the page.',
  );
}

function judge(person: Person, { roles, groupsClaim }: SingleSignOnOptions): Found {
  const { subject, name: own, groups, shownAgoMs = null } = person;
  const name = [own, subject].find(isReadableName);
  if (name === undefined) {
    return { ...NOBODY, fault: 'The provider sent a name that cannot be read. Nobody was signed in.' };
  }
  const standing = roleOfGroups(groups ?? [], roles);
  const found = { subject: recordedId(subject), name, standing, shownAgoMs };
  if (standing !== null) return { ...found, fault: null };
  const fault = groups === null ? sayNoClaim(name, groupsClaim) : sayNoRole(name, groups, 'auth.oidc');
  return { ...found, fault };
}

function sayNoClaim(name: string, claim: string): string {
  return (
    `The provider does not say in which groups ${quote(name)} is: it sends no claim ${quote(claim)}. An ` +
    'administrator can make it do so, or name another claim in the setting "auth.oidc.groupsClaim".'
  );
}

export function unavailable({ message }: ProviderFault): RequestError {
  return new RequestError(
    'sign_in_unavailable',
    `${message} Try again later, or sign in with an account of this server.`,
  );
}

function ignoreFault(error: unknown): null {
  if (error instanceof ProviderFault) return null;
  throw error;
}

/** Nobody has been identified yet, so there is nothing to write down. */
async function reach<T>(asked: Promise<T>): Promise<T> {
  try {
    return await asked;
  } catch (error) {
    throw error instanceof ProviderFault ? unavailable(error) : error;
  }
}
