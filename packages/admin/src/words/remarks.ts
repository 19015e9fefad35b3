import type { PostAnswer } from '@berth/protocol/admin/admin-api';
import { plural } from './time.ts';

type Findings = PostAnswer<'/api/admin/rules/check'>;

/** Something about a line of the rules. */
export interface Remark {
  readonly level: 'critical' | 'warning';
  readonly line: number | null;
  readonly column: number | null;
  readonly message: string;
}

/** Errors and examples that do not hold, which keep the text from being applied; then warnings. */
export function listRemarks({ errors, warnings, expectations }: Findings): readonly Remark[] {
  const wrong = expectations.filter(({ ok }) => !ok);
  const remarkOn =
    (level: Remark['level']) =>
    ({ line, column, message }: (typeof errors)[number]) => ({ level, line, column, message });
  return [...[...errors, ...wrong].map(remarkOn('critical')), ...warnings.map(remarkOn('warning'))];
}

/** Whether the examples of the text hold; empty: it has none. */
export function sayExamples({ expectations }: Findings): string {
  const [all, held] = [expectations.length, expectations.filter(({ ok }) => ok).length];
  if (all === 0) return '';
  if (held === all) return all === 1 ? 'The example holds' : `All ${all} examples hold`;
  return all === 1 ? 'The example does not hold' : `${held} of ${plural(all, 'example')} hold`;
}
