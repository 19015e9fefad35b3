import { WHOLE_LICENSE } from '../../core/nouns/consumption.ts';
import { DAY_MS, plus } from '../../core/nouns/instant.ts';
import { describeRules, type RuleInForce } from '../../core/rules/describe-rules.ts';
import type { Rules } from '../../core/rules/rules.ts';
import { UNFILLED_DAYS } from '../../core/rules/warnings.ts';
import type { ReservationSample } from '../../core/system-command.ts';
import type { RuleHistory } from '../../store/rules-record.ts';
import type { Store } from '../../store/store.ts';

/** A rule with what it did in the last 30 days. */
export interface UsedRule extends RuleInForce {
  readonly refused: number;
  /** Of a reservation: how much of what it reserved was kept free, from 0 to 1; `null`: unknown. */
  readonly unusedShare: number | null;
}

/** What was counted for other rules is not shown: it is counted anew within a moment. */
async function readInForce(store: Store, { set, revision }: Rules) {
  const { now, counts } = await store.read({ kind: 'list_rule_counts' });
  const current = counts.filter((one) => one.revision === revision);
  const readLent = (product: string, feature: string | null) => {
    const lender = feature ?? WHOLE_LICENSE;
    const own = current.filter((one) => one.product === product);
    return own.map(({ slots, held }) => ({
      slots: slots.get(lender) ?? 0,
      held: held.get(lender) ?? new Map(),
    }));
  };
  const counted = new Set(current.map(({ product }) => product));
  return { now, inForce: describeRules(set, readLent, now), counted };
}

export async function listUsed(store: Store, rules: Rules): Promise<readonly UsedRule[]> {
  const { now, inForce } = await readInForce(store, rules);
  const since = plus(now, -UNFILLED_DAYS * DAY_MS);
  const history = await store.read({ kind: 'list_rule_history', since });
  return inForce.map((rule) => {
    const done = history.filter((one) => isAbout(one, rule));
    const sum = (field: 'refused' | 'reserved' | 'unused') =>
      done.reduce((total, one) => total + one[field], 0);
    const reserved = sum('reserved');
    return {
      ...rule,
      refused: sum('refused'),
      unusedShare: reserved === 0 ? null : sum('unused') / reserved,
    };
  });
}

/** A refusal names all reservations that left no slot. */
function isAbout(done: RuleHistory, { product, feature, kind, text }: RuleInForce): boolean {
  if (done.product !== product || done.feature !== (feature ?? WHOLE_LICENSE)) return false;
  return done.rule === text || (kind === 'reserve' && done.rule.split(', ').includes(text));
}

/** The reservations of each product that were in force for so long, and of which nobody had a slot. */
export async function listUnfilled(store: Store) {
  const { now } = await store.keepClock();
  const from = plus(now, -UNFILLED_DAYS * DAY_MS);
  const history = await store.read({ kind: 'list_rule_history', since: plus(from, -DAY_MS) });
  const unfilled = history.filter(
    ({ firstAt, reserved, unused }) =>
      firstAt !== null && firstAt <= from && reserved > 0 && unused === reserved,
  );
  return Map.groupBy(unfilled, ({ product }) => product);
}

/** The reservations that apply now, and how much of each is kept free. */
export async function listReservations(store: Store, rules: Rules): Promise<readonly ReservationSample[]> {
  if (Object.keys(rules.set.products).length === 0) return [];
  const { inForce, counted } = await readInForce(store, rules);
  const active = inForce.filter(
    ({ kind, isActive, product }) => kind === 'reserve' && isActive && counted.has(product),
  );
  return active.map(({ product, feature, text: rule, slots, stillToCome }) => {
    return { product, feature: feature ?? '', rule, reserved: slots ?? 0, unused: stillToCome ?? 0 };
  });
}
