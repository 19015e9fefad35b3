import type { AddressRange } from '@berth/protocol/address-range';
import type { LicenseCommand } from '../../../core/command.ts';
import { moduleOf } from '../../../core/decide.ts';
import { type Standing, WHOLE_LICENSE, windowEnd, windowStart } from '../../../core/nouns/consumption.ts';
import type { EndedBorrow } from '../../../core/nouns/ended-borrow.ts';
import type { ConsumptionLimits } from '../../../core/nouns/feature.ts';
import type { FeatureSlot } from '../../../core/nouns/feature-slot.ts';
import type { Instant } from '../../../core/nouns/instant.ts';
import type { License, LicenseId } from '../../../core/nouns/license.ts';
import type { NoticeKey } from '../../../core/nouns/notice-key.ts';
import type { Registration } from '../../../core/nouns/registration.ts';
import type { Rules } from '../../../core/rules/rules.ts';
import {
  type AnswerScope,
  COLLECT_LIMIT,
  type Crowd,
  type DenialScope,
  type LicenseHead,
  type LicenseView,
  type MeterNeed,
  type RememberedAnswer,
  type StaleNeeds,
  type ViewNeeds,
} from '../../../core/view.ts';
import { type LoadedLicense, mayHaveFeatureSlots, NO_END } from '../loaded-licenses.ts';
import {
  answerFromRow,
  denialFromRow,
  endedBorrowFromRow,
  featureSlotFromRow,
  originKeys,
  placeDenialFromRow,
  registrationFromRow,
  reportFromRow,
} from '../rows.ts';
import { countOf } from '../sql.ts';
import type { Statements } from '../statements.ts';

interface ViewSource {
  readonly statements: Statements;
  readonly rules: Rules;
  readonly now: Instant;
}

/**
 * Loads the narrow view that a decision asks for. A renewal costs one statement. Every field is written out:
 * the view is made for every command, and copying parts of it would cost more than everything else here.
 */
export function loadView(source: ViewSource, entry: LoadedLicense, command: LicenseCommand): LicenseView {
  const { statements, now } = source;
  const module = moduleOf(command);
  const head = loadHead(source, entry, module.meter(command, entry.license, now));
  const { id } = entry.license;
  const user = module.holder(command);
  const registration = user === null ? null : findRegistration(statements, id, user);
  const needs = module.needs(command, head, registration, now);
  const slots = loadFeatureView(statements, entry, head, needs, user, now);
  const stale = loadHousekeeping(statements, id, needs.stale);
  const { denials, placeDenials } = loadDenials(statements, id, needs.denials);
  return {
    license: head.license,
    storedInUse: head.storedInUse,
    ended: head.ended,
    endedBeyond: head.endedBeyond,
    endedFeatureSlots: head.endedFeatureSlots,
    meter: head.meter,
    rules: head.rules,
    featureSlots: slots.featureSlots,
    featureEndedBeyond: slots.featureEndedBeyond,
    featureNextEndsAt: slots.featureNextEndsAt,
    featureSlotCount: slots.featureSlotCount,
    staleDenials: stale.staleDenials,
    stalePlaceDenials: stale.stalePlaceDenials,
    staleAnswers: stale.staleAnswers,
    nextEndsAt: needs.nextEnd ? statements.registration.findEnd(id, now) : null,
    borrowed: needs.borrowed ? countOf(statements.countBorrowed.get({ id, now })) : null,
    registration,
    endedBorrow:
      needs.endedBorrow && registration === null ? findEndedBorrow(statements, id, user as string) : null,
    crowd: needs.crowd ? countCrowd(statements, id, needs.crowd, now) : null,
    holders: needs.holders ? listHolders(statements, entry, needs.holders) : NONE,
    all: needs.all ? loadAll(statements, entry) : null,
    denials,
    placeDenials,
    rememberedAnswer: needs.answer ? findAnswer(statements, id, needs.answer) : null,
    reports: needs.reports ? statements.listReports.all(id).map(reportFromRow) : NONE,
    meters: needs.meters?.map((need) => entry.meters.get(statements, need)) ?? NONE,
  };
}

