import { type Actor, addressOf } from '../nouns/actor.ts';
import type { HostInfo } from '../nouns/registration.ts';
import { type Refused, refuse } from '../outcome.ts';
import { hostOf, joinNames, listGroups, type Person } from './groups.ts';
import { foldWord, indexNames, isInRanges, isListed } from './names.ts';
import { type Denied, NAME_LISTS, type RuleSet } from './rule-set.ts';

/** Who asks, as far as a command says. */
export interface Asker {
  readonly user: string | null;
  readonly host?: HostInfo;
  readonly by?: Actor;
}

export function personOf({ user, host, by }: Asker): Person {
  return { user: user ?? '', hostname: host?.hostname ?? null, address: addressOf(by) };
}

/** What is asked for: a slot of a product, of one of its features, or no slot at all. */
export interface Wanted {
  readonly product: string;
  readonly feature: string | null;
  readonly isSlot: boolean;
}

/** A slot of the license. */
export function wantSlot({ product }: { readonly product: string }): Wanted {
  return { product, feature: null, isSlot: true };
}

/** Why `deny` and `allow` keep somebody out; `null`: they do not. Deny wins. */
export function refuseByAccess(rules: RuleSet, asker: Asker, wanted: Wanted): Refused | null {
  const { denied, allowed } = gatesOf(rules, wanted.product, wanted.feature);
  if (denied.length === 0 && allowed.length === 0) return null;
  const groups = listGroups(rules, personOf(asker));
  for (const deny of denied) {
    const found = findDenied(deny, asker, groups);
    if (found !== null) return refuseDenied(found);
  }
  if (!wanted.isSlot) return null;
  const closed = allowed.find((allow) => !allow.some((group) => groups.has(group)));
  return closed === undefined ? null : refuseOutsider(wanted, closed);
}

/** Everything that a request for a product or a feature has to pass. */
interface Gates {
  readonly denied: readonly Denied[];
  readonly allowed: readonly (readonly string[])[];
}

const GATES = new WeakMap<RuleSet, Map<string, Gates>>();

function gatesOf(rules: RuleSet, product: string, feature: string | null): Gates {
  const known = GATES.get(rules) ?? new Map<string, Gates>();
  GATES.set(rules, known);
  const own = rules.products[product];
  const ofFeature = feature === null ? undefined : own?.features[feature];
  // Clients can make up names: those without rules share an entry.
  const key = own === undefined ? '' : `${product}\n${ofFeature === undefined ? '' : feature}`;
  return known.getOrInsertComputed(key, () => {
    const parts = [own, ofFeature].filter((part) => part !== undefined);
    return {
      denied: [rules.deny, ...parts.map((part) => part.deny)].filter((deny) => !isEmpty(deny)),
      allowed: parts.flatMap(({ allow }) => (allow === null ? [] : [allow])),
    };
  });
}

function isEmpty(deny: Denied): boolean {
  return deny.groups.length === 0 && NAME_LISTS.every((list) => deny[list].length === 0);
}

interface Found {
  readonly kind: 'user' | 'host' | 'address' | 'group';
  readonly name: string;
}

function findDenied(deny: Denied, asker: Asker, groups: ReadonlySet<string>): Found | null {
  const { user, host } = asker;
  const index = indexNames(deny);
  if (user !== null && isListed(foldWord(user), index.users)) return { kind: 'user', name: user };
  const named = hostOf(personOf(asker));
  if (named !== null && isListed(foldWord(named), index.hosts)) return { kind: 'host', name: named };
  // The address that the request came from, and the one that its sender claims.
  const addresses = [addressOf(asker.by), host?.address ?? null].filter((one) => one !== null);
  const address = addresses.find((one) => isInRanges(one, index));
  if (address !== undefined) return { kind: 'address', name: address };
  const group = deny.groups.find((one) => groups.has(one));
  return group === undefined ? null : { kind: 'group', name: group };
}

function refuseDenied({ kind, name }: Found): Refused {
  const rule = `deny ${kind} ${name}`;
  const message = `The ${kind} "${name}" is barred on this license server. Ask its administrator.`;
  const refused = refuse('blacklisted', message, { barred: kind, rule });
  return kind === 'group' ? refused : { ...refused, recorded: { barred: kind, barredBy: 'rules_file' } };
}

function refuseOutsider({ product, feature }: Wanted, allow: readonly string[]): Refused {
  const rule = `allow ${allow.join(', ')}`;
  const what = feature === null ? `"${product}"` : `"${feature}" of "${product}"`;
  const message =
    `Only members of ${joinNames(allow)} may use ${what}. ` + `Ask your administrator (rule: ${rule}).`;
  return refuse('blacklisted', message, { rule });
}
