import type { Target } from '../../core/command.ts';
import { findRequestedLicenses, newestOf } from '../../core/lending/choose-license.ts';
import { DEMO_LICENSE } from '../../core/nouns/demo-license.ts';
import { isUsable } from '../../core/nouns/license.ts';
import type { Refused } from '../../core/outcome.ts';
import type { LicenseRecord } from '../../store/query.ts';
import type { Store } from '../../store/store.ts';

/** The installed licenses. */
export interface Catalogue {
  /** All licenses, or those of one product, the most recently added first. */
  list(product: string | null): Promise<readonly LicenseRecord[]>;
  /** The licenses of the selected product, or a refusal. */
  findRequestedLicenses(product: string | null): Promise<readonly LicenseRecord[] | Refused>;
  /** The named license, or the one that new users get first; or a refusal. */
  find(target: Target): Promise<LicenseRecord | Refused>;
  /** A product with a free slot; `null` if there is none. */
  findLendable(): Promise<string | null>;
  /** Adds the demo license to an empty store. Returns whether it did. */
  addDemo(): Promise<boolean>;
}

export function createCatalogue(store: Store): Catalogue {
  const list = (product: string | null) => store.read({ kind: 'list_licenses', product });
  return {
    list,
    async find(target) {
      const meant = listMeant(await list(null), target);
      if ('kind' in meant) return meant;
      return newestOf(meant, (meant[0] as LicenseRecord).now);
    },
    async findRequestedLicenses(product) {
      return listMeant(await list(null), { product, licenseId: null });
    },
    async findLendable() {
      const records = await list(null);
      return records.find(isLendable)?.license.product ?? null;
    },
    async addDemo() {
      const isEmpty = (await list(null)).length === 0;
      if (isEmpty) await store.execute({ kind: 'install_license', license: DEMO_LICENSE, by: 'demo' });
      return isEmpty;
    },
  };
}

function isLendable({ license, now }: LicenseRecord): boolean {
  return isUsable(license, now) && license.slots > 0;
}

/** The licenses that a request means, of those that there are. */
export function listMeant(
  records: readonly LicenseRecord[],
  target: Target,
): readonly LicenseRecord[] | Refused {
  const products = new Set(records.map(({ license }) => license.product)).size;
  const isMeant = ({ license }: LicenseRecord) =>
    target.product === null
      ? target.licenseId !== null || products === 1
      : license.product === target.product;
  return findRequestedLicenses(target, { products, licenses: records.filter(isMeant) });
}