function loadAll(statements: Statements, entry: LoadedLicense): LicenseView['all'] {
  const { id } = entry.license;
  return {
    registrations: statements.listRegistrationsOf.all(id).map(registrationFromRow),
    featureSlots: mayHaveFeatureSlots(entry)
      ? statements.listFeatureSlotsOf.all(id).map(featureSlotFromRow)
      : NO_SLOTS,
  };
}

function loadDenials(
  statements: Statements,
  id: LicenseId,
  scope: DenialScope | null | undefined,
): Pick<LicenseView, 'denials' | 'placeDenials'> {
  if (!scope) return NO_DENIALS;
  const { user, place } = scope;
  return {
    denials: statements.denial.list({ license_id: id, user }).map(denialFromRow),
    placeDenials:
      place === null ? NONE : statements.place_denial.list({ license_id: id, place }).map(placeDenialFromRow),
  };
}

export function findRegistration(
  statements: Statements,
  licenseId: LicenseId,
  user: string,
): Registration | null {
  const row = statements.registration.find({ license_id: licenseId, user });
  return row === undefined ? null : registrationFromRow(row);
}

function findEndedBorrow(statements: Statements, licenseId: LicenseId, user: string): EndedBorrow | null {
  const row = statements.ended_borrow.find({ license_id: licenseId, user, feature: WHOLE_LICENSE });
  return row === undefined ? null : endedBorrowFromRow(row);
}

function countCrowd(statements: Statements, id: number, range: AddressRange, now: Instant): Crowd {
  const row = statements.countCrowd.get({ id, now, ...originKeys(range) });
  return { slots: countOf(row), borrows: row?.borrows ?? 0 };
}

function listHolders(statements: Statements, entry: LoadedLicense, users: readonly string[]) {
  return users.flatMap((user) => {
    const registration = findRegistration(statements, entry.license.id, user);
    if (registration === null) return [];
    return [{ registration, featureSlots: listFeatureSlots(statements, entry, user) }];
  });
}

export function findAnswer(
  statements: Statements,
  licenseId: LicenseId,
  { operation, user, key }: AnswerScope,
): RememberedAnswer | null {
  const row = statements.remembered_answer.find({ license_id: licenseId, operation, user, key });
  return row === undefined ? null : answerFromRow(row);
}

export function findNotice(statements: Statements, key: NoticeKey): number | null {
  return statements.notice.find(key)?.value ?? null;
}

function loadHead(
  { statements, rules, now }: ViewSource,
  entry: LoadedLicense,
  need: MeterNeed | null,
): LicenseHead {
  const { license, storedInUse } = entry;
  const ended = loadEnded(statements, entry, now);
  return {
    license,
    storedInUse,
    ended,
    endedBeyond: countBeyond(statements, entry, ended.length, now),
    endedFeatureSlots: loadEndedFeatureSlots(statements, entry, ended, now),
    meter: need === null ? null : entry.meters.get(statements, need),
    rules,
  };
}

const NONE: readonly never[] = [];

const NO_DENIALS = { denials: NONE, placeDenials: NONE };

function loadEnded(statements: Statements, entry: LoadedLicense, now: Instant): readonly Registration[] {
  if (now < entry.noEndBefore) return NONE;
  const { id } = entry.license;
  const ended = statements.registration.listEnded(id, now, COLLECT_LIMIT).map(registrationFromRow);
  if (ended.length === 0) {
    entry.noEndBefore = statements.registration.findEnd(id) ?? NO_END;
  }
  return ended;
}

function countBeyond(statements: Statements, entry: LoadedLicense, collected: number, now: Instant): number {
  if (collected < COLLECT_LIMIT) return 0;
  return countOf(statements.countEnded.get(entry.license.id, now)) - collected;
}

type Housekeeping = Pick<LicenseView, 'staleDenials' | 'stalePlaceDenials' | 'staleAnswers'>;

const NO_HOUSEKEEPING: Housekeeping = { staleDenials: NONE, stalePlaceDenials: NONE, staleAnswers: 0 };

function loadHousekeeping(statements: Statements, id: number, stale: StaleNeeds | undefined): Housekeeping {
  if (stale === undefined) return NO_HOUSEKEEPING;
  const { denialsBy, placesBy, answersBy } = stale;
  return {
    staleDenials: statements.listDenialsBy.all(id, denialsBy, COLLECT_LIMIT).map(denialFromRow),
    stalePlaceDenials: statements.listPlaceDenialsBy.all(id, placesBy, COLLECT_LIMIT).map(placeDenialFromRow),
    staleAnswers: countOf(statements.countStaleAnswers.get(answersBy, id, COLLECT_LIMIT)),
  };
}

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

