/** Under which name it is written down that something was told. */
export interface NoticeKey {
  readonly kind: 'license_expiring' | 'token_expiring' | 'cloud_unreachable' | 'cloud_held';
  /** Empty where there is only one such thing. */
  readonly subject: string;
}

/** Where it is remembered since when a cloud has to bind its answers to requests. */
export function heldKey(fingerprint: string): NoticeKey {
  return { kind: 'cloud_held', subject: fingerprint };
}

export function tokenNoticeKey(tokenId: string): NoticeKey {
  return { kind: 'token_expiring', subject: tokenId };
}
