import { RequestError } from '@berth/protocol/request-error';
import { listDirectoryGroups, withMembers } from '../../core/rules/directory-groups.ts';
import type { ProductFacts } from '../../core/rules/warnings.ts';
import type { RunTask, Task } from '../tasks/task.ts';
import { importOptions, type OptionFormat } from './import/import-options.ts';
import { type ParsedRules, parseRules, type RuleErrors, refuseErrors } from './parse-rules.ts';
import { type LogReader, tryRules } from './try-rules.ts';

interface Parse {
  readonly text: string;
  /** Those of the server; `null`: they are not known. */
  readonly products: readonly ProductFacts[] | null;
  readonly hasDirectory: boolean;
}

/** The worst text that is not refused at once takes a few seconds of a core, and 200 MB. */
const SECONDS = 120;

const refusal = 'rules_not_valid';

export const PARSE_RULES: Task<Parse, ParsedRules | RuleErrors> = {
  name: 'parse rules',
  seconds: SECONDS,
  refusal,
  advice: 'Write fewer names, groups or expectations.',
  do: async ({ text, products, hasDirectory }) => parseRules(text, products, hasDirectory),
};

interface Import {
  readonly text: string;
  readonly format: OptionFormat | null;
}

export const IMPORT_RULES: Task<Import, ReturnType<typeof importOptions>> = {
  name: 'import rules',
  seconds: SECONDS,
  refusal,
  advice: 'Split the file.',
  do: async ({ text, format }) => importOptions(text, format),
};

interface Try extends Omit<Parse, 'products'> {
  readonly since: string | undefined;
}

interface TrialHost extends LogReader {
  /** With the members of each of these groups of the directory. */
  findMembers(dns: readonly string[]): Promise<readonly (readonly [string, readonly string[]])[]>;
}

export const TRY_RULES: Task<Try, Awaited<ReturnType<typeof tryRules>>, TrialHost> = {
  name: 'try rules',
  // A month of a busy server has millions of events.
  seconds: 900,
  refusal,
  advice: 'Try the rules on fewer days, with "since".',
  async do({ text, since, hasDirectory }, host, signal) {
    const parsed = parseRules(text, null, hasDirectory);
    if ('errors' in parsed) throw refuseErrors(parsed);
    const dns = listDirectoryGroups(parsed.rules);
    const members = dns.length === 0 ? [] : await host.findMembers(dns);
    return tryRules(host, { rules: withMembers(parsed.rules, new Map(members)), since, signal });
  },
};

/** Reads the text of rules, for whoever runs tasks. What took too long has an error like any other. */
export async function parseBy(
  run: RunTask,
  given: Parse,
  signal = new AbortController().signal,
): Promise<ParsedRules | RuleErrors> {
  try {
    return await run(PARSE_RULES, given, null, signal);
  } catch (error) {
    if (!(error instanceof RequestError) || error.code !== refusal) throw error;
    return { errors: [{ line: 1, column: 1, message: error.message }] };
  }
}
