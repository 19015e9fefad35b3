import { createHash } from 'node:crypto';
import { type FileRules, isEmptyRules, NO_RULES, orNoRules } from '../../core/rules/rules.ts';
import type { BarRecord, RulesRecord } from '../../store/query.ts';
import type { Store } from '../../store/store.ts';
import type { Content } from '../watching/watched-file.ts';
import { type Bars, createBars } from './bars.ts';
import { RulesError, type RulesFile, readRules } from './rules-file.ts';

/** What happened to the file, for the log. */
export type RulesNotice =
  | { readonly kind: 'taken'; readonly rules: FileRules }
  /** The file has the rules already in force. */
  | { readonly kind: 'unchanged' }
  | { readonly kind: 'refused'; readonly reason: string };

interface RulesDescription extends RulesRecord {
  /** Those barred by a command. */
  readonly bars: readonly BarRecord[];
  readonly file: string;
  readonly digest: string;
  /** Why the file is invalid and older rules stay in force; `null` if it is valid. */
  readonly error: string | null;
}

/** The rules of the file. Those in the store are in force; they come from there. */
export interface RuleBook {
  /** Who is barred besides the file. */
  readonly bars: Bars;
  /**
   * Reads the file before the server accepts requests. An invalid file prevents the start only if no rules
   * are in force, because the server would then bar nobody. Only the leader's file counts, so that two
   * servers with different files do not overwrite each other. The rules in the store apply to all servers.
   */
  begin(): Promise<RulesNotice>;
  /** Reads the file if it has changed; `null` if not. */
  refresh(): Promise<RulesNotice | null>;
  /** Another server's file counted until now: the next refresh reads this one even if it has not changed. */
  takeOver(): void;
  describe(): Promise<RulesDescription>;
}

export function createRuleBook(store: Store, file: RulesFile): RuleBook {
  /** Read, but not stored yet: the disk may fail. */
  let found: Content | null = null;
  /** What was reported at the start, so that the same version is not reported again. */
  let loggedAtStart: string | null = null;

  async function take(content: Content): Promise<RulesNotice> {
    if (file.isOptional && content.kind === 'absent') return { kind: 'unchanged' };
    const parsed = readRules(file, content);
    if (parsed instanceof RulesError) return { kind: 'refused', reason: parsed.message };
    const { users, hosts, addresses } = parsed.rules.deny;
    const rules = orNoRules({ ...NO_RULES, deny: { users, hosts, addresses } });
    const outcome = await store.execute({ kind: 'set_rules', rules, digest: digestOf(rules), by: 'server' });
    const isNew = outcome.kind === 'done' && outcome.count > 0;
    return isNew ? { kind: 'taken', rules } : { kind: 'unchanged' };
  }

  const bars = createBars(store);
  return {
    bars,
    async begin() {
      if (!store.isLeader()) return { kind: 'unchanged' };
      const notice = await take(await file.read());
      if (notice.kind !== 'refused') return notice;
      const { rules } = await store.read({ kind: 'find_rules' });
      loggedAtStart = notice.reason;
      if (!isEmptyRules(rules)) return notice;
      throw new RulesError(`${notice.reason} Correct the file: without it, the server would bar nobody.`);
    },
    async refresh() {
      found = (await file.look()) ?? found;
      if (found === null) return null;
      const notice = await take(found);
      found = null;
      const isLogged = notice.kind === 'refused' && notice.reason === loggedAtStart;
      loggedAtStart = null;
      return isLogged ? null : notice;
    },
    takeOver() {
      file.forget();
    },
    async describe() {
      const record = await store.read({ kind: 'find_rules' });
      const written = readRules(file, await file.read());
      const error = written instanceof RulesError ? written.message : null;
      return { file: file.path, ...record, bars: await bars.list(), digest: digestOf(record.rules), error };
    },
  };
}

/** Identifies a version of the rules. */
function digestOf({ deny: { users, hosts, addresses } }: FileRules): string {
  const text = JSON.stringify({ deny: { users, hosts, addresses } });
  return createHash('sha256').update(text).digest('hex').slice(0, DIGEST_LENGTH);
}

const DIGEST_LENGTH = 16;
