/** Identifies something that was told. */
export interface NoticeKey {
  readonly kind: 'license_expiring' | 'token_expiring' | 'cloud_unreachable' | 'cloud_held';
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
