import { suggest } from '@berth/protocol/suggest';
import { refuseName } from '../refuse-entry.ts';
import { Draft } from './draft.ts';
import { FLEXNET_FORMS } from './flexnet.ts';
import { dropped, type Form, type ReportedLine } from './forms.ts';
import { type OptionLine, readOptionLines } from './option-lines.ts';
import { RLM_FORMS } from './rlm.ts';

/** Options files that can be read. */
export const OPTION_FORMATS = ['flexnet', 'rlm'] as const;

export type OptionFormat = (typeof OPTION_FORMATS)[number];

export interface ImportedRules {
  readonly format: OptionFormat;
  /** Rules, as YAML. */
  readonly text: string;
  /** Every line that is no comment. */
  readonly report: readonly ReportedLine[];
}

const FORMS: Readonly<Record<OptionFormat, Readonly<Record<string, Form>>>> = {
  flexnet: FLEXNET_FORMS,
  rlm: RLM_FORMS,
};

const MAKER: Readonly<Record<OptionFormat, string>> = { flexnet: 'FlexNet', rlm: 'RLM' };

const NAMES: Readonly<Record<OptionFormat, string>> = {
  flexnet: 'What it calls features are products here. Use the names\n that "berth license list" shows.',
  rlm: 'Use the names of products\n that "berth license list" shows.',
};

/** Makes rules of an options file of FlexNet or RLM. */
export function importOptions(text: string, given: OptionFormat | null = null): ImportedRules {
  const lines = readOptionLines(text);
  const format = given ?? recognize(lines);
  const draft = new Draft();
  const report = [...lines]
    .sort((a, b) => turnOf(a) - turnOf(b))
    .map((line) => ({ line: line.line, source: line.source, ...read(draft, FORMS[format], line) }))
    .sort((a, b) => a.line - b.line);
  const comment = ` From an options file of ${MAKER[format]}. ${NAMES[format]}`;
  return { format, text: draft.toYaml(comment), report };
}

/** Groups first, because others refer to them; last what is for all products, when these are known. */
function turnOf({ words: [keyword = ''] }: OptionLine): number {
  if (/GROUP$/i.test(keyword)) return 0;
  return /^INCLUDEALL/i.test(keyword) ? 2 : 1;
}

function read(draft: Draft, forms: Readonly<Record<string, Form>>, line: OptionLine) {
  const problem = line.words.map(refuseName).find((one) => one !== null);
  if (problem != null) return dropped(`A word of it ${problem}.`);
  const keyword = (line.words[0] as string).toUpperCase();
  const form = Object.hasOwn(forms, keyword) ? forms[keyword] : undefined;
  if (form !== undefined) return form(draft, line);
  return dropped(`"${line.words[0]}" is unknown.${suggest(keyword, Object.keys(forms))}`);
}

/** Keywords that only one of them has decide; then types, which RLM's manual writes in small letters. */
function recognize(lines: readonly OptionLine[]): OptionFormat {
  const count = (format: OptionFormat) =>
    lines.filter(({ words: [keyword = ''] }) => Object.hasOwn(FORMS[format], keyword.toUpperCase())).length;
  if (count('rlm') !== count('flexnet')) return count('rlm') > count('flexnet') ? 'rlm' : 'flexnet';
  const small = lines.filter(({ words }) =>
    words.some((word) => /^(user|host|group|host_group)$/.test(word)),
  );
  return small.length > lines.length / 2 ? 'rlm' : 'flexnet';
}
