import type { Change } from './mutators.ts';

const SQL = /\b(?:SELECT|UPDATE|INSERT INTO|DELETE FROM|WHERE|ORDER BY|JOIN|AND|OR)\b/;

/** Words and signs of SQL with what they are mistaken for. */
const MISTAKES: readonly [RegExp, string][] = [
  [/ < /g, ' <= '],
  [/ <= /g, ' < '],
  [/ > /g, ' >= '],
  [/ >= /g, ' > '],
  [/ <> /g, ' = '],
  [/(?<=\b(?:WHERE|AND|OR)\b[^,;]*) = /g, ' <> '],
  [/ \+ /g, ' - '],
  [/ - /g, ' + '],
  [/\bAND\b(?! \d)/g, 'OR'],
  [/\bOR\b/g, 'AND'],
  [/\bMAX\(/gi, 'MIN('],
  [/\bMIN\(/gi, 'MAX('],
  [/\bIS NOT NULL\b/g, 'IS NULL'],
  [/\bIS NULL\b/g, 'IS NOT NULL'],
  [/ DESC\b/g, ''],
  [/\bLEFT JOIN\b/g, 'JOIN'],
];

const PLACEHOLDER = /\$\{[^}]*\}/g;

/** The mutants of a statement of SQL, or of a part of one. Offsets are those in the literal. */
export function listSqlChanges(literal: string): Change[] {
  if (!SQL.test(literal)) return [];
  const text = literal.replace(PLACEHOLDER, (placeholder) => '_'.repeat(placeholder.length));
  return MISTAKES.flatMap(([pattern, other]) => {
    return [...text.matchAll(pattern)].map(({ 0: found, index }) => {
      return { start: index, end: index + found.length, text: other };
    });
  });
}
