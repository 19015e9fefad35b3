/** What an account may do; an operator perhaps only with some products. */
export function sayRole({ role, products }: Standing): string {
  return products === null ? `${role}` : `${role} of ${products.join(', ')}`;
}

const SHOWN_PRODUCTS = 3;

/** For whoever is limited to them. */
export function sayLimit(products: readonly string[]): string {
  const more = products.length - SHOWN_PRODUCTS;
  const shown = products.slice(0, SHOWN_PRODUCTS).join(', ');
  return `Limited to ${shown}${more > 0 ? ` and ${more} more` : ''}`;
}

interface Standing {
  readonly role: string | null;
  readonly products: readonly string[] | null;
}

/** Products as people type them, with commas between them; `undefined`: none, so no limit. */
export function readProducts(role: string, text: string): string[] | undefined {
  const products = text.split(',').flatMap((one) => (one.trim() === '' ? [] : [one.trim()]));
  return role === 'operator' && products.length > 0 ? products : undefined;
}
