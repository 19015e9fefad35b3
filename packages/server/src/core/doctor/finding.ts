import type { CHECKS, SEVERITIES } from '@berth/protocol/admin/choices';

export type Check = (typeof CHECKS)[number];

/** What an examination has found. */
export interface Finding {
  readonly check: Check;
  readonly severity: (typeof SEVERITIES)[number];
  /** What was found. */
  readonly text: string;
  /** What to do about it; `null` if all is well. */
  readonly advice: string | null;
}

/** What a judge says; `check` is added by whoever asked. */
export type Verdict = Omit<Finding, 'check'>;

export function warn(text: string, advice: string): Verdict {
  return { severity: 'warning', text, advice };
}

export function complain(text: string, advice: string): Verdict {
  return { severity: 'problem', text, advice };
}

/** What is wrong, or else that all is well. */
export function orWell(found: readonly (Verdict | null)[], text: string): readonly Verdict[] {
  const wrong = found.filter((verdict) => verdict !== null);
  return wrong.length > 0 ? wrong : [{ severity: 'ok', text, advice: null }];
}

/** A sentence of ours says what is wrong, and the next ones what to do. */
export function splitAdvice(message: string): { readonly text: string; readonly advice: string | null } {
  const end = message.indexOf('. ');
  if (end === -1) return { text: message, advice: null };
  return { text: message.slice(0, end + 1), advice: message.slice(end + 2) };
}
