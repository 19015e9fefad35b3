import { RequestError } from '@berth/protocol/request-error';
import type { SentCode } from '../../core/access/second-factor.ts';
import type { Actor } from '../../core/nouns/actor.ts';
import type { Clock } from '../../store/clock.ts';
import type { Executed, Store } from '../../store/store.ts';
import {
  addressOfSecret,
  findStep,
  hashRecoveryCode,
  isSecret,
  makeRecoveryCodes,
  makeSecret,
  normalizeCode,
} from './one-time-code.ts';
import { createSignInThrottle } from './sign-in-throttle.ts';
import type { Tokens } from './tokens.ts';

interface SecondFactorsOptions extends Pick<Clock, 'readWall' | 'readMonotonicMs'> {
  readonly execute: Tokens['execute'];
  /** Returns the hash that the password matches; throws if it is wrong. */
  readonly requirePassword: (owner: Owner) => Promise<string>;
}

/** Somebody who changes the second factor of their own account. */
export interface Owner {
  readonly account: string;
  readonly password: string;
  readonly address: string;
  readonly signal?: AbortSignal;
}

interface Confirmation extends Owner {
  /** From `offer`. */
  readonly secret: string;
  readonly code: string;
  /** The caller's token, which stays valid. */
  readonly keptToken: string | null;
}

export interface SecondFactors {
  /**
   * A secret for an authenticator app. Nothing is stored until its owner has confirmed it, so any server of a
   * database can take the confirmation. `issuer`: what the app calls the server.
   */
  offer(account: string, issuer: string): { readonly secret: string; readonly url: string };
  /** Returns the recovery codes, only here. */
  confirm(confirmation: Confirmation, by: Actor): Promise<readonly string[]>;
  remove(owner: Owner & { readonly code: string }, by: Actor): Promise<Executed>;
  /** For somebody who has lost the device. */
  reset(account: string, by: Actor): Promise<Executed>;
  /** Throws if too many codes of the account were wrong. `null`: none was sent. */
  useCode(
    account: string,
    code: string | null,
    use: (sent: SentCode | null) => Promise<Executed>,
  ): Promise<Executed>;
}

export function createSecondFactors(store: Store, options: SecondFactorsOptions): SecondFactors {
  const { readWall, readMonotonicMs, execute, requirePassword } = options;
  // Whoever gets this far knows the password, so all addresses count as one: a million codes are soon guessed
  // from many addresses, and nobody else can make the owner wait.
  const throttle = createSignInThrottle(readMonotonicMs);

  const read = async (account: string, code: string): Promise<SentCode> => {
    const typed = normalizeCode(code);
    if (!/^\d{6}$/.test(typed)) return { kind: 'recovery', hash: hashRecoveryCode(account, typed) };
    const secret = await store.read({ kind: 'find_second_factor', account });
    const step = secret === null ? null : findStep(secret, typed, readWall());
    return step === null ? { kind: 'wrong' } : { kind: 'step', step };
  };

  async function spend(account: string, code: string, use: (sent: SentCode) => Promise<Executed>) {
    const attempt = throttle.begin(account, account);
    let isRight: boolean | 'unknown' = 'unknown';
    try {
      const outcome = await use(await read(account, code));
      if (outcome.kind === 'refused') isRight = false;
      else if (outcome.kind === 'done' && outcome.count === 1) isRight = true;
      return outcome;
    } finally {
      attempt.end(isRight);
    }
  }

  return {
    offer(account, issuer) {
      const secret = makeSecret();
      return { secret, url: addressOfSecret(secret, account, issuer) };
    },
    async confirm({ secret, code, keptToken, ...owner }, by) {
      const usedStep = isSecret(secret) ? findStep(secret, normalizeCode(code), readWall()) : null;
      if (usedStep === null) throw wrongCode();
      const { account } = owner;
      const codes = makeRecoveryCodes();
      const recoveryCodes = codes.map((recovery) => hashRecoveryCode(account, recovery));
      const checkedHash = await requirePassword(owner);
      const factor = { account, secret, usedStep, recoveryCodes };
      const outcome = await execute({ kind: 'set_second_factor', ...factor, checkedHash, keptToken, by });
      if (outcome.kind === 'refused') throw new RequestError(outcome.code, outcome.message);
      return codes;
    },
    async remove({ code, ...owner }, by) {
      const { account } = owner;
      const checkedHash = await requirePassword(owner);
      return spend(account, code, (sent) =>
        execute({ kind: 'remove_second_factor', account, proof: { checkedHash, code: sent }, by }),
      );
    },
    reset: (account, by) => execute({ kind: 'remove_second_factor', account, proof: null, by }),
    useCode: (account, code, use) => (code === null ? use(null) : spend(account, code, use)),
  };
}

function wrongCode(): RequestError {
  const message =
    'The code is not one of this secret. Check that the clocks of the device and of the server are right.';
  return new RequestError('validation_error', message, { field: 'code' });
}
