import type { AddressRange } from '@berth/protocol/address-range';
import type { LicenseCommand } from '../../../core/command.ts';
import type { Subject } from '../../../core/command-module.ts';
import { moduleOf } from '../../../core/decide.ts';
import {
  type ConsumptionTotals,
  type Meter,
  WHOLE_LICENSE,
  windowEnd,
  windowStart,
} from '../../../core/nouns/consumption.ts';
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
  type Denial,
  type Holder,
  type Holdings,
  type LicenseView,
  type MeterNeed,
  type PlaceDenial,
  type RememberedAnswer,
  type Report,
} from '../../../core/view.ts';
import type { Batch } from '../batch.ts';
import { type LoadedLicense, mayHaveFeatureSlots, NO_END } from '../loaded-licenses.ts';
import {
  answerFromRow,
  denialFromRow,
  endedBorrowFromRow,
  featureSlotFromRow,
  placeDenialFromRow,
  registrationFromRow,
  reportFromRow,
} from '../rows.ts';
import { countOf } from '../sql.ts';
import type { Statements } from '../statements.ts';
import { countPoolBorrows, type FindKept, readHoldings } from './read-holdings.ts';

type ViewSource = Pick<Batch, 'statements' | 'rules' | 'licenses' | 'now'>;

export function loadView(
  source: ViewSource,
  entry: LoadedLicense,
  command: LicenseCommand,
  subject: Subject,
  findKept?: FindKept,
): LicenseView {
  const meter = moduleOf(command).meter?.(command, entry.license, source.now) ?? null;
  const leaver = command.kind === 'borrow' && command.licenseId === null ? command.user : null;
  return new LoadedView(source, entry, subject, meter, leaver, findKept);
}

/** Reads the head at once, and every other fact when the decision asks for it. A renewal reads one row. */
class LoadedView implements LicenseView {
  readonly license: License;
  readonly storedInUse: number;
  readonly ended: readonly Registration[];
  readonly endedBeyond: number;
  readonly endedFeatureSlots: readonly FeatureSlot[];
  readonly meter: Meter | null;
  readonly rules: Rules;
  readonly kept: number = 0;
  readonly registration: Registration | null;
  readonly #source: ViewSource;
  readonly #statements: Statements;
  readonly #entry: LoadedLicense;
  readonly #subject: Subject;
  readonly #now: Instant;
  /** Who gives back the slots that they hold of other licenses, if they get one of this. */
  readonly #leaver: string | null;
  readonly #findKept: FindKept | undefined;
  #featureSlots: readonly FeatureSlot[] | undefined;
  #holders: readonly Holder[] | undefined;
  #answer: RememberedAnswer | null | undefined;
  /** By feature, as they were when the decision first asked. */
  #holdings: Map<string | null, Holdings> | undefined;

  constructor(
    source: ViewSource,
    entry: LoadedLicense,
    subject: Subject,
    need: MeterNeed | null,
    leaver: string | null,
    findKept?: FindKept,
  ) {
    const { statements, rules, now } = source;
    this.#leaver = leaver;
    this.#findKept = findKept;
    // Found when it is asked for, and mostly there is nobody to keep anything for.
    const countKept = () => findKept?.().people.get(entry.license.id)?.length ?? 0;
    if (findKept !== undefined) Object.defineProperty(this, 'kept', { get: countKept });
    this.#source = source;
    this.#statements = statements;
    this.#entry = entry;
    this.#subject = subject;
    this.#now = now;
    this.license = entry.license;
    this.storedInUse = entry.storedInUse;
    this.ended = loadEnded(statements, entry, now);
    this.endedBeyond = countBeyond(statements, entry, this.ended.length, now);
    this.endedFeatureSlots = loadEndedFeatureSlots(statements, entry, this.ended, now);
    this.meter = need === null ? null : entry.meters.get(statements, need);
    this.rules = rules;
    const { holder } = subject;
    this.registration = holder === null ? null : findRegistration(statements, entry.license.id, holder);
  }

