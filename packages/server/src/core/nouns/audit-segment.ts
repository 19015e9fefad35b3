import type { Instant } from './instant.ts';

/** What is left of the first links of a chain after they were thinned out. */
export interface AuditSegment {
  readonly chain: number;
  readonly firstN: number;
  readonly lastN: number;
  readonly firstMac: Uint8Array;
  readonly lastMac: Uint8Array;
  readonly firstAt: Instant;
  readonly lastAt: Instant;
  readonly links: number;
  readonly events: number;
  /** Events by their kind, as JSON text. */
  readonly totals: string;
}
