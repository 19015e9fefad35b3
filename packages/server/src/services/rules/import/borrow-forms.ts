import { MAX_HOURS } from '../read-products.ts';
import type { Draft } from './draft.ts';
import { countSlots } from './forms.ts';
import { changed, lost, type Outcome, type Pending, same, unneeded } from './outcome.ts';
import { everywhereForm, targetForm, withProduct } from './targets.ts';
import { describeWho, type Known, listSome } from './who.ts';

/** As `include`, for borrowing. */
export const includeBorrow = targetForm(
  (draft, { product, who }) => {
    draft.allowBorrow(product, draft.groupOf(who));
    return same(`Lets ${describeWho(who)} borrow ${product}. Anyone not named in such a line cannot.`);
  },
  (draft, product) => {
    const allow = draft.restrictBorrow(product);
    return () =>
      allow.size === 0
        ? `Until you name a group in "borrow: { allow: [...] }" of ${product}, NOBODY can borrow it.`
        : `Only ${listSome([...allow])} can borrow ${product}.`;
  },
);

export const includeAllBorrow = everywhereForm(
  (draft, who) => {
    const group = draft.groupOf(who);
    const { products } = draft;
    for (const product of products) draft.allowBorrow(product, group);
    const todo =
      `Add "borrow: { allow: [${group}] }" to every product that this file does not name. ` +
      'Until then, EVERYBODY can borrow them.';
    if (products.length === 0)
      return lost('Berth has no such rule for all products, and the file names none.', todo);
    return changed(`Lets ${describeWho(who)} borrow ${listSome(products)}. Others cannot.`, todo);
  },
  (draft) => {
    for (const product of draft.products) draft.restrictBorrow(product);
    return 'NOBODY can borrow the products of this file unless other lines say so. EVERYBODY can others.';
  },
);

export const excludeBorrow = targetForm(
  (draft, { product, who }) => barBorrower(draft, product, who),
  (_, product) => `They can borrow ${product}.`,
);

export const excludeAllBorrow = everywhereForm(
  (draft, who) => barBorrower(draft, null, who),
  () => 'They can borrow every product.',
);

/** Rules only say who may. */
function barBorrower(draft: Draft, product: string | null, who: Known): () => Outcome {
  return () => {
    if (product !== null && isClosed(draft, product))
      return unneeded(`With these rules, nobody can borrow ${product}.`);
    const products = product === null ? draft.products : [product];
    const groups = new Set(products.flatMap((one) => [...(draft.product(one).borrow.allow ?? [])]));
    const condition = groups.size === 0 ? '' : ` if they are in ${listSome([...groups])}`;
    const name = describeWho(who);
    return lost(
      `Berth has no "may not borrow": ${name} CAN borrow ${product ?? 'every product'}${condition}.`,
      `List groups without ${name} in "borrow: { allow: [...] }" of ${product ?? 'each product'}.`,
    );
  };
}

function isClosed(draft: Draft, product: string): boolean {
  const { allow, hours } = draft.product(product).borrow;
  return allow?.size === 0 || hours?.value === 0;
}

/** The last line for a product counts. */
export function setBorrow(
  draft: Draft,
  field: 'hours' | 'keep',
  value: number,
  [spec, ...rest]: readonly string[],
): Pending {
  const { line } = draft;
  return withProduct(draft, spec, rest, (product) => {
    const most = field === 'hours' ? Math.min(value, MAX_HOURS) : value;
    draft.setBorrow(product, field, most);
    return () => {
      const last = draft.product(product).borrow[field]?.line;
      if (last !== line) return unneeded(`Replaced by line ${last}, which sets the same for ${product}.`);
      if (field === 'keep' && most === 0) return same(`All slots of ${product} can be borrowed.`);
      if (field === 'keep') return same(`Keeps ${countSlots(most)} of ${product} from being borrowed.`);
      if (most === 0) return same(`NOBODY can borrow ${product}.`);
      return same(`Lets a slot of ${product} be borrowed for at most ${most} hours.`);
    };
  });
}
