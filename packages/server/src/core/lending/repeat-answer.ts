import type { AddConsumption, IdempotencyKey } from '../command.ts';
import { HOUR_MS, type Instant } from '../nouns/instant.ts';
import { type Measured, type Refused, refuse } from '../outcome.ts';
import type { AnswerScope, RememberedAnswer } from '../view.ts';
import { NO_USER } from './deny.ts';

/** How long a repeated request with the same key gets the first answer. */
export const ANSWER_LIFETIME_MS = 24 * HOUR_MS;

/** At most this many answers are remembered; then the oldest go. */
export const MAX_REMEMBERED_ANSWERS = 1_000_000;

/**
 * Where the key of a request is valid. The user's spelling counts: a retry is spelled like the first request,
 * even if the store has begun or stopped to ignore case meanwhile.
 */
export function answerScope(command: AddConsumption): AnswerScope | null {
  const { idempotency, feature, user, spelling } = command;
  if (idempotency === null) return null;
  const operation = feature === null ? 'add_consumption' : 'add_feature_consumption';
  return { operation, user: spelling ?? user ?? NO_USER, key: idempotency.key };
}

export function isRemembered({ answeredAt }: RememberedAnswer, now: Instant): boolean {
  return now < answeredAt + ANSWER_LIFETIME_MS;
}

/** The first answer again, a refusal for another request under the same key, or `null` for a new key. */
export function repeatAnswer(
  idempotency: IdempotencyKey | null,
  rememberedAnswer: RememberedAnswer | null,
  now: Instant,
): Measured | Refused | null {
  if (idempotency === null || rememberedAnswer === null) return null;
  if (!isRemembered(rememberedAnswer, now)) return null;
  if (isSameBody(rememberedAnswer.bodyHash, idempotency.bodyHash)) return rememberedAnswer.outcome;
  return refuse(
    'idempotency_key_reused',
    'This Idempotency-Key was sent before with another body. Use a new key for every request.',
  );
}

/**
 * Hashes of different versions cannot be compared. Then the key decides, so that a retry across an upgrade
 * gets its answer.
 */
function isSameBody(first: string, second: string): boolean {
  return first === second || versionOf(first) !== versionOf(second);
}

/** Such as `1:`. */
function versionOf(bodyHash: string): string {
  return bodyHash.slice(0, bodyHash.indexOf(':') + 1);
}
