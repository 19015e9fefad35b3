import { ADVICE, RETRYABLE } from './refusals.ts';

interface ErrorFacts {
  /** Whether the same call may succeed later without any change. */
  readonly isRetryable?: boolean;
  readonly cause?: unknown;
}

/** Every error of this package. `code` is stable, `message` says what happened, `advice` what to do. */
export class BerthError extends Error {
  override readonly name: string = 'BerthError';
  readonly code: string;
  readonly advice: string;
  readonly isRetryable: boolean;

  constructor(code: string, message: string, advice = ADVICE[code] ?? '', facts: ErrorFacts = {}) {
    super(message, facts.cause === undefined ? {} : { cause: facts.cause });
    this.code = code;
    this.advice = advice;
    this.isRetryable = facts.isRetryable ?? false;
  }
}

interface AnswerHeaders {
  readonly date?: string | null;
  readonly retryAfter?: string | null;
  readonly applied?: string | null;
}

/** A server has answered, and refused. `code` is one of the server's. */
export class DeniedError extends BerthError {
  override readonly name = 'DeniedError';
  readonly status: number;
  /** The whole answer: some codes have further facts, such as `slots`, `left` or `latest_until`. */
  readonly details: Readonly<Record<string, unknown>>;

  /** How long the server asks clients to wait before they ask again; `null` if it does not say. */
  readonly retryAfterMs: number | null;
  /** Whether the client waited in the server's line. */
  readonly hasWaited: boolean;

  readonly #date: string | null;

  constructor(status: number, details: Readonly<Record<string, unknown>>, headers: AnswerHeaders = {}) {
    const code = String(details.code);
    const message = String(details.message ?? `The server refused with "${code}".`);
    const advice = ADVICE[code] ?? 'See the table of errors in the documentation of the server.';
    super(code, message, advice, { isRetryable: RETRYABLE.has(code) });
    this.status = status;
    this.details = details;
    const { date = null, retryAfter, applied } = headers;
    this.hasWaited = applied === 'wait';
    this.#date = date;
    this.retryAfterMs = /^[1-9]\d{0,5}$/.test(retryAfter ?? '') ? Number(retryAfter) * 1000 : null;
  }

  /** When a slot may become free, by the server's clock; `null` if the server does not say. */
  get nextFreeAt(): Date | null {
    const at = new Date(String(this.details.next_free_at ?? ''));
    return Number.isNaN(at.getTime()) ? null : at;
  }

  /** The time until `nextFreeAt`, whatever the clock of this machine says. */
  get nextFreeInMs(): number | null {
    const restMs = (this.nextFreeAt?.getTime() ?? Number.NaN) - Date.parse(this.#date ?? '');
    return Number.isNaN(restMs) ? null : Math.max(0, restMs);
  }
}

/** A server that gave no answer, and why. */
export interface FailedAttempt {
  readonly server: string;
  readonly reason: string;
  /** Whether the server may have carried out the request all the same. */
  readonly mayHaveArrived: boolean;
}

/** No server has answered. Whether the request was carried out is unknown; repeating it is safe. */
export class UnreachableError extends BerthError {
  override readonly name = 'UnreachableError';
  readonly attempts: readonly FailedAttempt[];

  constructor(attempts: readonly FailedAttempt[], cause: unknown, from?: { advice?: string }, what?: string) {
    const tried = attempts.map(({ server, reason }) => `${server} (${reason})`).join(', ');
    const message = what ?? `No license server answered: ${tried}.`;
    super('unreachable', message, from?.advice, { isRetryable: true, cause });
    this.attempts = attempts;
  }
}

/** The slot is used although it is not held: at the moment, or for good (`slot_released`). */
export class SlotLostError extends BerthError {
  override readonly name = 'SlotLostError';

  constructor(code: 'slot_lost' | 'slot_released', cause?: unknown) {
    const isRetryable = code === 'slot_lost';
    const message = isRetryable ? 'The slot is not held at the moment.' : 'The slot was released.';
    super(code, message, undefined, { isRetryable, cause });
  }
}

interface ProofFacts extends ErrorFacts {
  readonly code?: 'certificate_expired';
  readonly advice?: string | undefined;
}

/** A server cannot prove what it says, or a stored borrow was changed, or made on another computer. */
export class ProofError extends BerthError {
  override readonly name = 'ProofError';
  readonly #reason: string;

  constructor(reason: string, facts: ProofFacts = {}, who = 'The license server') {
    const { code = 'not_proven', advice } = facts;
    super(code, `${who} cannot be trusted. ${reason}`, advice, facts);
    this.#reason = reason;
  }

  /** The error for a stored borrow, which no server was asked about. @internal */
  ofBorrow(advice = ADVICE.borrow_unreadable): ProofError {
    return new ProofError(this.#reason, { cause: this, advice }, 'The stored borrow');
  }
}

/** Borrows or queued counts cannot be read or stored at the moment. */
export class StorageError extends BerthError {
  override readonly name = 'StorageError';

  constructor(cause: unknown) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    const message = `The storage of the client cannot be used: ${reason}.`;
    super('storage_failed', message, undefined, { isRetryable: true, cause });
  }
}

/** A stored borrow cannot be used. */
export class BorrowError extends BerthError {
  override readonly name = 'BorrowError';

  constructor(code: string, message: string, cause?: unknown) {
    super(code, message, undefined, { cause });
  }
}
