import assert from 'node:assert/strict';
import { type CountingModel, FEATURE } from './counting-model.ts';
import {
  countLimited,
  type Holdings,
  isMember,
  listLimits,
  listReservations,
  type Person,
  stillToCome,
} from './naive-rules.ts';

/** What rules promise, whatever the definitions say: a step of the model must keep it. */
export interface Fairness {
  /** What reservations depend on besides the slots. A change may leave more reserved than there is room. */
  readonly ground: string;
  readonly lenders: readonly Lender[];
}

interface Lender {
  readonly name: string;
  readonly held: readonly Person[];
  /** More is still to come than is free, and that is nobody's fault. */
  readonly isOver: boolean;
}

export function measureFairness(model: CountingModel, before: Fairness | null): Fairness {
  const ground = groundOf(model);
  const hasChanged = before === null || before.ground !== ground;
  const lenders = listLenders(model).map(({ name, held, filling, free, own, isOverfull }): Lender => {
    const toCome =
      own === null ? 0 : stillToCome(model.rules, listReservations(model.rules, own, model.now), filling);
    const isShort = free < toCome || isOverfull;
    const known = before?.lenders.find((one) => one.name === name)?.isOver ?? false;
    return { name, held, isOver: isShort && (hasChanged || known || isOverfull) };
  });
  return { ground, lenders };
}

/** The rules and the times that are in force, and the slots that can be lent. */
function groundOf({ rules, now, licenses, isUsable }: CountingModel): string {
  const { cad } = rules.products;
  const parts = cad === undefined ? [] : [cad, ...Object.values(cad.features)];
  return JSON.stringify([
    rules,
    parts.map((own) => listReservations(rules, own, now)),
    licenses.map((license) => [isUsable(license), license.facts.slots]),
  ]);
}

function listLenders(model: CountingModel) {
  const { rules, licenses } = model;
  const usable = licenses.filter(model.isUsable);
  const feature = rules.products.cad?.features[FEATURE] ?? null;
  return [
    {
      name: 'the product',
      own: rules.products.cad ?? null,
      ...model.holdings(null),
      isOverfull: usable.some(({ facts, holders }) => holders.size > facts.slots),
    },
    ...usable.map((license) => ({
      name: `the feature on ${license.id}`,
      own: feature,
      ...model.featureHoldings(license),
      isOverfull: false,
    })),
  ];
}

/** After a step that has not changed the ground. */
export function expectFair(model: CountingModel, before: Fairness): void {
  if (before.ground !== groundOf(model)) return;
  for (const { name, own, held, filling, free } of listLenders(model)) {
    if (own === null) continue;
    const known = before.lenders.find((one) => one.name === name);
    const toCome = stillToCome(model.rules, listReservations(model.rules, own, model.now), filling);
    assert.ok(known?.isOver || free >= toCome, `${name}: ${toCome} are reserved and ${free} are free`);
    for (const limit of listLimits(model.rules, own, model.now)) {
      for (const who of held) {
        const count = countLimited(model.rules, limit, held, who);
        const was = countLimited(model.rules, limit, known?.held ?? [], who);
        assert.ok(count <= Math.max(limit.slots, was), `${name}: ${count} of ${JSON.stringify(limit)}`);
      }
    }
  }
}

/** Who was refused for lack of a slot, and what was held then. */
export interface Lacking extends Holdings {
  readonly who: Person;
  readonly isReserved: boolean;
}

/**
 * Members lack a slot only if their group has what is reserved; others only if one for them would leave too
 * few.
 */
export function expectFairRefusal(
  model: CountingModel,
  { who, held, free, isReserved }: Lacking,
  before: Fairness,
) {
  const own = model.rules.products.cad;
  if (own === undefined) return;
  const reservations = listReservations(model.rules, own, model.now);
  if (isReserved) {
    const toCome = stillToCome(model.rules, reservations, [...held, who]);
    assert.ok(free - 1 < toCome, 'a slot is kept for nobody');
  }
  if (before.lenders.find(({ name }) => name === 'the product')?.isOver) return;
  for (const [group, lines] of Map.groupBy(reservations, (one) => one.for)) {
    if (!isMember(model.rules, who, group)) continue;
    const reserved = lines.reduce((sum, { slots }) => sum + slots, 0);
    const members = held.filter((one) => isMember(model.rules, one, group)).length;
    assert.ok(members >= reserved, `${who.user} lacks a slot, and ${group} has ${members} of ${reserved}`);
  }
}
