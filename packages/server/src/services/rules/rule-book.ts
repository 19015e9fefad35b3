import { diffLines } from '@berth/protocol/diff-lines';
import { quote } from '@berth/protocol/quote';
import { RequestError } from '@berth/protocol/request-error';
import type { Actor } from '../../core/nouns/actor.ts';
import { WHOLE_LICENSE } from '../../core/nouns/consumption.ts';
import { type ListedGroup, listGroupsOfDirectory } from '../../core/rules/directory-groups.ts';
import type { ProductFacts } from '../../core/rules/warnings.ts';
import type { RulesRecord, RulesRevision } from '../../store/rules-record.ts';
import type { Store } from '../../store/store.ts';
import { createTurns } from '../create-turns.ts';
import { executeOnEachLicense } from '../lending/each-license.ts';
import type { RunTask } from '../tasks/task.ts';
import type { Content } from '../watching/watched-file.ts';
import { type Bars, createBars } from './bars.ts';
import type { DirectoryGroups } from './directory-groups.ts';
import type { importOptions, OptionFormat } from './import/import-options.ts';
import { listReservations, listUnfilled, listUsed, type UsedRule } from './in-force.ts';
import { type ParsedRules, type RuleErrors, refuseErrors, refuseFailed } from './parse-rules.ts';
import { IMPORT_RULES, parseBy } from './rule-tasks.ts';
import { type ParseText, RulesError, type RulesFile, readRules } from './rules-file.ts';

/** What happened to the file, for the log. */
export type RulesNotice =
  | { readonly kind: 'taken'; readonly revision: number }
  /** The file has the rules already in force, or there is none. */
  | { readonly kind: 'unchanged' }
  | { readonly kind: 'refused'; readonly reason: string };

/** The rules in force, and where they come from. */
interface RulesDescription extends RulesRecord {
  /** The file that rules; `null`: the rules are kept in the store. */
  readonly file: string | null;
  /** Why the file is invalid and older rules stay in force; `null` if it is valid. */
  readonly fileError: string | null;
  readonly warnings: ParsedRules['warnings'];
  readonly inForce: readonly UsedRule[];
  readonly groups: readonly ListedGroup[];
}

/** A revision beside the one before it. */
interface ComparedRevision extends RulesRevision {
  readonly diff: readonly string[];
}

interface Applied {
  readonly revision: number;
  /** `false`: the text was in force already. */
  readonly isNew: boolean;
  readonly warnings: ParsedRules['warnings'];
}

type Imported = ReturnType<typeof importOptions>;

/** The rules: kept in the store, or taken from a file if there is one. */
export interface RuleBook {
  /** Who is barred besides the rules. */
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
  /** `signal`: nobody waits for it any more. */
  check(text: string, signal?: AbortSignal): Promise<ParsedRules | RuleErrors>;
  /** Makes rules of an options file. */
  import(text: string, format: OptionFormat | undefined, signal: AbortSignal): Promise<Imported>;
  /** `basedOn`: the revision that was edited. */
  apply(text: string, basedOn: number | undefined, by: Actor): Promise<Applied>;
  /** Applies the text of an earlier revision again. */
  revert(revision: number, by: Actor): Promise<Applied>;
  /** The latest first. */
  listRevisions(): Promise<readonly ComparedRevision[]>;
  findRevision(revision: number): Promise<ComparedRevision>;
  /** Those whom the directory has told. */
  listMembers(group: string): Promise<readonly string[]>;
  /** Asks the directory who is in the groups of the rules. Called every minute. */
  refreshGroups: DirectoryGroups['refresh'];
  /** Remembers how much of what is reserved is kept free. Called every minute. */
  sampleReservations(): Promise<void>;
}