  findNextEnd(): Instant | null {
    return this.#statements.registration.findEnd(this.license.id, this.#now);
  }

  countBorrowed(): number {
    return countOf(this.#statements.countBorrowed.get({ id: this.license.id, now: this.#now }));
  }

  findEndedBorrow(): EndedBorrow | null {
    const key = { license_id: this.license.id, user: this.#subject.holder as string, feature: WHOLE_LICENSE };
    const row = this.#statements.ended_borrow.find(key);
    return row === undefined ? null : endedBorrowFromRow(row);
  }

  readHoldings(feature: string | null): Holdings {
    this.#holdings ??= new Map();
    return this.#holdings.getOrInsertComputed(feature, () =>
      readHoldings(this.#source, this.#entry, feature, this.#leaver, this.#findKept?.()),
    );
  }

  countPoolBorrows(range: AddressRange | null): ReturnType<LicenseView['countPoolBorrows']> {
    return countPoolBorrows(this.#source, this.#entry, range, this.#leaver);
  }

  listHolders(): readonly Holder[] {
    this.#holders ??= this.#subject.users.flatMap((user) => {
      const registration = findRegistration(this.#statements, this.license.id, user);
      return registration === null ? [] : [{ registration, featureSlots: this.#listFeatureSlotsOf(user) }];
    });
    return this.#holders;
  }

  listAll(): ReturnType<LicenseView['listAll']> {
    const { id } = this.license;
    const { listRegistrationsOf, listFeatureSlotsOf } = this.#statements;
    return {
      registrations: listRegistrationsOf.all(id).map(registrationFromRow),
      featureSlots: this.#mayHaveFeatureSlots ? listFeatureSlotsOf.all(id).map(featureSlotFromRow) : NONE,
    };
  }

  listFeatureSlots(): readonly FeatureSlot[] {
    const { holder } = this.#subject;
    this.#featureSlots ??= holder === null ? NONE : this.#listFeatureSlotsOf(holder);
    return this.#featureSlots;
  }

  #listFeatureSlotsOf(user: string): readonly FeatureSlot[] {
    return this.#mayHaveFeatureSlots ? listSlotsOf(this.#statements, this.license.id, user) : NONE;
  }

  get #mayHaveFeatureSlots(): boolean {
    return mayHaveFeatureSlots(this.#entry);
  }

  /** Nothing is left to the next command unless very many slots have ended at once. */
  countFeatureEndedBeyond(): number {
    const { meter } = this;
    if (this.endedBeyond === 0 && this.endedFeatureSlots.length < COLLECT_LIMIT) return 0;
    if (meter === null || meter.feature === WHOLE_LICENSE || !this.#mayHaveFeatureSlots) return 0;
    const collected = this.endedFeatureSlots.filter((slot) => slot.feature === meter.feature).length;
    return (
      meter.storedInUse - collected - countLive(this.#statements, this.license.id, meter.feature, this.#now)
    );
  }

  findNextFeatureEnd(): Instant | null {
    if (this.meter === null || !this.#mayHaveFeatureSlots) return null;
    const key = { id: this.license.id, feature: this.meter.feature, now: this.#now };
    return this.#statements.findNextFeatureEnd.get(key)?.ends_at ?? null;
  }

  countFeatureSlots(): number {
    return this.#mayHaveFeatureSlots ? countLive(this.#statements, this.license.id, null, this.#now) : 0;
  }

  findAnswer(): RememberedAnswer | null {
    const { answer } = this.#subject;
    if (answer === null) return null;
    if (this.#answer === undefined) this.#answer = findAnswer(this.#statements, this.license.id, answer);
    return this.#answer;
  }

  listReports(): readonly Report[] {
    return this.#statements.listReports.all(this.license.id).map(reportFromRow);
  }

  listMeters(needs: readonly MeterNeed[]): readonly Meter[] {
    return needs.map((need) => this.#entry.meters.get(this.#statements, need));
  }

  listDenials(user: string): readonly Denial[] {
    return this.#statements.denial.list({ license_id: this.license.id, user }).map(denialFromRow);
  }

  listPlaceDenials(place: string): readonly PlaceDenial[] {
    return this.#statements.place_denial.list({ license_id: this.license.id, place }).map(placeDenialFromRow);
  }

  listStaleDenials(deniedBy: Instant): readonly Denial[] {
    const { id } = this.license;
    return this.#statements.listDenialsBy.all(id, deniedBy, COLLECT_LIMIT).map(denialFromRow);
  }

  listStalePlaceDenials(deniedBy: Instant): readonly PlaceDenial[] {
    const { id } = this.license;
    return this.#statements.listPlaceDenialsBy.all(id, deniedBy, COLLECT_LIMIT).map(placeDenialFromRow);
  }

  countStaleAnswers(answeredBy: Instant): number {
    return countOf(this.#statements.countStaleAnswers.get(answeredBy, this.license.id, COLLECT_LIMIT));
  }
}

export function findRegistration(
  statements: Statements,
  licenseId: LicenseId,
  user: string,
): Registration | null {
  const row = statements.registration.find({ license_id: licenseId, user });
  return row === undefined ? null : registrationFromRow(row);
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

const NONE: readonly never[] = [];

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

/** Ended slots, and those of users whose license slot has ended. */
function loadEndedFeatureSlots(
  statements: Statements,
  entry: LoadedLicense,
  ended: readonly Registration[],
  now: Instant,
): readonly FeatureSlot[] {
  if (!mayHaveFeatureSlots(entry)) return NONE;
  const { id } = entry.license;
  const byThemselves = listEnded(statements, entry, now);
  const withTheirUser = ended.flatMap(({ user }) => listSlotsOf(statements, id, user));
  const stillAhead = withTheirUser.filter((slot) => slot.endsAt > now);
  return stillAhead.length === 0 ? byThemselves : [...byThemselves, ...stillAhead];
}

function listEnded(statements: Statements, entry: LoadedLicense, now: Instant): readonly FeatureSlot[] {
  if (now < entry.noFeatureEndBefore) return NONE;
  const { id } = entry.license;
  const ended = statements.feature_slot.listEnded(id, now, COLLECT_LIMIT).map(featureSlotFromRow);
  if (ended.length === 0) {
    entry.noFeatureEndBefore = statements.feature_slot.findEnd(id) ?? NO_END;
  }
  return ended;
}

/** All slots of a user, ended or not. */
function listSlotsOf(statements: Statements, id: LicenseId, user: string): readonly FeatureSlot[] {
  return statements.feature_slot.list({ license_id: id, user }).map(featureSlotFromRow);
}

/** Live slots of a feature, or of all features, whose user holds the license's slot. */
function countLive(statements: Statements, id: number, feature: string | null, now: Instant): number {
  return countOf(statements.countLiveFeatureSlots.get({ id, feature, now }));
}

/**
 * What was counted of a license and its features. Returns the same object while nothing changes, so a
 * heartbeat costs nothing here, and callers can cache what they make of it.
 */
export function totalsOf(statements: Statements, entry: LoadedLicense, now: Instant): ConsumptionTotals {
  const kept = entry.totals;
  const isKept = kept !== null && kept.license === entry.license && kept.meters === entry.meters.revision;
  if (isKept && (kept.endsAt === null || now < kept.endsAt)) return kept.totals;
  const totals = makeTotals(statements, entry, now);
  const { license, meters } = entry;
  entry.totals = { totals, license, meters: meters.revision, endsAt: firstWindowEnd(license, now) };
  return totals;
}

function makeTotals(statements: Statements, entry: LoadedLicense, now: Instant): ConsumptionTotals {
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
