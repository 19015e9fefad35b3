import type { AddressRange } from '@berth/protocol/address-range';
import type { LicenseCommand } from '../../../core/command.ts';
import { moduleOf } from '../../../core/decide.ts';
import { WHOLE_LICENSE } from '../../../core/nouns/consumption.ts';
import type { EndedBorrow } from '../../../core/nouns/ended-borrow.ts';
import type { Instant } from '../../../core/nouns/instant.ts';
import type { LicenseId } from '../../../core/nouns/license.ts';
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
import { type LoadedLicense, NO_END } from '../loaded-licenses.ts';
import {
  answerFromRow,
  denialFromRow,
  endedBorrowFromRow,
  originKeys,
  placeDenialFromRow,
  registrationFromRow,
  reportFromRow,
} from '../rows.ts';
import { countOf } from '../sql.ts';
import type { Statements } from '../statements.ts';
import { listFeatureSlots, loadEndedFeatureSlots, loadFeatureView } from './load-feature-view.ts';

/** Where a view is loaded from. */
export interface ViewSource {
  readonly statements: Statements;
  readonly rules: Rules;
  readonly now: Instant;
}

/** Loads the narrow view that a decision asks for. A renewal costs one statement. */
export function loadView(source: ViewSource, entry: LoadedLicense, command: LicenseCommand): LicenseView {
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
    nextEndsAt: needs.nextEnd ? statements.registration.findEnd(id, now) : null,
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

/** What was told before of the same thing; `null`: nothing. */
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