/** The revisions in the store. */
function openRevisions(store: Store, file: RulesFile, groups: DirectoryGroups, run: RunTask) {
  async function put(
    { text, rules }: Pick<ParsedRules, 'rules'> & { readonly text: string },
    basedOn: number | undefined,
    by: Actor,
  ): Promise<Omit<Applied, 'warnings'>> {
    const command = {
      kind: 'set_rules',
      text,
      rules,
      ...(basedOn !== undefined && { basedOn }),
      by,
    } as const;
    const outcome = await store.execute(command);
    if (outcome.kind === 'refused') throw new RequestError(outcome.code, outcome.message);
    const revision = outcome.kind === 'done' ? outcome.count : 0;
    if (revision === 0) return { revision: (await findRules()).rules.revision, isNew: false };
    await countHeld();
    return { revision, isNew: true };
  }

  /** Counts what is held, so that it is known before anybody looks. */
  async function countHeld(): Promise<void> {
    await executeOnEachLicense(store, (licenseId) => ({ kind: 'collect', licenseId }));
  }

  /** Those who apply rules wait for each other, and for nobody who tries some. */
  const inTurn = createTurns();

  const findRules = () => store.read({ kind: 'find_rules' });

  async function apply(text: string, basedOn: number | undefined, by: Actor): Promise<Applied> {
    const content = await file.read();
    if (content.kind !== 'absent' || file.isNamed) throw refuseInFile(file.path);
    const { rules: before, applied } = await findRules();
    // They may be larger than what is applied today.
    if (text === applied?.text) return { revision: before.revision, isNew: false, warnings: [] };
    const parsed = refuseFailed(await inTurn(() => check(text)));
    if ('errors' in parsed) throw refuseErrors(parsed);
    const rules = await groups.fill(parsed.rules);
    return { ...(await put({ text, rules }, basedOn, by)), warnings: parsed.warnings };
  }

  async function check(text: string, signal?: AbortSignal) {
    const { hasDirectory } = groups;
    return parseBy(run, { text, products: await listProducts(store), hasDirectory }, signal);
  }

  async function listRevisions(): Promise<readonly ComparedRevision[]> {
    const revisions = await store.read({ kind: 'list_rules_revisions' });
    return revisions.map((one, index) => ({
      ...one,
      diff: diffLines(revisions[index + 1]?.text ?? '', one.text),
    }));
  }

  async function findRevision(revision: number): Promise<ComparedRevision> {
    const one = (await listRevisions()).find((other) => other.revision === revision);
    if (one !== undefined) return one;
    const message = `There is no revision ${revision} of the rules. "berth rules history" lists them.`;
    throw new RequestError('rules_revision_not_found', message);
  }

  return { findRules, put, countHeld, check, apply, listRevisions, findRevision };
}

/** The file, as far as it was applied. */
function followFile(file: RulesFile, groups: DirectoryGroups, revisions: Revisions, parse: ParseText) {
  const { findRules, put } = revisions;
  /** Why the directory kept it from being applied: it is tried again when the directory is asked again. */
  let untaken: string | null = null;
  /** Read, but not stored yet: the disk may fail. */
  let found: Content | null = null;
  /** What was reported before, so that the same version is not reported again. */
  let logged: string | null = null;
  const findError = rememberLast(async (content: Content, inForce: string | null) => {
    const written = await readRules(file, content, inForce, parse);
    const isThere = content.kind !== 'absent' || file.isNamed;
    return { isThere, error: written instanceof RulesError ? written.message : null };
  });

  async function take(content: Content): Promise<RulesNotice> {
    untaken = null;
    const inForce = (await findRules()).applied?.text ?? null;
    const written = await readRules(file, content, inForce, parse);
    if (written === null) return { kind: 'unchanged' };
    if (written instanceof RulesError) return { kind: 'refused', reason: written.message };
    const { text } = written;
    try {
      const rules = await groups.fill(written.rules);
      const { revision, isNew } = await put({ text, rules }, undefined, 'server');
      return isNew ? { kind: 'taken', revision } : { kind: 'unchanged' };
    } catch (error) {
      if (!(error instanceof RequestError)) throw error;
      untaken = error.message;
      return { kind: 'refused', reason: untaken };
    }
  }

  return {
    async begin(): Promise<RulesNotice> {
      const notice = await take(await file.read());
      if (notice.kind === 'refused') logged = notice.reason;
      return notice;
    },
    async refresh(): Promise<RulesNotice | null> {
      found = (await file.look()) ?? found;
      if (found === null) return null;
      const notice = await take(found);
      found = null;
      const isLogged = notice.kind === 'refused' && notice.reason === logged;
      logged = untaken;
      return isLogged ? null : notice;
    },
    awaitsDirectory: () => untaken !== null,
    tryAgain() {
      if (untaken !== null) file.forget();
    },
    async describe(inForce: string | null) {
      const { isThere, error } = await findError(await file.read(), inForce);
      return { file: isThere ? file.path : null, fileError: error ?? untaken };
    },
  };
}

