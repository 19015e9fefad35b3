import { chooseLicense } from '../core/choose-license.ts';
import type { Target } from '../core/command.ts';
import type { Refused } from '../core/decision.ts';
import { DEMO_LICENSE } from '../core/demo-license.ts';
import type { LicenseRecord } from '../store/query.ts';
import type { Store } from '../store/store.ts';

/** The licenses that the server holds. */
export interface Catalogue {
  /** All of them, or those of one product, the most recently added first. */
  list(product: string | null): Promise<readonly LicenseRecord[]>;
  /** Those of the product that is meant, or why none is. */
  listMeant(product: string | null): Promise<readonly LicenseRecord[] | Refused>;
  /** The one that would answer, or why none does. */
  find(target: Target): Promise<LicenseRecord | Refused>;
  /** Adds the demo license to an empty store. Answers whether it did. */
  addDemo(): Promise<boolean>;
}

export function createCatalogue(store: Store): Catalogue {
  const list = (product: string | null) => store.read({ kind: 'list_licenses', product });
  return {
    list,
    async find(target) {
      return choose(target, await list(null));
    },
    async listMeant(product) {
      const records = await list(null);
      const chosen = choose({ product, licenseId: null }, records);
      if ('kind' in chosen) return chosen;
      return records.filter(({ license }) => license.product === chosen.license.product);
    },
    async addDemo() {
      const isEmpty = (await list(null)).length === 0;
      if (isEmpty) await store.execute({ kind: 'install_license', license: DEMO_LICENSE, by: 'demo' });
      return isEmpty;
    },
  };
}

function choose(target: Target, records: readonly LicenseRecord[]): LicenseRecord | Refused {
  const products = new Set(records.map(({ license }) => license.product));
  const isMeant = ({ license }: LicenseRecord) =>
    target.product === null
      ? target.licenseId !== null || products.size === 1
      : license.product === target.product;
  const meant = records.filter(isMeant);
  const candidates = meant.map(({ license }) => ({ license, holdsSlot: false, hasAnswered: false }));
  const now = records[0]?.now;
  const choice = chooseLicense(
    target,
    { products: products.size, candidates },
    now as NonNullable<typeof now>,
  );
  if (choice.kind === 'refused') return choice;
  return meant.find(({ license }) => license.id === choice.licenseId) as LicenseRecord;
}
