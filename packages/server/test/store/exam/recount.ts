import assert from 'node:assert/strict';
import { countedPerson } from '../../../src/core/lending/count-slots.ts';
import type { LicenseId } from '../../../src/core/nouns/license.ts';
import { countAs, findCounting } from '../../../src/core/rules/judge-slot.ts';
import type { RuleSet } from '../../../src/core/rules/rule-set.ts';
import type { CountedKind } from '../../../src/store/engine/counts/place-counts.ts';
import { readCounts, readRevision } from '../../../src/store/engine/counts/stored-counts.ts';
import { registrationFromRow } from '../../../src/store/engine/rows.ts';
import type { RowOf } from '../../../src/store/engine/tables.ts';
import type { AskRows } from './rows.ts';

type LicenseRow = Pick<RowOf<'license'>, 'id' | 'product' | 'counts'>;
/** Only PostgreSQL has these: on SQLite the writer keeps them in memory. */
type PlaceRow = CountedKind & { license_id: LicenseId; place: string; slots: number };
type FeatureRow = Pick<RowOf<'feature_slot'>, 'license_id' | 'user' | 'feature'>;

/** What was counted step by step for the rules in force is what counting all rows gives. */
export async function expectSlotsCountedAnew(ask: AskRows): Promise<void> {
  const [rules] = await ask('SELECT revision, rules FROM rules_revision ORDER BY revision DESC LIMIT 1');
  if (rules === undefined) return;
  const slots = (await ask('SELECT * FROM registration')) as unknown as readonly RowOf<'registration'>[];
  const features = (await ask('SELECT * FROM feature_slot')) as unknown as readonly FeatureRow[];
  const licenses = (await ask('SELECT * FROM license')) as unknown as readonly LicenseRow[];
  const hasPlaces = licenses.some((row) => 'line_version' in row);
  const places = (hasPlaces ? await ask('SELECT * FROM place_count') : []) as unknown as readonly PlaceRow[];
  for (const license of licenses) {
    if (license.counts === null || readRevision(license.counts) !== rules.revision) continue;
    const { groups } = readCounts(license.counts);
    const own = slots.filter((row) => row.license_id === license.id);
    const counted: ReadonlyMap<string, number> = new Map([
      ...groups.flatMap(([feature, held]) =>
        held.map(([key, n]) => [`${feature}/groups/${key}`, n] as const),
      ),
      ...places
        .filter((row) => row.license_id === license.id)
        .map((row) => [`${row.feature}/${row.kind}/${row.place}`, row.slots] as const),
    ]);
    const held = [
      ...own.map((row) => ({ row, feature: '' })),
      ...features
        .filter((slot) => slot.license_id === license.id)
        .flatMap(({ user, feature }) =>
          own.filter((row) => row.user === user).map((row) => ({ row, feature })),
        ),
    ];
    const anew: readonly (readonly [string, number])[] = [
      ...recount(JSON.parse(rules.rules as string) as RuleSet, license, held),
    ];
    const stored = new Map(hasPlaces ? anew : anew.filter(([key]) => key.includes('/groups/')));
    assert.deepEqual(withoutZeros(counted), withoutZeros(stored), `what license ${license.id} counts`);
  }
}

function recount(
  rules: RuleSet,
  { product }: LicenseRow,
  held: readonly { readonly row: RowOf<'registration'>; readonly feature: string }[],
): Map<string, number> {
  const counts = new Map<string, number>();
  const add = (key: string) => counts.set(key, (counts.get(key) ?? 0) + 1);
  for (const { row, feature } of held) {
    const own = findCounting(rules, product, feature === '' ? null : feature);
    if (own === null) continue;
    const { groups, host, address } = countAs(rules, own, countedPerson(registrationFromRow(row)));
    add(`${feature}/groups/${groups}`);
    if (host !== null) add(`${feature}/host/${host}`);
    if (address !== null) add(`${feature}/address/${address}`);
  }
  return counts;
}

function withoutZeros(counts: ReadonlyMap<string, number>): readonly (readonly [string, number])[] {
  return [...counts].filter(([, count]) => count !== 0).sort(([a], [b]) => (a < b ? -1 : 1));
}
