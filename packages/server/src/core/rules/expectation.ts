import type { Instant } from '../nouns/instant.ts';
import type { Refused } from '../outcome.ts';
import { findAccessRule } from './admit.ts';
import { findSlotRules } from './find-rules.ts';
import { containersOf } from './groups.ts';
import { countAs, type HeldSlots, keyOf, refuseByLimit, refuseByReservation } from './judge-slot.ts';
import type { PlaceKind, RuleSet, SlotRules } from './rule-set.ts';

/** An example in the text of the rules: a request, what is held when it comes, and the answer. */
export interface Expectation {
  readonly user: string;
  readonly hostname: string | null;
  readonly address: string | null;
  /** Groups that the user is in besides: the text does not say who is in the directory. */
  readonly groups: readonly string[];
  readonly product: string;
  readonly feature: string | null;
  /** Slots that are held by members of groups. */
  readonly held: Readonly<Record<string, number>>;
  /** Slots that are held from the same host or address. */
  readonly heldAt: Readonly<Record<PlaceKind, number>>;
  /** `null`: enough. */
  readonly free: number | null;
  /** `null`: whenever all rules apply, whatever their time. */
  readonly at: Instant | null;
  readonly answer: Answer;
  /** The kind of the rule that refuses, or its text; `null`: any. */
  readonly rule: string | null;
}

type Answer = 'served' | 'refused';

/** Rules that refuse a slot. */
export const REFUSING_RULES = ['deny', 'allow', 'limit', 'reserve'] as const;

/** What the rules answer. */
interface Judged {
  readonly answer: Answer;
  /** `null`: no slot is free, or they are served. */
  readonly rule: { readonly kind: (typeof REFUSING_RULES)[number]; readonly text: string } | null;
}

/** Whether the rules answer as expected, in a sentence. */
export function checkExpectation(rules: RuleSet, expected: Expectation): { ok: boolean; message: string } {
  const judged = judge(rules, expected);
  const ok = judged.answer === expected.answer && isNamed(judged, expected.rule);
  const { user, product, feature, answer, rule } = expected;
  const what = feature === null ? product : `${feature} of ${product}`;
  const wanted = rule === null ? answer : `${answer} (${rule})`;
  const message = `${user} and ${what}: ${describe(judged)}${ok ? '.' : `, but expected was: ${wanted}.`}`;
  return { ok, message };
}

function isNamed({ rule }: Judged, wanted: string | null): boolean {
  if (wanted === null) return true;
  return rule !== null && [rule.kind, rule.text, ...rule.text.split(', ')].includes(wanted);
}

function describe({ answer, rule }: Judged): string {
  if (answer === 'served') return answer;
  return rule === null ? 'refused, because no slot is free' : `refused (${rule.text})`;
}

/** In the order in which decisions look. All examples ask the same rules, which are made ready once. */
function judge(rules: RuleSet, expected: Expectation): Judged {
  const { product, feature, free, at: now } = expected;
  const asking = { ...expected, claimedAddress: expected.address };
  const kept = findAccessRule(rules, asking, product, feature);
  if (kept !== null) return { answer: 'refused', rule: kept };
  const own = findSlotRules(rules, product, feature);
  if (own === null) return free === 0 ? { answer: 'refused', rule: null } : { answer: 'served', rule: null };
  const as = countAs(rules, own, expected);
  const held = heldBy(rules, own, expected);
  const limited = refuseByLimit(rules, own, { name: feature ?? product }, held, as, now);
  if (limited !== null) return { answer: 'refused', rule: { kind: 'limit', text: ruleOf(limited) } };
  if (free === 0) return { answer: 'refused', rule: null };
  const supply = { name: product, slots: free ?? Infinity, free: free ?? Infinity };
  const reserved = refuseByReservation(rules, own, supply, held, as, now);
  if (reserved !== null) return { answer: 'refused', rule: { kind: 'reserve', text: ruleOf(reserved) } };
  return { answer: 'served', rule: null };
}

function ruleOf({ details }: Refused): string {
  return String(details.rule);
}

/** A holder is in the named group and in those that contain it, and in no other. */
function heldBy(rules: RuleSet, own: SlotRules, { held, heldAt }: Expectation): HeldSlots {
  const byGroups = new Map<string, number>();
  for (const [group, slots] of Object.entries(held)) {
    const key = keyOf(own, containersOf(rules, group));
    byGroups.set(key, (byGroups.get(key) ?? 0) + slots);
  }
  return { byGroups, countAt: (kind) => heldAt[kind] };
}
