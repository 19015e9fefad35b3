import type { Change, Decision } from '../decision.ts';
import type { LicenseEvent } from '../nouns/audit-event.ts';
import type { FeatureSlot } from '../nouns/feature-slot.ts';
import { earlier, type Instant } from '../nouns/instant.ts';
import { orNoSlot, type Registration, severalPrograms } from '../nouns/registration.ts';
import type { Outcome } from '../outcome.ts';
import { COLLECT_LIMIT, type LicenseHead, type LicenseView } from '../view.ts';
import { keepBorrows } from './keep-borrows.ts';

/** A view without what has ended, and the changes that remove it. */
export interface Collected {
  /** Slots in use now. */
  readonly inUse: number;
  /** The new stored number: it includes ended slots that this command leaves to the next. */
  readonly storedInUse: number;
  /** The user's slot, if it is live. */
  readonly held: Registration | null;
  readonly changes: readonly Change[];
  readonly events: readonly LicenseEvent[];
}

/** Slots in use now: the stored number without ended ones. */
export function countInUse(head: LicenseHead): number {
  return head.storedInUse - head.ended.length - head.endedBeyond;
}

const NONE: readonly never[] = [];

/** Every decision on a license starts here, so that expiry needs no timer. */
export function collect(view: LicenseView, now: Instant): Collected {
  const { registration } = view;
  const held = orNoSlot(registration, now);
  const ended = withOwnEnded(view, registration, held);
  const endedFeatures = withOwnEndedFeatures(view, held, now);
  if (ended.length === 0 && endedFeatures.length === 0) {
    const { storedInUse } = view;
    return { inUse: countInUse(view), storedInUse, held, changes: NONE, events: NONE };
  }
  return {
    inUse: countInUse(view),
    storedInUse: view.storedInUse - ended.length,
    held,
    changes: [
      ...endedFeatures.map(({ feature, user }) => ({ kind: 'remove_feature_slot', feature, user }) as const),
      ...ended.map((registration) => ({ kind: 'remove_registration', registration }) as const),
      ...keepBorrows(view.license, ended, endedFeatures),
    ],
    events: [
      ...expireFeatures(endedFeatures, ended),
      ...ended.map(({ user, endsAt, programs }) => {
        return { kind: 'slot_expired', user, endedAt: endsAt, ...severalPrograms(programs) } as const;
      }),
    ],
  };
}

/** The live feature slots of the user whose slot is `held`. */
export function listHeldFeatures(
  view: LicenseView,
  { held }: Collected,
  now: Instant,
): readonly FeatureSlot[] {
  return held === null ? NONE : view.listFeatureSlots().filter(({ endsAt }) => endsAt > now);
}

/** A feature slot ended with its own time or with its user's slot, whichever came first. */
function expireFeatures(
  slots: readonly FeatureSlot[],
  ended: readonly Registration[],
): readonly LicenseEvent[] {
  if (slots.length === 0) return [];
  const endOf = new Map(ended.map(({ user, endsAt }) => [user, endsAt]));
  return slots.map(({ feature, user, endsAt }) => {
    const endedAt = earlier(endsAt, endOf.get(user) ?? endsAt);
    return { kind: 'feature_expired', feature, user, endedAt };
  });
}

/** The user's own ended feature slots may be beyond the limit; they must go before the user gets new ones. */
function withOwnEndedFeatures(view: LicenseView, held: Registration | null, now: Instant) {
  const { endedFeatureSlots } = view;
  if (view.endedBeyond === 0 && endedFeatureSlots.length < COLLECT_LIMIT) return endedFeatureSlots;
  const isCollected = (slot: FeatureSlot) =>
    endedFeatureSlots.some(({ feature, user }) => feature === slot.feature && user === slot.user);
  const own = view.listFeatureSlots().filter((slot) => held === null || slot.endsAt <= now);
  return [...endedFeatureSlots, ...own.filter((slot) => !isCollected(slot))];
}

/** The user's own ended slot may be beyond the limit; it must go before they get a new one. */
function withOwnEnded(view: LicenseView, own: Registration | null, held: Registration | null) {
  if (own === null || held !== null) return view.ended;
  const isCollected = view.ended.some(({ user }) => user === own.user);
  return isCollected ? view.ended : [...view.ended, own];
}

/** The change of the stored number, if any. */
export function inUseChange(view: LicenseView, storedInUse: number): readonly Change[] {
  return storedInUse === view.storedInUse ? [] : [{ kind: 'set_in_use', inUse: storedInUse }];
}

/** The changes that remove what has ended, if the decision itself changes no slot. */
export function collectedChanges(view: LicenseView, base: Collected): readonly Change[] {
  return [...base.changes, ...inUseChange(view, base.storedInUse)];
}

/** An outcome that changes nothing, apart from removing what has ended. */
export function withoutEffect(view: LicenseView, base: Collected, outcome: Outcome): Decision {
  return { outcome, changes: collectedChanges(view, base), events: base.events };
}

/** Slots of a feature in use now. */
export function countFeatureInUse(view: LicenseView, feature: string): number {
  const ended = view.endedFeatureSlots.filter((slot) => slot.feature === feature).length;
  return (view.meter?.storedInUse ?? 0) - ended - view.countFeatureEndedBeyond();
}
