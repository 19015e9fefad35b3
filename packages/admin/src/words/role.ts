/** What an account may do; an operator perhaps only with some products. */
export function sayRole({ role, products }: Standing): string {
  return products === null ? `${role}` : `${role} of ${products.join(', ')}`;
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
