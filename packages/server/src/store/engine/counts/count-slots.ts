import { countedPerson } from '../../../core/lending/count-slots.ts';
import { WHOLE_LICENSE } from '../../../core/nouns/consumption.ts';
import type { Registration } from '../../../core/nouns/registration.ts';
import { findProductRules } from '../../../core/rules/find-rules.ts';
import type { Person } from '../../../core/rules/groups.ts';
import { countAs, countedBy, findCounting, placesOf } from '../../../core/rules/judge-slot.ts';
import type { ProductRules, RuleSet, SlotRules } from '../../../core/rules/rule-set.ts';
import type { Batch } from '../batch.ts';
import { type LoadedLicense, mayHaveFeatureSlots } from '../loaded-licenses.ts';
import { personFromRow } from '../rows.ts';
import type { CountedKind } from './place-counts.ts';
import { SlotCounts } from './slot-counts.ts';

type Counting = Pick<Batch, 'statements' | 'rules'>;

const NONE: readonly never[] = [];

/** The features of the product whose slots the rules count, with `WHOLE_LICENSE` for the product itself. */
function listCounted(
  { rules: { set } }: Pick<Batch, 'rules'>,
  { license }: LoadedLicense,
): readonly string[] {
  const own = findProductRules(set, license.product);
  return own === null ? NONE : (COUNTED.get(own) ?? findCounted(set, license.product, own));
}

/** Asked for every request. */
const COUNTED = new WeakMap<ProductRules, readonly string[]>();

function findCounted(set: RuleSet, product: string, own: ProductRules): readonly string[] {
  const lenders = [WHOLE_LICENSE, ...Object.keys(own.features)];
  const counted = lenders.filter((lender) => findCounting(set, product, featureOf(lender)) !== null);
  COUNTED.set(own, counted);
  return counted;
}

function featureOf(lender: string): string | null {
  return lender === WHOLE_LICENSE ? null : lender;
}

/** What the rules count by place of a product and its features. */
export function listCountedKinds(
  set: RuleSet,
  product: string,
): readonly (CountedKind & { readonly rules: SlotRules })[] {
  const own = findProductRules(set, product);
  if (own === null) return NONE;
  return (COUNTED.get(own) ?? findCounted(set, product, own)).flatMap((feature) => {
    const rules = findCounting(set, product, featureOf(feature)) as SlotRules;
    return Array.from(countedBy(rules).places, (kind) => ({ feature, kind, rules }));
  });
}

/** Whether the rules count slots of the product. */
export function isCounted(batch: Pick<Batch, 'rules'>, entry: LoadedLicense): boolean {
  return listCounted(batch, entry).length > 0;
}

/** Returns whether the slots of a license are counted as the rules say. */
export function hasCounts({ rules }: Pick<Batch, 'rules'>, { counts }: LoadedLicense): boolean {
  return counts?.revision === rules.revision;
}

/** Counts all slots of a license anew. */
export function countAll(batch: Batch, entry: LoadedLicense): void {
  const { statements, rules } = batch;
  const { id } = entry.license;
  const counted = listCounted(batch, entry);
  const countsFeatures = mayHaveFeatureSlots(entry) && counted.some((lender) => lender !== WHOLE_LICENSE);
  // Before anything is changed: on PostgreSQL the rows may have to be read first.
  const holders = statements.listHolders.all(id);
  const featureSlots = countsFeatures ? statements.listFeatureSlotsOf.all(id) : NONE;
  const wanted = listCountedKinds(rules.set, entry.license.product);
  const counts = SlotCounts.begin(rules.revision, entry.counts, wanted, batch.countPlaces(id));
  Object.assign(entry, { counts, isChanged: true, isTouched: true });
  batch.isChanged = true;
  if (counted.includes(WHOLE_LICENSE)) {
    for (const holder of holders) change(batch, entry, WHOLE_LICENSE, personFromRow(holder), 1);
  }
  const byName = new Map(featureSlots.length === 0 ? NONE : holders.map((holder) => [holder.user, holder]));
  for (const { user, feature } of featureSlots) {
    const holder = byName.get(user);
    if (holder !== undefined) change(batch, entry, feature, personFromRow(holder), 1);
  }
  counts.finish();
}

/** Corrects the counts. Those of groups under older rules are left: they are made anew when needed. */
function change(
  { rules: { set, revision } }: Pick<Batch, 'rules'>,
  entry: LoadedLicense,
  lender: string,
  holder: Person,
  difference: number,
): void {
  const { license, counts } = entry;
  if (counts === null) return;
  const own = findCounting(set, license.product, featureOf(lender));
  if (counts.revision !== revision) counts.add(lender, { groups: null, ...placesOf(holder) }, difference);
  else if (own !== null) counts.add(lender, countAs(set, own, holder), difference);
  else return;
  entry.isChanged = true;
}

/** They are counted anew when that is needed. */
export function forgetCounts(entry: LoadedLicense): void {
  if (entry.counts === null) return;
  // PostgreSQL removes the rows of places that were opened and are not counted any more.
  entry.counts.open();
  entry.counts = null;
  entry.isChanged = true;
}

/** A slot is put, and with it the feature slots of its holder. */
export function countPut(
  batch: Counting,
  entry: LoadedLicense,
  registration: Registration,
  before: Registration | null,
): void {
  if (before === null) {
    change(batch, entry, WHOLE_LICENSE, countedPerson(registration), 1);
    return;
  }
  const [from, to] = [countedPerson(before), countedPerson(registration)];
  for (const lender of [WHOLE_LICENSE, ...listFeatures(batch, entry, registration.user)]) {
    change(batch, entry, lender, from, -1);
    change(batch, entry, lender, to, 1);
  }
}

function listFeatures({ statements }: Counting, entry: LoadedLicense, user: string): readonly string[] {
  if (!mayHaveFeatureSlots(entry)) return NONE;
  return statements.feature_slot.list({ license_id: entry.license.id, user }).map(({ feature }) => feature);
}

/** A slot is removed; its feature slots were removed before. */
export function countRemoved(batch: Counting, entry: LoadedLicense, registration: Registration): void {
  change(batch, entry, WHOLE_LICENSE, countedPerson(registration), -1);
}

/** A feature slot is put or removed. */
export function countFeature(
  batch: Counting,
  entry: LoadedLicense,
  { feature, user }: { readonly feature: string; readonly user: string },
  difference: number,
): void {
  if (entry.counts === null) return;
  const holder = batch.statements.registration.find({ license_id: entry.license.id, user });
  if (holder !== undefined) change(batch, entry, feature, personFromRow(holder), difference);
}
