import type { AddressRange } from '@berth/protocol/address-range';
import type { LicenseCommand } from '../../../core/command.ts';
import { moduleOf } from '../../../core/decide.ts';
import type { EndedBorrow } from '../../../core/nouns/ended-borrow.ts';
import type { Instant } from '../../../core/nouns/instant.ts';
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
} from '../../../core/view.ts';
import {
  answerFromRow,
  denialFromRow,
  endedBorrowFromRow,
  instantOrNull,
  originKeys,
  placeDenialFromRow,
  registrationFromRow,
  reportFromRow,
} from '../rows.ts';
import { NO_END, type ShelfEntry } from '../shelf.ts';
import type { Statements } from '../statements.ts';
import { listFeatureSlots, loadEndedFeatureSlots, loadFeatureView } from './load-feature-view.ts';

/** Where a view is loaded from. */
export interface ViewSource {
  readonly statements: Statements;
  readonly rules: Rules;
  readonly now: Instant;
}

/** Loads the narrow view that a decision asks for. A renewal costs one statement. */
export function loadView(source: ViewSource, entry: ShelfEntry, command: LicenseCommand): LicenseView {
  const { statements, now } = source;
  const module = moduleOf(command);
  const head = loadHead(source, entry, module.meter(command, entry.license, now));
  const { id } = entry.license;
  const user = module.holder(command);
  const registration = user === null ? null : findRegistration(statements, id, user);
  const needs = module.needs(command, head, registration, now);
  return {
    ...head,
    ...loadFeatureView(statements, entry, head, needs, user, now),
    ...loadHousekeeping(statements, id, needs.stale),
    nextEndsAt: needs.nextEnd ? instantOrNull(statements.findNextEnd.get(id, now)?.ends_at) : null,
    registration,
    endedBorrow:
      needs.endedBorrow && registration === null ? findEndedBorrow(statements, id, user as string) : null,
    crowd: needs.crowd ? countCrowd(statements, id, needs.crowd, now) : null,
    holders: needs.holders ? listHolders(statements, entry, needs.holders) : NONE,
    ...loadDenials(statements, id, needs.denials),
    rememberedAnswer: needs.answer ? findAnswer(statements, id, needs.answer) : null,
    reports: needs.reports ? statements.listReports.all(id).map(reportFromRow) : NONE,
    meters: needs.meters?.map((need) => entry.meters.get(statements, need)) ?? NONE,
  };
}

function loadDenials(
  statements: Statements,
  id: number,
  scope: DenialScope | null | undefined,
): Pick<LicenseView, 'denials' | 'placeDenials'> {
  if (!scope) return NO_DENIALS;
  const { user, place } = scope;
  return {
    denials: statements.listDenialsOf.all(id, user).map(denialFromRow),
    placeDenials:
      place === null ? NONE : statements.listPlaceDenialsOf.all(id, place).map(placeDenialFromRow),
  };
}

export function findRegistration(
  statements: Statements,
  licenseId: number,
  user: string,
): Registration | null {
  const row = statements.findRegistration.get(licenseId, user);
  return row === undefined ? null : registrationFromRow(row);
}

function findEndedBorrow(statements: Statements, licenseId: number, user: string): EndedBorrow | null {
  const row = statements.findEndedBorrow.get(licenseId, user);
  return row === undefined ? null : endedBorrowFromRow(row);
}

function countCrowd(statements: Statements, id: number, range: AddressRange, now: Instant): Crowd {
  const row = statements.countCrowd.get({ id, now, ...originKeys(range) });
  return { slots: countOf(row), borrows: row?.borrows as number };
}

function listHolders(statements: Statements, entry: ShelfEntry, users: readonly string[]) {
  return users.flatMap((user) => {
    const registration = findRegistration(statements, entry.license.id, user);
    if (registration === null) return [];
    return [{ registration, featureSlots: listFeatureSlots(statements, entry, user) }];
  });
}

export function findAnswer(
  statements: Statements,
  licenseId: number,
  { operation, user, key }: AnswerScope,
): RememberedAnswer | null {
  const row = statements.findAnswer.get(licenseId, operation, user, key);
  return row === undefined ? null : answerFromRow(row);
}

/** What was told before of the same thing; `null`: nothing. */
export function findNotice(statements: Statements, { kind, subject }: NoticeKey): number | null {
  return (statements.findNotice.get(kind, subject)?.value as number | undefined) ?? null;
}

function loadHead(
  { statements, rules, now }: ViewSource,
  entry: ShelfEntry,
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

function loadEnded(statements: Statements, entry: ShelfEntry, now: Instant): readonly Registration[] {
  if (now < entry.noEndBefore) return NONE;
  const { id } = entry.license;
  const ended = statements.listEnded.all(id, now, COLLECT_LIMIT).map(registrationFromRow);
  if (ended.length === 0) {
    entry.noEndBefore = instantOrNull(statements.findFirstEnd.get(id)?.ends_at) ?? NO_END;
  }
  return ended;
}

function countBeyond(statements: Statements, entry: ShelfEntry, collected: number, now: Instant): number {
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

export function countOf(row: Record<string, unknown> | undefined): number {
  return row?.count as number;
}
