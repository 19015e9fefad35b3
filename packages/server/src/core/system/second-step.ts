import { type SecondFactor, type SentCode, spendCode } from '../access/second-factor.ts';
import type { SystemChange } from '../decision.ts';
import type { Actor } from '../nouns/actor.ts';
import type { SystemEvent } from '../nouns/audit-event.ts';
import { type Refused, refuse } from '../outcome.ts';

/** What is asked of somebody who knows the password. */
interface SecondStep {
  readonly refused: Refused | null;
  readonly changes: readonly SystemChange[];
  readonly events: readonly SystemEvent[];
  /** How many recovery codes are left, if one was used. */
  readonly codesLeft?: number;
}

/** `code`: `null` if none was sent. */
export function takeSecondStep(
  name: string,
  factor: SecondFactor | null,
  code: SentCode | null,
  by: Actor,
): SecondStep {
  if (factor === null) return { refused: null, changes: [], events: [] };
  if (code === null) {
    const events = [{ kind: 'second_factor_asked', account: name, by } as const];
    return { refused: refuse('second_factor_required', ASK), changes: [], events };
  }
  const left = spendCode(factor, code);
  if (left === null) {
    const message = 'The code is wrong or was used before. Wait for the next one, or use a recovery code.';
    return {
      refused: refuse('second_factor_required', message),
      changes: [],
      events: [codeFailed(name, by)],
    };
  }
  const used = code.kind === 'recovery' ? { codesLeft: left.recoveryCodes.length } : {};
  return {
    refused: null,
    changes: [{ kind: 'put_second_factor', name, secondFactor: left }],
    events: [],
    ...used,
  };
}

const ASK =
  'This account has a second factor. Send the name and the password again, together with the code of the ' +
  'authenticator app or a recovery code: in the header "X-Berth-Code" to /auth, or as "code" in the body.';

export function codeFailed(account: string, by: Actor): SystemEvent {
  const reason = 'The password was right, but the code was wrong or was used before.';
  return { kind: 'sign_in_failed', account, reason, by };
}
