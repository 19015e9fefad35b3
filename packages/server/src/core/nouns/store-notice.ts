import type { ClockJumped } from './audit-event.ts';
import type { Instant } from './instant.ts';

/** What a store reports to whoever opened it, for the log. */
export type StoreNotice =
  | ClockJumped
  | { readonly kind: 'clock_agrees'; readonly serverAt: Instant }
  | { readonly kind: 'clock_taken_over'; readonly from: Instant; readonly to: Instant }
  | { readonly kind: 'server_paused'; readonly from: Instant; readonly to: Instant }
  | { readonly kind: 'heads_signed'; readonly links: number; readonly digest: string }
  | { readonly kind: 'anchor_lost' }
  | { readonly kind: 'log_damaged'; readonly isLost: boolean }
  | { readonly kind: 'sums_damaged' }
  | { readonly kind: 'pages_changed'; readonly pages: string }
  | { readonly kind: 'commit_failed'; readonly error: string }
  | { readonly kind: 'store_recovered' }
  /** `lost`: licenses that lack changes which this server had acknowledged; `null` if that is not known. */
  | { readonly kind: 'database_moved'; readonly host: string; readonly lost: number | null }
  | { readonly kind: 'two_primaries'; readonly inUse: string; readonly other: string }
  | { readonly kind: 'store_lost'; readonly error: string };
