import type { LicenseCommand } from '../../core/command.ts';
import { needsOf } from '../../core/decide.ts';
import type { Instant } from '../../core/instant.ts';
import type { Registration } from '../../core/registration.ts';
import { COLLECT_LIMIT, type LicenseHead, type LicenseView } from '../../core/view.ts';
import { denialFromRow, instantOrNull, registrationFromRow } from './rows.ts';
import type { ShelfEntry } from './shelf.ts';
import type { Statements } from './statements.ts';

/** Loads the narrow view that a decision asks for. A renewal costs one statement. */
export function loadView(
  statements: Statements,
  entry: ShelfEntry,
  command: LicenseCommand,
  now: Instant,
): LicenseView {
  const head = loadHead(statements, entry, now);
  const needs = needsOf(command, head, now);
  const id = entry.license.id;
  return {
    ...head,
    nextEndsAt: needs.nextEnd ? instantOrNull(statements.findNextEnd.get(id, now)?.ends_at) : null,
    registration:
      needs.registrationOf === null ? null : findRegistration(statements, id, needs.registrationOf),
    denials:
      needs.denialsOf === null ? [] : statements.listDenialsOf.all(id, needs.denialsOf).map(denialFromRow),
    recalls: needs.recallsAfter === null ? 0 : countOf(statements.countRecalls.get(id, needs.recallsAfter)),
    staleDenials:
      needs.denialsOpenedBy === null
        ? []
        : statements.listDenialsBy.all(id, needs.denialsOpenedBy, COLLECT_LIMIT).map(denialFromRow),
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

function loadHead(statements: Statements, entry: ShelfEntry, now: Instant): LicenseHead {
  const { license, storedInUse } = entry;
  if (now < entry.noEndBefore) return { license, storedInUse, ended: [], endedBeyond: 0 };
  const ended = statements.listEnded.all(license.id, now, COLLECT_LIMIT).map(registrationFromRow);
  if (ended.length === 0) raiseBound(statements, entry);
  return { license, storedInUse, ended, endedBeyond: countBeyond(statements, entry, ended.length, now) };
}

function raiseBound(statements: Statements, entry: ShelfEntry): void {
  const firstEnd = instantOrNull(statements.findFirstEnd.get(entry.license.id)?.ends_at);
  entry.noEndBefore = firstEnd ?? Number.MAX_SAFE_INTEGER;
}

function countBeyond(statements: Statements, entry: ShelfEntry, collected: number, now: Instant): number {
  if (collected < COLLECT_LIMIT) return 0;
  return countOf(statements.countEnded.get(entry.license.id, now)) - collected;
}

function countOf(row: Record<string, unknown> | undefined): number {
  return row?.count as number;
}
