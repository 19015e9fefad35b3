import { RequestError } from '@berth/protocol/request-error';
import { listDirectoryGroups, withMembers } from '../../core/rules/directory-groups.ts';
import type { ProductFacts } from '../../core/rules/warnings.ts';
import type { Store } from '../../store/store.ts';
import { importOptions, type OptionFormat } from './import/import-options.ts';
import { type ParsedRules, parseRules, type RuleErrors, refuseErrors } from './parse-rules.ts';
import { tryRules } from './try-rules.ts';

/** What a task reads while it runs. */
export interface TaskHost extends Pick<Store, 'read' | 'keepClock'> {
  /** With the members of each of these groups of the directory. */
  findMembers(dns: readonly string[]): Promise<readonly (readonly [string, readonly string[]])[]>;
}

interface Parse {
  readonly text: string;
  /** Those of the server; `null`: they are not known. */
  readonly products: readonly ProductFacts[] | null;
  readonly hasDirectory: boolean;
}

type Try = Omit<Parse, 'products'> & { readonly since: string | undefined };

/**
 * What takes as long as those who send a text want it to: it runs beside the thread that answers requests.
 * What goes in and comes out crosses between threads.
 */
export const RULE_TASKS = {
  parse: async ({ text, products, hasDirectory }: Parse) => parseRules(text, products, hasDirectory),
  import: async ({ text, format }: { text: string; format: OptionFormat | null }) =>
    importOptions(text, format),
  async try({ text, since, hasDirectory }: Try, host: TaskHost, signal: AbortSignal) {
    const parsed = parseRules(text, null, hasDirectory);
    if ('errors' in parsed) throw refuseErrors(parsed);
    const dns = listDirectoryGroups(parsed.rules);
    const members = dns.length === 0 ? [] : await host.findMembers(dns);
    return tryRules(host, { rules: withMembers(parsed.rules, new Map(members)), since, signal });
  },
} as const;

export type TaskName = keyof typeof RULE_TASKS;

type Given<K extends TaskName> = Parameters<(typeof RULE_TASKS)[K]>[0];
type Result<K extends TaskName> = Awaited<ReturnType<(typeof RULE_TASKS)[K]>>;

/** Does a task. Throws `rules_not_valid` if it takes too long, or too much memory. */
export type RunTask = <K extends TaskName>(
  name: K,
  given: Given<K>,
  host: TaskHost | null,
  signal: AbortSignal,
) => Promise<Result<K>>;

/** In this thread, without limits: for commands with data of a stopped server, who wait for nothing else. */
export const runTaskHere: RunTask = (name, given, host, signal) =>
  RULE_TASKS[name](given as never, host as TaskHost, signal) as ReturnType<typeof RULE_TASKS.try> &
    Promise<never>;

/** Reads the text of rules, for whoever runs tasks. What took too long has an error like any other. */
export async function parseBy(
  run: RunTask,
  given: Parse,
  signal = new AbortController().signal,
): Promise<ParsedRules | RuleErrors> {
  try {
    return await run('parse', given, null, signal);
  } catch (error) {
    if (!(error instanceof RequestError) || error.code !== 'rules_not_valid') throw error;
    return { errors: [{ line: 1, column: 1, message: error.message }] };
  }
}
