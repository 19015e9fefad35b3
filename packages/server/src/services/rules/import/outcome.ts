import type { Draft } from './draft.ts';

/** What became of a line of an options file. */
export interface ReportedLine extends Outcome {
  readonly line: number;
  readonly source: string;
  /** What its keyword did. */
  readonly was: string;
}

export interface Outcome {
  readonly verdict: Verdict;
  /** What Berth does now, and who gains or loses by it. */
  readonly now: string;
  /** What is left to do by hand. */
  readonly todo: string | null;
}

/** `lost`: it decided something that the rules do not. Then there is always something to do. */
type Verdict = 'same' | 'changed' | 'unneeded' | 'lost';

/** Some can be told only when the whole file has been read. */
export type Pending = Outcome | (() => Outcome);

/** Reads the words after the keyword into the draft. */
export type Form = (draft: Draft, words: readonly string[]) => Pending;

export interface Keyword {
  readonly was: string;
  /** Its words are not repeated. */
  readonly isSecret?: boolean;
  readonly read: Form;
}

export const same = (now: string): Outcome => ({ verdict: 'same', now, todo: null });
export const changed = (now: string, todo: string | null = null): Outcome => ({
  verdict: 'changed',
  now,
  todo,
});
export const unneeded = (now: string): Outcome => ({ verdict: 'unneeded', now, todo: null });
export const lost = (now: string, todo: string): Outcome => ({ verdict: 'lost', now, todo });

export function settle(pending: Pending): Outcome {
  return typeof pending === 'function' ? pending() : pending;
}

/** A keyword from which no rule is made, and of which nothing is missed. */
export function setting(was: string, now: string): Keyword {
  return { was, read: () => unneeded(now) };
}

/** Says more about a line that became a rule. */
export function remark(outcome: Outcome, now: string, todo: string): Outcome {
  const before = outcome.todo === null ? '' : `${outcome.todo} `;
  return changed(`${outcome.now}${now}`, `${before}${todo}`);
}
