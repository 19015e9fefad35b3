import { RequestError } from '@berth/protocol/request-error';
import { isPerson } from '../../core/access/person.ts';
import { CONFIRMED_MS } from '../../core/access/token.ts';
import { confirmedKey } from '../../core/nouns/notice-key.ts';
import type { Store } from '../../store/store.ts';
import type { Owner, SecondFactors } from './second-factors.ts';
import type { Holder } from './tokens.ts';

interface Confirmation extends Pick<Owner, 'address' | 'signal'> {
  /** Who has signed in. */
  readonly holder: Holder;
  /** What they are about to do. */
  readonly operation: string;
  readonly password: string | undefined;
  readonly code: string | undefined;
}

/** Throws unless somebody who has signed in shows again who they are: a stolen session cannot. */
export type Confirm = (confirmation: Confirmation) => Promise<void>;

/** `requirePassword` returns the hash that the password matches, and throws if it is wrong. */
export function createConfirm(
  store: Store,
  { useCode }: Pick<SecondFactors, 'useCode'>,
  requirePassword: (owner: Owner, wrong?: string, confirms?: string) => Promise<string>,
): Confirm {
  return async ({ holder: { account, kind, tokenHash }, operation: confirms, password, code, ...from }) => {
    if (kind === 'api' || account === null) throw new RequestError('forbidden', NO_TOKENS);
    if (isPerson(account)) return requireRecent(store, tokenHash);
    if (password === undefined) throw new RequestError('confirmation_required', NO_PASSWORD);
    const checkedHash = await requirePassword({ account, password, ...from }, WRONG, confirms);
    const wish = { account, address: from.address, tokenHash: null, checkedHash, confirms } as const;
    const outcome = await useCode(account, code ?? null, (sent) =>
      store.execute({ kind: 'sign_in', ...wish, code: sent }),
    );
    if (outcome.kind === 'refused') throw new RequestError(outcome.code, outcome.message);
    // It was replaced a moment ago.
    if (outcome.kind !== 'done' || outcome.count === 0) throw new RequestError('invalid_credentials', WRONG);
  };
}

/** People of a provider or a directory show it there, by signing in. */
async function requireRecent(store: Store, tokenHash: string): Promise<void> {
  const shownAt = await store.read({ kind: 'find_notice', key: confirmedKey(tokenHash) });
  const { now } = await store.keepClock();
  if (shownAt === null || now - shownAt >= CONFIRMED_MS)
    throw new RequestError('confirmation_required', SIGN_IN_AGAIN);
}

const WRONG = 'The password is wrong. Nothing was done.';
const NO_TOKENS =
  'An API token cannot do this, because somebody has to confirm it with a password. Sign in to an account, ' +
  "or use the command line on the server's machine.";
const NO_PASSWORD =
  'Confirm that it is you: send the password of your account as "own_password" and, if it has a second ' +
  'factor, the code as "code".';
const SIGN_IN_AGAIN =
  'Confirm that it is you: sign in again, and repeat this within five minutes. A provider has to ask who ' +
  'you are ("anew"), and to say when it did (claim "auth_time").';
