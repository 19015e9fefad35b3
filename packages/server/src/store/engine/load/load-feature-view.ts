import { WHOLE_LICENSE } from '../../../core/nouns/consumption.ts';
import type { FeatureSlot } from '../../../core/nouns/feature-slot.ts';
import type { Instant } from '../../../core/nouns/instant.ts';
import type { LicenseId } from '../../../core/nouns/license.ts';
import type { Registration } from '../../../core/nouns/registration.ts';
import { COLLECT_LIMIT, type LicenseHead, type LicenseView, type ViewNeeds } from '../../../core/view.ts';
import { type LoadedLicense, mayHaveFeatureSlots, NO_END } from '../loaded-licenses.ts';
import { featureSlotFromRow } from '../rows.ts';
import { countOf } from '../sql.ts';
import type { Statements } from '../statements.ts';

type FeatureView = Pick<
  LicenseView,
  'featureSlots' | 'featureEndedBeyond' | 'featureNextEndsAt' | 'featureSlotCount'
>;

const NO_SLOTS: readonly FeatureSlot[] = [];

const NO_FEATURE_VIEW: FeatureView = {
  featureSlots: NO_SLOTS,
  featureEndedBeyond: 0,
  featureNextEndsAt: null,
  featureSlotCount: 0,
};

/** What a decision asks about feature slots. A license on which nobody holds one costs nothing here. */
export function loadFeatureView(
  statements: Statements,
  entry: LoadedLicense,
  head: LicenseHead,
  needs: ViewNeeds,
  user: string | null,
  now: Instant,
): FeatureView {
  if (!mayHaveFeatureSlots(entry)) return NO_FEATURE_VIEW;
  const { id } = entry.license;
  const feature = needs.featureSlotsEnd ? (head.meter?.feature ?? WHOLE_LICENSE) : WHOLE_LICENSE;
  return {
    featureSlots: needs.featureSlots ? listSlotsOf(statements, id, user as string) : NO_SLOTS,
    featureEndedBeyond: feature === WHOLE_LICENSE ? 0 : countBeyond(statements, head, feature, now),
    featureNextEndsAt:
      feature === WHOLE_LICENSE
        ? null
        : (statements.findNextFeatureEnd.get({ id, feature, now })?.ends_at ?? null),
    featureSlotCount: needs.featureSlotCount ? countLive(statements, id, null, now) : 0,
  };
}

/** Slots whose own time is over, and those of users whose license slot has ended. */
export function loadEndedFeatureSlots(
  statements: Statements,
  entry: LoadedLicense,
  ended: readonly Registration[],
  now: Instant,
): readonly FeatureSlot[] {
  if (!mayHaveFeatureSlots(entry)) return NO_SLOTS;
  const { id } = entry.license;
  const byThemselves = listEnded(statements, entry, now);
  const withTheirUser = ended.flatMap(({ user }) => listSlotsOf(statements, id, user));
  const stillAhead = withTheirUser.filter((slot) => slot.endsAt > now);
  return stillAhead.length === 0 ? byThemselves : [...byThemselves, ...stillAhead];
}

function listEnded(statements: Statements, entry: LoadedLicense, now: Instant): readonly FeatureSlot[] {
  if (now < entry.noFeatureEndBefore) return NO_SLOTS;
  const { id } = entry.license;
  const ended = statements.feature_slot.listEnded(id, now, COLLECT_LIMIT).map(featureSlotFromRow);
  if (ended.length === 0) {
    entry.noFeatureEndBefore = statements.feature_slot.findEnd(id) ?? NO_END;
  }
  return ended;
}

/** All slots of a user, whether or not their time is over. */
export function listFeatureSlots(statements: Statements, entry: LoadedLicense, user: string) {
  return mayHaveFeatureSlots(entry) ? listSlotsOf(statements, entry.license.id, user) : NO_SLOTS;
}

function listSlotsOf(statements: Statements, id: LicenseId, user: string): readonly FeatureSlot[] {
  return statements.feature_slot.list({ license_id: id, user }).map(featureSlotFromRow);
}

/** Ended slots of a feature that this command leaves to the next; none unless very many ended at once. */
function countBeyond(statements: Statements, head: LicenseHead, feature: string, now: Instant): number {
  if (head.endedBeyond === 0 && head.endedFeatureSlots.length < COLLECT_LIMIT) return 0;
  const stored = head.meter?.storedInUse ?? 0;
  const collected = head.endedFeatureSlots.filter((slot) => slot.feature === feature).length;
  return stored - collected - countLive(statements, head.license.id, feature, now);
}

/** Slots of a feature, or of all of them, whose time is not over and whose user holds the license's slot. */
export function countLive(statements: Statements, id: number, feature: string | null, now: Instant): number {
  return countOf(statements.countLiveFeatureSlots.get({ id, feature, now }));
}
