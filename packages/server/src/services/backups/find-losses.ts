import type { Holdings } from '../../store/store-copy.ts';

/** What the replaced data had and the restored data lacks. */
export interface Losses {
  readonly licenses: readonly { readonly license_id: number; readonly product: string }[];
  readonly borrows: readonly LostBorrow[];
  readonly counts: readonly LostCount[];
}

interface LostBorrow {
  readonly license_id: number;
  readonly product: string;
  readonly user: string;
  /** `null`: the license's own slot. */
  readonly feature: string | null;
  readonly borrowed_until: string;
}

interface LostCount {
  readonly license_id: number;
  readonly product: string;
  readonly feature: string | null;
  /** How much more was counted. */
  readonly count: number;
}

/** Borrows that had ended by the time of the replaced data are no loss. */
export function findLosses(replaced: Holdings, restored: Holdings): Losses {
  const products = new Map(
    [...restored.licenses, ...replaced.licenses].map(({ id, product }) => [id, product]),
  );
  const named = (id: number) => ({ license_id: id, product: products.get(id) ?? '' });
  const known = new Set(restored.licenses.map(({ id }) => id));
  const until = new Map(restored.borrows.map((borrow) => [keyOf(borrow), borrow.borrowed_until]));
  const totals = new Map(restored.totals.map((row) => [`${keyOf(row)}\0${row.window_start}`, row.total]));
  return {
    licenses: replaced.licenses.filter(({ id }) => !known.has(id)).map(({ id }) => named(id)),
    borrows: replaced.borrows
      .filter((one) => one.borrowed_until > (replaced.mark ?? 0))
      .filter((one) => (until.get(keyOf(one)) ?? 0) < one.borrowed_until)
      .map(({ license_id, user, feature, borrowed_until }) => ({
        ...named(license_id),
        user,
        feature: feature === '' ? null : feature,
        borrowed_until: new Date(borrowed_until).toISOString(),
      })),
    counts: replaced.totals
      .map((row) => ({ ...row, count: row.total - (totals.get(`${keyOf(row)}\0${row.window_start}`) ?? 0) }))
      .filter(({ count }) => count > 0)
      .map(({ license_id, feature, count }) => ({
        ...named(license_id),
        feature: feature === '' ? null : feature,
        count,
      })),
  };
}

function keyOf(row: {
  readonly license_id: number;
  readonly feature: string;
  readonly user?: string;
}): string {
  return [row.license_id, row.feature, row.user ?? ''].join('\0');
}
