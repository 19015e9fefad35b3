/** Identifies what a notice is about. */
export interface NoticeKey {
  readonly kind:
    | 'license_expiring'
    | 'token_expiring'
    | 'cloud_unreachable'
    | 'cloud_held'
    | 'disk_space_low'
    | 'certificate_expiring'
    | 'certificate_wrong'
    | 'certificate_missing'
    | 'license_nearly_full'
    | 'consumption_nearly_used_up'
    | 'master_key_exported'
    | 'backup_made'
    | 'backup_failed'
    | 'backup_overdue'
    | 'groups_outdated'
    | 'sign_in_used';
  /** Empty if there is only one such thing. */
  readonly subject: string;
}

/** Stores since when a cloud must bind its answers to requests. */
export function heldKey(fingerprint: string): NoticeKey {
  return { kind: 'cloud_held', subject: fingerprint };
}

export function tokenNoticeKey(tokenId: string): NoticeKey {
  return { kind: 'token_expiring', subject: tokenId };
}

/** Stores when this attempt to sign in with a provider was used: it counts once, on all servers together. */
export function attemptKey(attempt: string): NoticeKey {
  return { kind: 'sign_in_used', subject: attempt };
}

/**
 * Stores when the holder of a new token had last shown a provider or a directory who they are. It is
 * forgotten together with the attempts.
 */
export function confirmedKey(tokenHash: string): NoticeKey {
  return { kind: 'sign_in_used', subject: tokenHash };
}

/** A license, or one of its features. */
export function partSubject(licenseId: number, feature: string | null): string {
  return feature === null ? String(licenseId) : `${licenseId} ${feature}`;
}

/** Stores when the master key with this fingerprint was last exported, also into a backup. */
export function exportKey(fingerprint: string): NoticeKey {
  return { kind: 'master_key_exported', subject: fingerprint };
}

/** Stores when the last backup was made: by the schedule, or on request. */
export function backupKey(origin: 'schedule' | 'request'): NoticeKey {
  return { kind: 'backup_made', subject: origin };
}

export const BACKUP_FAILED: NoticeKey = { kind: 'backup_failed', subject: '' };
export const BACKUP_OVERDUE: NoticeKey = { kind: 'backup_overdue', subject: '' };
