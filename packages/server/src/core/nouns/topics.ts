import type { AuditEvent } from './audit-event.ts';

/** What webhooks and channels are told about, and the events of each topic. */
export const TOPICS = {
  slot_denied: ['slot_denied', 'denials_repeated'],
  license_expiring: ['license_expiring'],
  token_expiring: ['token_expiring'],
  cloud_unreachable: ['cloud_unreachable', 'cloud_reachable'],
  clock_jumped: ['clock_jumped'],
  disk_space_low: ['disk_space_low', 'disk_space_recovered'],
  certificate_expiring: ['certificate_expiring'],
  certificate_wrong: ['certificate_wrong', 'certificate_missing', 'certificate_right'],
  license_nearly_full: ['license_nearly_full', 'license_has_room'],
  consumption_nearly_used_up: ['consumption_nearly_used_up', 'consumption_has_room'],
  backup_failed: ['backup_failed', 'backup_overdue'],
  groups_outdated: ['groups_outdated', 'groups_up_to_date'],
} as const satisfies Record<string, readonly AuditEvent['kind'][]>;

export type Topic = keyof typeof TOPICS;

export const TOPIC_NAMES = Object.keys(TOPICS) as readonly Topic[];

/** Lending stops, or data is lost, if no one acts. Messages about these do not wait for a morning. */
export const CRITICAL_TOPICS: readonly Topic[] = [
  'cloud_unreachable',
  'clock_jumped',
  'disk_space_low',
  'certificate_wrong',
  'backup_failed',
];
