import { quote } from '@berth/protocol/quote';
import { RequestError } from '@berth/protocol/request-error';
import { type Instant, MINUTE_MS } from '../../core/nouns/instant.ts';
import {
  type GroupAge,
  type GroupAnswer,
  listDirectoryGroups,
  membersOf,
  tidyMembers,
  withMembers,
} from '../../core/rules/directory-groups.ts';
import type { RuleSet } from '../../core/rules/rule-set.ts';
import { type Directory, ProviderFault } from '../../providers/sign-in-provider.ts';
import type { Store } from '../../store/store.ts';

/** Groups of the rules whose members are in the directory of the company. */
export interface DirectoryGroups {
  readonly hasDirectory: boolean;
  /**
   * The rules with their members: those in force, or what the directory answers now. Rules that name a group
   * about which it cannot be asked are refused: without members they would shut out everybody, or nobody.
   */
  fill(rules: RuleSet): Promise<RuleSet>;
  /** The same for these groups. */
  findMembers(dns: readonly string[], mayAsk?: boolean): Promise<ReadonlyMap<string, readonly string[]>>;
  /** Asks about the groups that were not asked about for a while. Called every minute by the leader. */
  refresh(): Promise<Refreshed>;
}

interface Refreshed {
  /** The new revision; 0: the members are the same. */
  readonly revision: number;
  /** What went wrong, for the log. */
  readonly problems: readonly string[];
}

/** How old members get before the directory is asked again. */
const REFRESH_MS = 10 * MINUTE_MS;

const NO_DIRECTORY = 'This server has no directory. Set "auth.ldap.url", or remove the group from the rules.';

export function createDirectoryGroups(store: Store, directory: Directory | null): DirectoryGroups {
  async function ask(dns: readonly string[]): Promise<readonly GroupAnswer[]> {
    const fail = (problem: string) => dns.map((dn) => ({ dn, problem }));
    if (directory === null) return fail(NO_DIRECTORY);
    try {
      return (await directory.listMembers(dns)).map(tidy);
    } catch (error) {
      if (error instanceof ProviderFault) return fail(error.message);
      throw error;
    }
  }

  async function findMembers(dns: readonly string[], mayAsk = true) {
    const known = membersOf((await store.read({ kind: 'find_rules' })).rules.set);
    const unknown = dns.filter((dn) => !known.has(dn));
    if (unknown.length > 0 && !mayAsk) throw refuseUnknown(unknown[0] as string);
    const answers = unknown.length === 0 ? [] : await ask(unknown);
    return new Map([...known, ...answers.map(requireMembers)]);
  }

  return {
    hasDirectory: directory !== null,
    findMembers,
    async fill(rules) {
      const dns = listDirectoryGroups(rules);
      return dns.length === 0 ? rules : withMembers(rules, await findMembers(dns));
    },
    async refresh() {
      const { rules, applied } = await store.read({ kind: 'find_rules' });
      const { now } = await store.keepClock();
      const due = (applied?.ages ?? []).filter((age) => isDue(age, now));
      if (due.length === 0) return { revision: 0, problems: [] };
      const answers = await ask(due.map(({ dn }) => dn));
      const outcome = await store.execute({ kind: 'refresh_groups', basedOn: rules.revision, answers });
      const problems = answers.flatMap((one) => ('problem' in one ? [sayProblem(one.dn, one.problem)] : []));
      return { revision: outcome.kind === 'done' ? outcome.count : 0, problems };
    },
  };
}

/** After a clock was set right, the last answer may be from the future. */
function isDue({ answeredAt }: GroupAge, now: Instant): boolean {
  return answeredAt > now || now - answeredAt >= REFRESH_MS;
}

function tidy(answer: GroupAnswer): GroupAnswer {
  return 'members' in answer ? { dn: answer.dn, members: tidyMembers(answer.members) } : answer;
}

function requireMembers(answer: GroupAnswer): readonly [string, readonly string[]] {
  if ('members' in answer) return [answer.dn, answer.members];
  const message = sayProblem(answer.dn, answer.problem);
  throw new RequestError('directory_unavailable', `${message} Nothing has changed.`);
}

function sayProblem(dn: string, problem: string): string {
  return `The directory does not tell who is in ${quote(dn)}. ${problem}`;
}

function refuseUnknown(dn: string): RequestError {
  const message = `The rules in force do not name ${quote(dn)}.`;
  return new RequestError('forbidden', `${message} Only administrators may ask the directory about it.`);
}
