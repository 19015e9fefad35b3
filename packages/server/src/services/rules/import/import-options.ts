import { suggest } from '@berth/protocol/suggest';
import { parseRules } from '../parse-rules.ts';
import { refuseName } from '../refuse-entry.ts';
import { Draft } from './draft.ts';
import { FLEXNET_KEYWORDS } from './flexnet.ts';
import { type OptionLine, readOptionLines } from './option-lines.ts';
import { type Keyword, lost, type Pending, type ReportedLine, settle } from './outcome.ts';
import { RLM_KEYWORDS } from './rlm.ts';

/** Options files that can be read. */
export const OPTION_FORMATS = ['flexnet', 'rlm'] as const;

export type OptionFormat = (typeof OPTION_FORMATS)[number];

export interface ImportedRules {
  readonly format: OptionFormat;
  /** Rules, as YAML. */
  readonly text: string;
  /** Every line that is no comment. */
  readonly report: readonly ReportedLine[];
  /** What is to be known about several lines, or about the rules as a whole. */
  readonly notes: readonly string[];
}

type Keywords = Readonly<Record<string, Keyword>>;

const KEYWORDS: Readonly<Record<OptionFormat, Keywords>> = { flexnet: FLEXNET_KEYWORDS, rlm: RLM_KEYWORDS };

export const MAKERS: Readonly<Record<OptionFormat, string>> = { flexnet: 'FlexNet', rlm: 'RLM' };

const NAMES: Readonly<Record<OptionFormat, string>> = {
  flexnet: 'What FlexNet calls a feature is a product here. Use the names that "berth license list" shows.',
  rlm: 'Use the names of products that "berth license list" shows.',
};

/** Makes rules of an options file of FlexNet or RLM. */
export function importOptions(
  text: string,
  given: OptionFormat | null = null,
): ImportedRules | { readonly problem: string } {
  const lines = readOptionLines(text);
  const format = given ?? recognize(lines);
  const problem = refuseFile(lines, format);
  if (problem !== null) return { problem };
  // RLM ignores case in all names. With FlexNet it matters in names of groups.
  const draft = new Draft(format === 'rlm');
  const report = [...lines]
    .sort((a, b) => turnOf(a) - turnOf(b))
    .map((line) => readLine(draft, format, line))
    .map(({ pending, ...line }) => ({ ...line, ...settle(pending) }))
    .sort((a, b) => a.line - b.line);
  const { yaml, isEmpty } = draft.toYaml();
  const notes = listNotes(format, report, isEmpty);
  const rules = [comment(writeHeader(format, isEmpty)), yaml, comment(listLeft(report))].join('\n').trimEnd();
  const parsed = parseRules(rules);
  if ('errors' in parsed)
    return { problem: `No rules were made: they would not be valid. ${parsed.errors[0]?.message}` };
  const warnings = parsed.warnings.map(({ message }) => `"rules check" warns: ${message}`);
  return { format, text: `${rules}\n`, report, notes: [...notes, ...warnings] };
}

/** Rules of a file that is none would lift the rules in force. */
function refuseFile(lines: readonly OptionLine[], format: OptionFormat): string | null {
  if (lines.length === 0) return 'It has no options: it is empty, or has only comments. No rules were made.';
  const unknown = lines.filter(({ words: [word = ''] }) => findKeyword(format, word) === undefined);
  if (unknown.length * 2 <= lines.length) return null;
  return (
    `It does not look like an options file of FlexNet or RLM: ${unknown.length} of ${lines.length} lines ` +
    `begin with a word that is no option, first line ${unknown[0]?.line}. No rules were made.`
  );
}

/** Groups first, because others refer to them; last what is for all products, when these are known. */
function turnOf({ words: [keyword = ''] }: OptionLine): number {
  if (/GROUP$/i.test(keyword)) return 0;
  return /^INCLUDEALL/i.test(keyword) ? 2 : 1;
}

function findKeyword(format: OptionFormat, word: string): Keyword | undefined {
  const name = word.toUpperCase();
  return Object.hasOwn(KEYWORDS[format], name) ? KEYWORDS[format][name] : undefined;
}

