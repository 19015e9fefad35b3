import { formatTable, paint } from '@berth/shell/console/console-text';
import { LIMITS } from '../../config.ts';
import {
  type ImportedRules,
  importOptions,
  OPTION_FORMATS,
  type OptionFormat,
} from '../../services/rules/import/import-options.ts';
import type { ParsedRules, RuleErrors } from '../../services/rules/parse-rules.ts';
import { openRulesFile, RulesError, readUnproven } from '../../services/rules/rules-file.ts';
import type { AdminAnswer } from '../admin-client.ts';
import { type Command, defineCommand, type LocalContext } from '../command.ts';
import { readBytes } from '../files.ts';
import { InputError } from '../read-secrets.ts';
import { showImported } from '../show-imported.ts';

/** What can be done with the text of rules without a server. */
export const RULE_TEXT_COMMANDS: readonly Command[] = [
  defineCommand({
    words: 'rules check',
    arguments: ['[FILE]'],
    about: 'check a file with rules and what it expects; without FILE, the one in use',
    local: checkRules,
    show: showChecked,
    isFailure: ({ errors, expectations }) => errors.length > 0 || !expectations.every(({ ok }) => ok),
  }),
  defineCommand({
    words: 'rules import',
    arguments: ['FILE'],
    usage: '[--format flexnet|rlm]',
    about: 'make rules of an options file of FlexNet or RLM: rules to standard output, a report beside it',
    local: importRules,
    show: ({ text }) => text.trimEnd(),
    note: showImported,
  }),
];

type Checked = { readonly file: string } & RuleErrors & Omit<ParsedRules, 'rules'>;

async function checkRules({ config, words: [named] }: LocalContext): Promise<AdminAnswer<Checked>> {
  const settings = named === undefined ? config : { ...config, rules: named };
  const file = openRulesFile(settings);
  const parsed = await readUnproven(file, await file.read());
  const body = { file: file.path, errors: [], warnings: [], expectations: [] };
  if (parsed === null) throw new InputError('The rules are kept in the store. Name a FILE to check.');
  if (!(parsed instanceof RulesError)) {
    const { warnings, expectations } = parsed;
    return { ok: true, body: { ...body, warnings, expectations } };
  }
  if (parsed.mistakes.length === 0) return { ok: false, body: { message: parsed.message } };
  return { ok: true, body: { ...body, errors: parsed.mistakes } };
}

function showChecked({ file, errors, warnings, expectations }: Checked): string {
  const failed = expectations.filter(({ ok }) => !ok).length;
  const rows = [
    ...errors.map((one) => [one.line, one.column, paint('red', 'error'), one.message]),
    ...warnings.map((one) => [one.line, one.column, paint('yellow', 'warning'), one.message]),
    ...expectations.map(({ ok, line, column, message }) => [
      line,
      column,
      ok ? paint('green', 'as expected') : paint('red', 'failed'),
      message,
    ]),
  ];
  const table = rows.length === 0 ? '' : `\n${formatTable(['line', 'column', '', ''], rows)}`;
  return `${file} ${judge(errors.length, failed)}${table}`;
}

function judge(errors: number, failed: number): string {
  if (errors > 0) return `is not valid: ${errors === 1 ? '1 error' : `${errors} errors`}.`;
  if (failed > 0)
    return `is not valid: ${failed === 1 ? '1 expectation fails' : `${failed} expectations fail`}.`;
  return 'is valid.';
}

async function importRules({ words: [file = ''], flags }: LocalContext): Promise<AdminAnswer<ImportedRules>> {
  const { format = null } = flags;
  if (format !== null && !OPTION_FORMATS.includes(format as OptionFormat)) {
    throw new InputError(`--format is "${format}"; use ${OPTION_FORMATS.join(' or ')}.`);
  }
  const bytes = readBytes(file);
  if (bytes.length > LIMITS.rulesBytes)
    throw new InputError(`${file} is larger than ${LIMITS.rulesBytes} bytes.`);
  const imported = importOptions(bytes.toString('utf8'), format as OptionFormat | null);
  if ('problem' in imported) return { ok: false, body: { message: `${file}: ${imported.problem}` } };
  return { ok: true, body: imported };
}
