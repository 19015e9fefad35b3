import { sayLines } from '../services/rules/import/draft.ts';
import { type ImportedRules, MAKERS } from '../services/rules/import/import-options.ts';

type Line = ImportedRules['report'][number];

/** In the order in which they are counted. */
const VERDICTS = { same: 'same', changed: 'changed', unneeded: 'nothing to do', lost: 'lost' } as const;

const OTHER = { flexnet: 'rlm', rlm: 'flexnet' } as const;

/** What became of every line, and what is left to do. */
export function showImported({ format, report, notes }: ImportedRules): string {
  const parts = [
    `Read as an options file of ${MAKERS[format]}. If that is wrong, add --format ${OTHER[format]}.`,
    ...notes.map((note) => fold('', note)),
    '',
    showRow('line', 'result', 'in the file'),
    ...report.flatMap(showLine),
    '',
    countVerdicts(report),
    ...listTodos(report),
    '',
    ...NEXT,
  ];
  return parts.join('\n');
}

const NEXT = [
  'Save the rules, for example as rules.yaml. Then:',
  '  "berth rules check rules.yaml" finds mistakes.',
  '  "berth rules try rules.yaml" says who would have been refused last month.',
  '  "berth rules apply rules.yaml" puts them in force.',
];

function showRow(line: number | string, result: string, source: string): string {
  return `${String(line).padEnd(4)}  ${result.padEnd(VERDICTS.unneeded.length)}  ${source}`;
}

function showLine({ line, source, verdict, was, now, todo }: Line): readonly string[] {
  return [
    showRow(line, VERDICTS[verdict], source),
    fold('      before: ', was),
    fold('      now:    ', now),
    ...(todo === null ? [] : [fold('      to do:  ', todo)]),
  ];
}

function countVerdicts(report: readonly Line[]): string {
  const counts = Object.entries(VERDICTS).map(
    ([verdict, word]) => `${report.filter((one) => one.verdict === verdict).length} ${word}`,
  );
  return `${report.length === 1 ? '1 line' : `${report.length} lines`}: ${counts.join(', ')}.`;
}

/** The same advice for several lines is given once. */
function listTodos(report: readonly Line[]): readonly string[] {
  const lines = Map.groupBy(
    report.filter(({ todo }) => todo !== null),
    ({ todo }) => todo as string,
  );
  if (lines.size === 0) return ['Nothing is left for you to do.'];
  const items = [...lines].map(([todo, of]) => fold(`  ${sayLines(of.map(({ line }) => line))}: `, todo));
  return ['', 'What is left for you to do:', ...items];
}

/** Narrow enough for most terminals. */
const WIDTH = 100;

/** Breaks a text into lines, each below the beginning of the first. */
function fold(start: string, text: string): string {
  const indent = ' '.repeat(start.length);
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    const isFull = line !== '' && indent.length + line.length + 1 + word.length > WIDTH;
    if (isFull) lines.push(line);
    line = isFull || line === '' ? word : `${line} ${word}`;
  }
  return start + [...lines, line].join(`\n${indent}`);
}
