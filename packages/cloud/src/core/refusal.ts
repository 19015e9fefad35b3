import type { ErrorCode } from '@berth/protocol/errors';

/** A refusal is a result, not a failure: it is returned, never thrown. */
export interface Refusal {
  readonly kind: 'refused';
  readonly code: ErrorCode;
  /** What happened and what to do, as a sentence. */
  readonly message: string;
  /** Facts for the caller, with their API names. */
  readonly details: Readonly<Record<string, number | string | null>>;
}

export function refuse(code: ErrorCode, message: string, details: Refusal['details'] = {}): Refusal {
  return { kind: 'refused', code, message, details };
}

export function isRefusal(value: unknown): value is Refusal {
  return typeof value === 'object' && value !== null && 'kind' in value && value.kind === 'refused';
}
