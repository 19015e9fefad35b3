import type { ProductRules, RuleSet, SlotRules } from './rule-set.ts';

/** The rules of a product; `null`: there are none. */
export function findProductRules({ products }: RuleSet, product: string): ProductRules | null {
  return Object.hasOwn(products, product) ? (products[product] as ProductRules) : null;
}

/** The rules for slots of a product, or of one of its features; `null`: there are none. */
export function findSlotRules(rules: RuleSet, product: string, feature: string | null): SlotRules | null {
  const own = findProductRules(rules, product);
  if (own === null || feature === null) return own;
  return Object.hasOwn(own.features, feature) ? (own.features[feature] as SlotRules) : null;
}