function readLine(
  draft: Draft,
  format: OptionFormat,
  { line, source, words: [word = '', ...words] }: OptionLine,
): Pick<ReportedLine, 'line' | 'source' | 'was'> & { readonly pending: Pending } {
  draft.line = line;
  const keyword = findKeyword(format, word);
  if (keyword === undefined) {
    const similar = suggest(word.toUpperCase(), Object.keys(KEYWORDS[format]));
    const pending = lost(
      'It was ignored: nothing was made of it.',
      `Find out whether it decided who gets licenses, and write a rule for it.${similar}`,
    );
    return { line, source, was: `Unknown: "${word}" is no option of ${MAKERS[format]}.`, pending };
  }
  return {
    line,
    source: keyword.isSecret === true ? `${word} …` : source,
    was: keyword.was,
    pending: refuseLine(draft, words) ?? keyword.read(draft, words),
  };
}

function refuseLine(draft: Draft, words: readonly string[]): Pending | null {
  if (draft.isFull)
    return lost(
      'The rules have too many groups or products already, so it was ignored.',
      'Join lines of the file.',
    );
  const problem = words.map(refuseWord).find((one) => one !== null);
  return problem == null
    ? null
    : lost(`A word of it ${problem}, so it was ignored.`, 'Write the rule by hand.');
}

/** A file with another encoding has U+FFFD for letters that are not ASCII. */
function refuseWord(word: string): string | null {
  return word.includes('\ufffd') || !word.isWellFormed() ? 'is not valid UTF-8' : refuseName(word);
}

const LIFTS = 'No line became a rule. Applying this text lifts all rules that are in force.';

function writeHeader(format: OptionFormat, isEmpty: boolean): readonly string[] {
  const from = `From an options file of ${MAKERS[format]}. Comments name the lines that rules come from.`;
  return [from, NAMES[format], ...(isEmpty ? [LIFTS] : [])];
}

/** The report is not in the file, so that what is left to do would be forgotten. */
function listLeft(report: readonly ReportedLine[]): readonly string[] {
  const left = report.flatMap(({ line, source, todo }) =>
    todo === null ? [] : [`line ${line}: ${source.slice(0, LONGEST_SOURCE)}`, `  ${todo}`],
  );
  return left.length === 0 ? [] : ['Left to do by hand:', ...left.slice(0, MOST_LEFT)];
}

/** The text is limited, and the report has all of it. */
const [LONGEST_SOURCE, MOST_LEFT] = [200, 1000];

function comment(lines: readonly string[]): string {
  return lines
    .map((line) => `# ${line.toWellFormed().replace(/[\p{Cc}\u2028\u2029\ufffd]/gu, '?')}\n`)
    .join('');
}

function listNotes(
  format: OptionFormat,
  report: readonly ReportedLine[],
  isEmpty: boolean,
): readonly string[] {
  const hasReserved = report.some(
    ({ source, verdict }) => /^reserve\b/i.test(source) && (verdict === 'same' || verdict === 'changed'),
  );
  return [
    `A slot is what ${MAKERS[format]} calls a license: it lets one user run a product.`,
    NAMES[format],
    'Case does not matter in names of users and hosts. It does in names of groups and products.',
    ...(isEmpty ? [LIFTS] : []),
    ...(hasReserved
      ? ['Each slot that a member of a group already uses counts as one of those kept for the group.']
      : []),
  ];
}

/** Keywords that only one of them has decide; then types, which RLM's manual writes in small letters. */
function recognize(lines: readonly OptionLine[]): OptionFormat {
  const count = (format: OptionFormat) =>
    lines.filter(({ words: [keyword = ''] }) => findKeyword(format, keyword) !== undefined).length;
  if (count('rlm') !== count('flexnet')) return count('rlm') > count('flexnet') ? 'rlm' : 'flexnet';
  const small = lines.filter(({ words }) =>
    words.some((word) => /^(user|host|group|host_group)$/.test(word)),
  );
  return small.length > lines.length / 2 ? 'rlm' : 'flexnet';
}
