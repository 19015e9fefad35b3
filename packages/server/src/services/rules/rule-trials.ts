import { RequestError } from '@berth/protocol/request-error';
import type { Register, RegisterFeature } from '../../core/command.ts';
import { userNameOf } from '../../core/nouns/user-name.ts';
import { explainGroups, explainRefusal, NO_RULE } from '../../core/rules/explain.ts';
import { listBarring } from '../../core/rules/rules.ts';
import type { Executed, Store } from '../../store/store.ts';
import type { RunTask } from '../tasks/task.ts';
import type { DirectoryGroups } from './directory-groups.ts';
import { TRY_RULES } from './rule-tasks.ts';
import type { tryRules } from './try-rules.ts';

/** What rules would have done, and what those in force would do now. */
export interface RuleTrials {
  try(text: string, options: TrialOptions): ReturnType<typeof tryRules>;
  /** What somebody would be answered now, and which rule decides. */
  explain(who: Inquiry): Promise<Explanation>;
}

interface TrialOptions {
  readonly since: string | undefined;
  /** The client has disconnected. */
  readonly signal: AbortSignal;
  /** Whether the caller may ask the directory about groups that the rules in force do not name. */
  readonly mayAsk: boolean;
}

interface Inquiry {
  readonly user: string;
  readonly product?: string | undefined;
  readonly feature?: string | undefined;
  readonly host?: string | undefined;
  readonly address?: string | undefined;
}

interface Explanation extends ReturnType<typeof explainRefusal> {
  readonly answer: 'served' | 'refused';
  readonly code: string | null;
  readonly message: string;
  readonly note: string | null;
  readonly groups: ReturnType<typeof explainGroups>;
}

export function createRuleTrials(store: Store, groups: DirectoryGroups, run: RunTask): RuleTrials {
  return {
    try(text, { since, signal, mayAsk }) {
      const findMembers = async (dns: readonly string[]) =>
        [...(await groups.findMembers(dns, mayAsk))].filter(([dn]) => dns.includes(dn));
      const host = { read: store.read.bind(store), keepClock: store.keepClock.bind(store), findMembers };
      return run(TRY_RULES, { text, since, hasDirectory: groups.hasDirectory }, host, signal);
    },
    explain: (who) => explain(store, who),
  };
}

/** The answer is that of the real decision, whose effect is dropped. */
async function explain(store: Store, who: Inquiry): Promise<Explanation> {
  const { product, licenses } = await chooseProduct(store, who.product);
  const feature = who.feature ?? null;
  const user = userNameOf(who.user);
  const person = { user, hostname: who.host ?? null, address: who.address ?? null };
  const { rules } = await store.read({ kind: 'find_rules' });
  const command = commandOf(person, product, feature);
  const outcome = await store.execute(command);
  const scope = { licenseId: null, product, user, limit: 1, after: null };
  const { registrations } = await store.read({ kind: 'list_registrations', ...scope });
  const holds = registrations.some(({ features }) => feature === null || features.includes(feature));
  const bar = listBarring(rules, command).find(({ source }) => source === 'bar');
  const asking = { ...person, claimedAddress: null };
  return {
    ...sayOutcome(outcome, user, holds),
    ...(outcome.kind !== 'refused'
      ? NO_RULE
      : outcome.code === 'blacklisted' && bar !== undefined
        ? { ...NO_RULE, rule: `bar ${bar.kind} ${bar.pattern}` }
        : explainRefusal(rules.set, asking, { product, feature }, outcome)),
    note: licenses > 1 ? sayPool(product, licenses) : null,
    groups: explainGroups(rules.set, person),
  };
}

async function chooseProduct(store: Store, named: string | undefined) {
  const records = await store.read({ kind: 'list_licenses', product: named ?? null });
  const [product = named, ...others] = new Set(records.map(({ license }) => license.product));
  if (product !== undefined && others.length === 0) return { product, licenses: records.length };
  const message = 'Name the "product": this server has several, or none.';
  throw new RequestError('missing_parameters', message, { field: 'product' });
}

interface Person {
  readonly user: string;
  readonly hostname: string | null;
  readonly address: string | null;
}

function commandOf(person: Person, product: string, feature: string | null): Register | RegisterFeature {
  const { user, hostname, address } = person;
  const about = {
    product,
    licenseId: null,
    user,
    host: { hostname, address: null, info: null },
    by: { name: 'client', address: address ?? '' },
    isDryRun: true,
  } as const;
  return feature === null
    ? { kind: 'register', ...about }
    : { kind: 'register_feature', feature, until: null, ...about };
}

function sayOutcome(
  outcome: Executed,
  user: string,
  holds: boolean,
): Pick<Explanation, 'answer' | 'code' | 'message'> {
  if (outcome.kind === 'refused') {
    return { answer: 'refused', code: outcome.code, message: outcome.message };
  }
  const message = holds ? `"${user}" holds a slot already, and would renew it.` : sayLent(outcome);
  return { answer: 'served', code: null, message };
}

function sayLent(outcome: Executed): string {
  if (outcome.kind === 'granted') {
    const { license, inUse } = outcome;
    return sayLeft(`license ${license.id}`, inUse, license.slots);
  }
  const lent = outcome.kind === 'measured' ? outcome : null;
  return sayLeft(`"${lent?.feature?.code}"`, lent?.inUse ?? 0, lent?.feature?.floating?.slots ?? 0);
}

function sayLeft(of: string, inUse: number, slots: number): string {
  return `A slot would be lent: ${inUse} of ${slots} slots of ${of} would then be in use.`;
}

function sayPool(product: string, licenses: number): string {
  return (
    `The rules are for the ${licenses} licenses of "${product}" together. A request that names one of them ` +
    "gets only that one's slots, reserved or not."
  );
}
