import { type SystemDecision, unchanged } from '../decision.ts';
import type { SystemEventOf } from '../nouns/audit-event.ts';
import { DAY_MS, type Instant } from '../nouns/instant.ts';
import type { License } from '../nouns/license.ts';
import {
  BACKUP_FAILED,
  BACKUP_OVERDUE,
  backupKey,
  heldKey,
  type NoticeKey,
  partSubject,
  tokenNoticeKey,
} from '../nouns/notice-key.ts';
import type { Note } from '../system-command.ts';
import { ON_SERVER, type SystemFacts, type SystemModule } from '../system-module.ts';

/** Whether it is time to say that a license ends. Its grace comes on top, and is not counted. */
export function isExpiring({ validUntil, enabled, active }: License, now: Instant, days: number): boolean {
  if (validUntil === null || !enabled || !active) return false;
  return now < validUntil && validUntil <= now + days * DAY_MS;
}

/** A condition ends further down than it begins, so that use at the limit is not reported over and over. */
type Level = 'reached' | 'left' | 'between';

/** How far below its limit, in percentage points, use has to fall until there is room again. */
const ROOM_POINTS = 10;

/** Whether so much is in use of something that an administrator should know. 0 percent: never. */
export function judgeUse(used: number, most: number, percent: number): Level {
  if (percent === 0 || most <= 0) return 'left';
  if (used * 100 >= percent * most) return 'reached';
  return used * 100 < Math.max(percent - ROOM_POINTS, percent / 2) * most ? 'left' : 'between';
}

/** The same for slots. A single slot is full whenever it is used, which is no news. */
export function judgeSlots(inUse: number, slots: number, percent: number): Level {
  return slots === 1 ? 'left' : judgeUse(inUse, slots, percent);
}

/** How much more than the limit has to be free until a disk has room again. */
const DISK_MARGIN = 1.2;

export function judgeDisk(freeMegabytes: number, limitMegabytes: number): Level {
  if (freeMegabytes < limitMegabytes) return 'reached';
  return freeMegabytes >= limitMegabytes * DISK_MARGIN ? 'left' : 'between';
}

/** Whether it is time to say that a certificate ends; one that has ended was missed. 0 days: never. */
export function isCertificateEnding(validUntil: Instant, now: Instant, days: number): boolean {
  return days > 0 && validUntil <= now + days * DAY_MS;
}

/**
 * Every notice is recorded once, however often and by however many servers the fact is noticed: the end of a
 * license, token or certificate once for each end date; an outage, a full disk, a used-up license or a
 * doubtful certificate once until it is over; that a cloud binds its answers once until an administrator
 * releases it; that backups fail once until one succeeds;
 * and that members of groups are old once until none are.
 */
export const note = {
  ...ON_SERVER,
  needs: (command) => ({ notice: noticeKeyOf(command) }),

  decide(command, { notedValue }: Pick<SystemFacts, 'notedValue'>, now) {
    const { notice } = command;
    const key = noticeKeyOf(command);
    switch (notice.kind) {
      case 'license_expiring':
      case 'certificate_expiring':
        if (notedValue === notice.validUntil) return unchanged();
        return record({ kind: 'put_notice', key, value: notice.validUntil }, notice);
      case 'token_expiring':
        if (notedValue === notice.expiresAt) return unchanged();
        return record({ kind: 'put_notice', key, value: notice.expiresAt }, notice);
      case 'cloud_unreachable':
        if (notedValue !== null) return unchanged();
        return record({ kind: 'put_notice', key, value: notice.failingAt }, notice);
      case 'cloud_reachable':
        if (notedValue === null) return unchanged();
        return record({ kind: 'remove_notice', key }, { ...notice, failingAt: notedValue as Instant });
      case 'disk_space_low':
      case 'certificate_wrong':
      case 'certificate_missing':
      case 'license_nearly_full':
      case 'consumption_nearly_used_up':
      case 'backup_failed':
      case 'backup_overdue':
      case 'groups_outdated':
      case 'cloud_held_to_nonces':
        return notedValue === null ? record({ kind: 'put_notice', key, value: now }, notice) : unchanged();
      case 'disk_space_recovered':
      case 'certificate_right':
      case 'license_has_room':
      case 'consumption_has_room':
      case 'groups_up_to_date':
      case 'cloud_released_from_nonces':
        return notedValue === null ? unchanged() : record({ kind: 'remove_notice', key }, notice);
      case 'backup_made':
        return noteBackup(key, notice, now);
    }
  },
} satisfies SystemModule<Note>;

/** The end of an outage is reported only if the outage was. */
function noticeKeyOf({ notice }: Note): NoticeKey {
  switch (notice.kind) {
    case 'license_expiring':
    case 'certificate_wrong':
    case 'certificate_missing':
      return { kind: notice.kind, subject: String(notice.licenseId) };
    case 'token_expiring':
      return tokenNoticeKey(notice.tokenId);
    case 'cloud_held_to_nonces':
    case 'cloud_released_from_nonces':
      return heldKey(notice.fingerprint);
    case 'certificate_expiring':
      return { kind: notice.kind, subject: notice.fingerprint };
    case 'certificate_right':
      return { kind: notice.after, subject: String(notice.licenseId) };
    case 'disk_space_low':
    case 'disk_space_recovered':
      return { kind: 'disk_space_low', subject: `${notice.hostname} ${notice.folder}` };
    case 'license_nearly_full':
    case 'license_has_room':
      return { kind: 'license_nearly_full', subject: partSubject(notice.licenseId, notice.feature) };
    case 'consumption_nearly_used_up':
    case 'consumption_has_room':
      return { kind: 'consumption_nearly_used_up', subject: partSubject(notice.licenseId, notice.feature) };
    case 'backup_made':
      return backupKey(notice.file === null ? 'request' : 'schedule');
    case 'backup_failed':
      return BACKUP_FAILED;
    case 'backup_overdue':
      return BACKUP_OVERDUE;
    case 'groups_outdated':
    case 'groups_up_to_date':
      return { kind: 'groups_outdated', subject: '' };
    default:
      return { kind: 'cloud_unreachable', subject: '' };
  }
}

/** Every backup is recorded: it is a copy of everything. The next failure of the schedule is a new one. */
function noteBackup(key: NoticeKey, notice: SystemEventOf<'backup_made'>, now: Instant): SystemDecision {
  const made = record({ kind: 'put_notice', key, value: now }, notice);
  if (notice.file === null) return made;
  const over = [BACKUP_FAILED, BACKUP_OVERDUE].map((key) => ({ kind: 'remove_notice', key }) as const);
  return { ...made, changes: [...made.changes, ...over] };
}

function record(
  change: SystemDecision['changes'][number],
  event: SystemDecision['events'][number],
): SystemDecision {
  return { outcome: { kind: 'done', count: 1 }, changes: [change], events: [event] };
}
