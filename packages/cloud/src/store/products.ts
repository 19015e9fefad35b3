import type { AuthorizationMethod, Product } from '../core/license.ts';
import { type Refusal, refuse } from '../core/refusal.ts';
import { type CloudStore, record, takeId, transact } from './cloud-store.ts';
import { toProduct } from './rows.ts';

const CODE = /^[A-Za-z0-9][\w.-]{0,63}$/;

interface ProductDraft {
  readonly code: string;
  readonly name: string | null;
  readonly authorizationMethod: AuthorizationMethod;
}

export function createProduct(store: CloudStore, draft: ProductDraft, now: number): Product | Refusal {
  const { code, authorizationMethod } = draft;
  if (!CODE.test(code)) {
    return refuse(
      'validation_error',
      `"${code}" is not a valid product code. Use letters, digits, ".", "_" and "-".`,
    );
  }
  return transact(store, () => {
    if (findProduct(store, code) !== null) {
      return refuse(
        'validation_error',
        `The product "${code}" already exists. "cloud product list" shows all.`,
      );
    }
    const product = { id: takeId(), code, name: draft.name ?? code, authorizationMethod, metadata: {} };
    store.sql.addProduct.run(product.id, code, product.name, authorizationMethod, '{}', now);
    record(store, { kind: 'product_created', facts: { product: code, name: product.name } }, null, now);
    return product;
  });
}

export function findProduct({ sql }: CloudStore, code: string): Product | null {
  const row = sql.findProduct.get(code);
  return row === undefined ? null : toProduct(row);
}

export function listProducts({ sql }: CloudStore): readonly Product[] {
  return sql.listProducts.all().map(toProduct);
}
