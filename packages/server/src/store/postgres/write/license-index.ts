import { ANSWER_LIFETIME_MS } from '../../../core/lending/repeat-answer.ts';
import { type Instant, plus } from '../../../core/nouns/instant.ts';
import type { License, LicenseId } from '../../../core/nouns/license.ts';
import type { Rules } from '../../../core/rules/rules.ts';
import { rulesFromRows } from '../../engine/counts/rule-rows.ts';
import { listRemovedOf, type RemovedLicense } from '../../engine/loaded-licenses.ts';
import { licenseFromRow } from '../../engine/rows.ts';
import { FIND_RULES, LIST_BARS } from '../../engine/statements.ts';
import type { PostgresRowOf, RowOf } from '../../engine/tables.ts';
import { refuseMoved } from '../wire/moved-mark.ts';
import type { Sender } from './bulk-writes.ts';

/**
 * Which licenses there are, and which rules are in force, as of a revision. Every transaction compares the
 * revision: while it is the same, nothing here has changed.
 */
export interface LicenseIndex {
  readonly revision: number;
  readonly rules: Rules;
  /** Whether users that differ only in case are one. */
  readonly ignoresCase: boolean;
  /** Includes removed licenses. */
  readonly chains: readonly LicenseId[];
  /** Held ones, by product. */
  readonly byProduct: ReadonlyMap<string, readonly LicenseId[]>;
  readonly productOf: ReadonlyMap<LicenseId, string>;
  readonly lastOrder: number;
  readonly removed: readonly RemovedLicense[];
}

type ListedLicense = Pick<RowOf<'license'>, 'id' | 'product' | 'removed_at' | 'added_order'> & {
  readonly replaced_by: LicenseId | null;
};

const LIST = `SELECT id, product, removed_at, added_order, CASE WHEN removed_at IS NOT NULL
  THEN (facts::json #>> '{tie,replacedBy}')::bigint END AS replaced_by FROM license ORDER BY id`;

const GET_SERVER = 'SELECT revision, ignores_case FROM server WHERE id = 1';

export async function readIndex(sender: Sender): Promise<LicenseIndex> {
  // The revision first: what is read after it is at least as new.
  const [servers, licenses, bars, rules] = await Promise.all([
    sender.query<PostgresRowOf<'server'>>(GET_SERVER, []),
    sender.query<ListedLicense>(LIST, []),
    sender.query<RowOf<'bar'>>(LIST_BARS, []),
    sender.query<RowOf<'rules_revision'>>(FIND_RULES, []),
    refuseMoved((text) => sender.query(text, [])),
  ]);
  const [server] = servers as readonly [PostgresRowOf<'server'>];
  const held = licenses.filter((row) => row.removed_at === null);
  const byProduct = new Map<string, LicenseId[]>();
  for (const { id, product } of held) byProduct.set(product, [...(byProduct.get(product) ?? []), id]);
  return {
    revision: server.revision,
    rules: rulesFromRows(rules[0], bars),
    ignoresCase: server.ignores_case === 1,
    chains: licenses.map(({ id }) => id),
    byProduct,
    productOf: new Map(held.map(({ id, product }) => [id, product])),
    removed: licenses.flatMap(({ id, product, removed_at: removedAt, replaced_by: replacedBy }) =>
      removedAt === null ? [] : [{ id, product, removedAt, replacedBy }],
    ),
    lastOrder: Math.max(0, ...licenses.map(({ added_order: order }) => order)),
  };
}

/** Removed licenses of the same product whose answers to earlier requests still count. */
export function listRemovedBeside(
  [id]: readonly LicenseId[],
  { productOf, removed }: LicenseIndex,
  now: Instant,
): readonly LicenseId[] {
  const product = id === undefined ? undefined : productOf.get(id);
  return product === undefined ? [] : listRemovedOf(removed, product, plus(now, -ANSWER_LIFETIME_MS));
}

/** Parsed licenses by their text, which every transaction reads and few change. */
export class LicenseTexts {
  readonly #known = new Map<LicenseId, { readonly text: string; readonly license: License }>();

  read(row: Pick<RowOf<'license'>, 'id' | 'facts'>): License {
    const { id, facts: text } = row;
    const known = this.#known.get(id);
    if (known?.text === text) return known.license;
    const license = licenseFromRow(row);
    this.#known.set(id, { text, license });
    return license;
  }

  /** The license as last read. */
  find(id: LicenseId): License | undefined {
    return this.#known.get(id)?.license;
  }
}
