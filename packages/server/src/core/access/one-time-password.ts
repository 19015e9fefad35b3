import type { ErrorCode } from '@berth/protocol/errors';
import { DAY_MS, type Instant, plus } from '../nouns/instant.ts';
import { type Refused, refuse } from '../outcome.ts';

/** A password that the server made up. It signs in once; then it can only be replaced, within a week. */
export interface OneTimePassword {
  readonly madeAt: Instant;
  /** The password was used for a sign-in. */
  readonly isUsed: boolean;
}

const ONE_TIME_DAYS = 7;

export function oneTimeUntil({ madeAt }: OneTimePassword): Instant {
  return plus(madeAt, ONE_TIME_DAYS * DAY_MS);
}

/** Only for callers who know the password. */
export function refuseIfOver(
  code: ErrorCode,
  account: string,
  oneTime: OneTimePassword | null,
  now: Instant,
): Refused | null {
  if (oneTime === null || now < oneTimeUntil(oneTime)) return null;
  return refuse(
    code,
    `This one-time password is older than ${ONE_TIME_DAYS} days. On the server's machine, ` +
      `"berth user password ${account} --one-time" creates another.`,
  );
}