/** What a decision asks about feature slots. It costs nothing if nobody holds one. */
function loadFeatureView(
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
    featureEndedBeyond: feature === WHOLE_LICENSE ? 0 : countFeatureBeyond(statements, head, feature, now),
    featureNextEndsAt:
      feature === WHOLE_LICENSE
        ? null
        : (statements.findNextFeatureEnd.get({ id, feature, now })?.ends_at ?? null),
    featureSlotCount: needs.featureSlotCount ? countLive(statements, id, null, now) : 0,
  };
}

/** Ended slots, and those of users whose license slot has ended. */
function loadEndedFeatureSlots(
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

/** All slots of a user, ended or not. */
function listFeatureSlots(statements: Statements, entry: LoadedLicense, user: string) {
  return mayHaveFeatureSlots(entry) ? listSlotsOf(statements, entry.license.id, user) : NO_SLOTS;
}

function listSlotsOf(statements: Statements, id: LicenseId, user: string): readonly FeatureSlot[] {
  return statements.feature_slot.list({ license_id: id, user }).map(featureSlotFromRow);
}

/** How many ended slots of a feature this command leaves to the next: none unless very many ended at once. */
function countFeatureBeyond(
  statements: Statements,
  head: LicenseHead,
  feature: string,
  now: Instant,
): number {
  if (head.endedBeyond === 0 && head.endedFeatureSlots.length < COLLECT_LIMIT) return 0;
  const stored = head.meter?.storedInUse ?? 0;
  const collected = head.endedFeatureSlots.filter((slot) => slot.feature === feature).length;
  return stored - collected - countLive(statements, head.license.id, feature, now);
}

/** Live slots of a feature, or of all features, whose user holds the license's slot. */
function countLive(statements: Statements, id: number, feature: string | null, now: Instant): number {
  return countOf(statements.countLiveFeatureSlots.get({ id, feature, now }));
}

/**
 * What was counted of a license and its features. Returns the same object while nothing changes, so a
 * heartbeat costs nothing here, and callers can cache what they make of it.
 */
export function standingOf(statements: Statements, entry: LoadedLicense, now: Instant): Standing {
  const kept = entry.standing;
  const isKept =
    kept !== null && kept.license === entry.license && kept.metersVersion === entry.meters.version;
  if (isKept && (kept.endsAt === null || now < kept.endsAt)) return kept.standing;
  const standing = makeStanding(statements, entry, now);
  const { license, meters } = entry;
  entry.standing = { standing, license, metersVersion: meters.version, endsAt: firstWindowEnd(license, now) };
  return standing;
}

function makeStanding(statements: Statements, entry: LoadedLicense, now: Instant): Standing {
  const { license, meters } = entry;
  const isBehind = hasEnded(statements, entry, now);
  const read = (feature: string, { period }: ConsumptionLimits) =>
    meters.get(statements, { feature, windowStart: windowStart(period, now) });
  return {
    total: read(WHOLE_LICENSE, license.consumption).total,
    features: license.features.map(({ code, consumption, floating }) => {
      const { total, storedInUse } = read(code, consumption);
      if (floating === null) return { code, total, inUse: 0 };
      return { code, total, inUse: isBehind ? countLive(statements, license.id, code, now) : storedInUse };
    }),
  };
}

/** Returns whether so many slots ended at once that some are still stored and counted. */
function hasEnded(statements: Statements, entry: LoadedLicense, now: Instant): boolean {
  if (!mayHaveFeatureSlots(entry)) return false;
  const { id } = entry.license;
  const ends = [statements.feature_slot.findEnd(id), statements.registration.findEnd(id)];
  return ends.some((end) => end !== null && end <= now);
}

/** When the first of the totals is reset. */
function firstWindowEnd(license: License, now: Instant): Instant | null {
  const limits = [license.consumption, ...license.features.map((feature) => feature.consumption)];
  const ends = limits.map(({ period }) => windowEnd(period, now)).filter((end) => end !== null);
  return ends.length === 0 ? null : (Math.min(...ends) as Instant);
}
