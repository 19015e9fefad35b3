import { MAX_NAME_LENGTH } from '@berth/protocol/fields';
import { quote } from '@berth/protocol/quote';
import { RequestError } from '@berth/protocol/request-error';
import type { ProductLimit, Role } from '../../core/access/role.ts';

const MAX_PRODUCTS = 100;

/** The products may be ones that the server has no license of yet. Throws if they cannot limit the role. */
export function requireLimit(role: Role, products: readonly string[] | undefined): ProductLimit {
  if (products === undefined) return null;
  const problem = whyNoLimit(role, products);
  if (problem === null) return [...new Set(products)];
  throw new RequestError('validation_error', problem, { field: 'products' });
}

function whyNoLimit(role: Role, products: readonly string[]): string | null {
  if (role !== 'operator') return `Only operators can be limited to "products", not the role "${role}".`;
  if (products.length === 0)
    return '"products" is empty. Name a product, or leave it out: then all are meant.';
  if (products.length > MAX_PRODUCTS) return `"products" must not name more than ${MAX_PRODUCTS}.`;
  const wrong = products.find((product) => product.trim() !== product || product === '' || !isCode(product));
  return wrong === undefined ? null : `"products" contains ${quote(wrong)}, which is no product code.`;
}

function isCode(text: string): boolean {
  return text.length <= MAX_NAME_LENGTH && !/\p{Cc}/u.test(text) && text.isWellFormed();
}