type Revisions = ReturnType<typeof openRevisions>;

export function createRuleBook(
  store: Store,
  file: RulesFile,
  groups: DirectoryGroups,
  run: RunTask,
): RuleBook {
  const opened = openRevisions(store, file, groups, run);
  const { findRules, put: _, countHeld, ...revisions } = opened;
  const { hasDirectory } = groups;
  const parse = (text: string) => parseBy(run, { text, products: null, hasDirectory });
  const followed = followFile(file, groups, opened, parse);
  const findWarnings = rememberLast(async (text: string, products: readonly ProductFacts[]) => {
    const parsed = await parseBy(run, { text, products, hasDirectory: true });
    return 'errors' in parsed ? [] : parsed.warnings;
  });

  return {
    bars: createBars(store),
    ...revisions,
    import: (text, format, signal) => run(IMPORT_RULES, { text, format: format ?? null }, null, signal),
    async revert(revision, by) {
      return revisions.apply((await revisions.findRevision(revision)).text, undefined, by);
    },
    async begin() {
      if (!store.isLeader()) return { kind: 'unchanged' };
      const notice = await followed.begin();
      if (Object.keys((await findRules()).rules.set.products).length > 0) await countHeld();
      if (notice.kind !== 'refused' || (await findRules()).applied !== null) return notice;
      const advice = followed.awaitsDirectory()
        ? 'Start the server again when the directory tells, or correct the file'
        : 'Correct the file';
      throw new RulesError(`${notice.reason} ${advice}: without it, the server would bar nobody.`);
    },
    refresh: followed.refresh,
    async listMembers(group) {
      const { directory } = (await findRules()).rules.set.groups[group] ?? {};
      if (directory !== undefined) return directory.members;
      const message = `The rules in force have no group ${quote(group)} with a "directory".`;
      throw new RequestError('group_not_found', message);
    },
    async refreshGroups() {
      followed.tryAgain();
      const refreshed = await groups.refresh();
      if (refreshed.revision > 0) await countHeld();
      return refreshed;
    },
    async sampleReservations() {
      const samples = await listReservations(store, (await findRules()).rules);
      if (samples.length > 0) await store.execute({ kind: 'sample_reservations', samples });
    },
    takeOver() {
      file.forget();
    },
    async describe() {
      const record = await findRules();
      const { applied } = record;
      const ofFile = await followed.describe(applied?.text ?? null);
      return {
        ...record,
        ...ofFile,
        groups: listGroupsOfDirectory(record.rules.set, applied?.ages ?? []),
        warnings: applied === null ? [] : await findWarnings(applied.text, await listProducts(store)),
        inForce: await listUsed(store, record.rules),
      };
    },
  };
}

/** To read a long text takes a second, and pages ask for the same one again and again. */
function rememberLast<Given extends readonly unknown[], Result>(find: (...given: Given) => Result) {
  let last: { readonly key: string; readonly result: Result } | null = null;
  return (...given: Given): Result => {
    const key = JSON.stringify(given);
    if (last?.key !== key) last = { key, result: find(...given) };
    return last.result;
  };
}

function refuseInFile(path: string): RequestError {
  const message = `The rules are in the file ${path}. Edit it: the server applies it whenever it changes.`;
  return new RequestError('rules_in_file', message, { file: path });
}

/** What warnings about products and reservations need. */
async function listProducts(store: Store): Promise<readonly ProductFacts[]> {
  const licenses = await store.read({ kind: 'list_licenses', product: null });
  const unfilled = await listUnfilled(store);
  const byProduct = Map.groupBy(licenses, ({ license }) => license.product);
  return Array.from(byProduct, ([product, own]) => {
    const features = own.flatMap(({ license }) =>
      license.features.flatMap(({ code, floating }) =>
        floating === null ? [] : [{ feature: code, slots: floating.slots }],
      ),
    );
    const largest = Map.groupBy(features, ({ feature }) => feature);
    return {
      product,
      slots: own.reduce((sum, { license }) => sum + license.slots, 0),
      features: Array.from(largest, ([feature, all]) => ({
        feature,
        slots: Math.max(...all.map(({ slots }) => slots)),
      })),
      unfilled: (unfilled.get(product) ?? []).map(({ feature, rule }) => ({
        feature: feature === WHOLE_LICENSE ? null : feature,
        rule,
      })),
    };
  });
}
