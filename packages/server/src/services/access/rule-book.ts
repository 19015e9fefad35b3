import { createHash } from 'node:crypto';
import { NO_RULES, orNoRules, type Rules } from '../../core/rules/rules.ts';
import type { RulesRecord } from '../../store/query.ts';
import type { Store } from '../../store/store.ts';
import type { Content } from '../upkeep/watched-file.ts';
import { RulesError } from './parse-rules.ts';
import { type RulesFile, readRules } from './rules-file.ts';

/** What became of the file, for the log. */
export type RulesNotice =
  | { readonly kind: 'taken'; readonly rules: Rules }
  /** It says what is in force already. */
  | { readonly kind: 'unchanged' }
  | { readonly kind: 'refused'; readonly reason: string };

interface RulesDescription extends RulesRecord {
  readonly file: string;
  readonly digest: string;
  /** Why the file cannot be used as it is now, so that older rules are in force; `null`: it can. */
  readonly error: string | null;
}

/** The administrator's rules. What the store holds is in force; the file is where it comes from. */
export interface RuleBook {
  /**
   * Takes the file before anybody is served. A file that cannot be used is no reason to stop while there are
   * rules in force; without any, those who were to be barred would be served. Only the leader's file counts:
   * two servers with different files must not take turns. What the store holds counts for all of them.
   */
  begin(): Promise<RulesNotice>;
  /** Takes the file when it is another one; `null` when it is not. */
  refresh(): Promise<RulesNotice | null>;
  /** Another server's file counted until now: the next refresh takes this one, changed or not. */
  takeOver(): void;
  describe(): Promise<RulesDescription>;
}

export function createRuleBook(store: Store, file: RulesFile): RuleBook {
  /** Found, and not taken yet: the disk may fail meanwhile. */
  let found: Content | null = null;
  /** What was told at the start, so that it is not told again of the same version. */
  let toldAtStart: string | null = null;

  async function take(content: Content): Promise<RulesNotice> {
    if (file.isOptional && content.kind === 'absent') return { kind: 'unchanged' };
    const rules = readRules(file, content);
    if (rules instanceof RulesError) return { kind: 'refused', reason: rules.message };
    const outcome = await store.execute({ kind: 'set_rules', rules, digest: digestOf(rules), by: 'server' });
    const isNew = outcome.kind === 'done' && outcome.count > 0;
    return isNew ? { kind: 'taken', rules } : { kind: 'unchanged' };
  }

  return {
    async begin() {
      if (!store.isLeader()) return { kind: 'unchanged' };
      const notice = await take(await file.read());
      if (notice.kind !== 'refused') return notice;
      const { rules } = await store.read({ kind: 'find_rules' });
      toldAtStart = notice.reason;
      if (orNoRules(rules) !== NO_RULES) return notice;
      throw new RulesError(`${notice.reason} Put it right: started without it, the server would bar nobody.`);
    },
    async refresh() {
      found = (await file.look()) ?? found;
      if (found === null) return null;
      const notice = await take(found);
      found = null;
      const isTold = notice.kind === 'refused' && notice.reason === toldAtStart;
      toldAtStart = null;
      return isTold ? null : notice;
    },
    takeOver() {
      file.forget();
    },
    async describe() {
      const record = await store.read({ kind: 'find_rules' });
      const written = readRules(file, await file.read());
      const error = written instanceof RulesError ? written.message : null;
      return { file: file.path, ...record, digest: digestOf(record.rules), error };
    },
  };
}

/** Tells one version of the rules from another; long enough to find it, too short to be typed. */
function digestOf({ deny: { users, hosts, addresses } }: Rules): string {
  const text = JSON.stringify({ deny: { users, hosts, addresses } });
  return createHash('sha256').update(text).digest('hex').slice(0, DIGEST_LENGTH);
}

const DIGEST_LENGTH = 16;
