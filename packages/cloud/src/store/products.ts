import type { AuthorizationMethod, Product } from '../core/license.ts';
import { type Refusal, refuse } from '../core/refusal.ts';
import { toProduct } from './rows.ts';
import { record, type Shelf, takeId, transact } from './shelf.ts';

const CODE = /^[A-Za-z0-9][\w.-]{0,63}$/;

export interface ProductDraft {
  readonly code: string;
  readonly name: string | null;
  readonly authorizationMethod: AuthorizationMethod;
}

export function createProduct(shelf: Shelf, draft: ProductDraft, now: number): Product | Refusal {
  const { code, authorizationMethod } = draft;
  if (!CODE.test(code)) {
    return refuse(
      'validation_error',
      `"${code}" cannot be the code of a product: letters, digits, ".", "_", "-".`,
    );
  }
  return transact(shelf, () => {
    if (findProduct(shelf, code) !== null) {
      return refuse('validation_error', `There is a product "${code}" already.`);
    }
    const product = { id: takeId(shelf), code, name: draft.name ?? code, authorizationMethod, metadata: {} };
    shelf.sql.addProduct.run(product.id, code, product.name, authorizationMethod, '{}', now);
    record(shelf, { kind: 'product_created', facts: { product: code, name: product.name } }, null, now);
    return product;
  });
}

export function findProduct({ sql }: Shelf, code: string): Product | null {
  const row = sql.findProduct.get(code);
  return row === undefined ? null : toProduct(row);
}

export function listProducts({ sql }: Shelf): readonly Product[] {
  return sql.listProducts.all().map(toProduct);
}
