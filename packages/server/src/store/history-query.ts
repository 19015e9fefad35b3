import type { ErrorCode } from '@berth/protocol/errors';
import type { SlotBucket, SlotPoint, SlotState, SlotTotals } from '../core/history/slot-points.ts';
import type { HistoryCutoffs, HistoryStep } from '../core/history/thinning.ts';
import type { WaitFigures } from '../core/history/wait-figures.ts';
import type { WhatIf } from '../core/history/what-if.ts';
import type { Instant } from '../core/nouns/instant.ts';
import type { LicenseId } from '../core/nouns/license.ts';

/** Buckets that begin at or after `since` and before `until`. */
interface Span {
  readonly since: Instant;
  readonly until: Instant;
}

interface OfLicense extends Span {
  /** `null`: of all licenses, also removed ones. */
  readonly licenseId: LicenseId | null;
  /** If not one license is meant: only these. */
  readonly among?: readonly LicenseId[] | undefined;
}

export type WhichLicenses = Pick<OfLicense, 'licenseId' | 'among'>;

/** Questions about the history. */
export type HistoryQuery =
  | ListSlotHistory
  | ListDenialHistory
  | ListUserHistory
  | ListConsumptionHistory
  | ListWaitHistory
  | ({ readonly kind: 'begin_what_if' } & WhatIfScope)
  | ListWhatIfBuckets
  | ListWhatIfDenials
  | { readonly kind: 'list_products' }
  | ({ readonly kind: 'list_old_history' } & HistoryCutoffs);

export interface ListSlotHistory extends OfLicense {
  readonly kind: 'list_slot_history';
  /** Empty: the license itself; `null`: the license and all of its features. */
  readonly feature: string | null;
  /** How long a bucket of the answer is; where the history is coarser, so is the answer. */
  readonly stepMs: number;
}

export interface ListDenialHistory extends OfLicense {
  readonly kind: 'list_denial_history';
  readonly feature: string | null;
  readonly user: string | null;
  /** Only of users with this part in their names; case does not matter. */
  readonly search?: string | undefined;
  readonly reason: string | null;
  readonly limit: number;
}

export interface ListUserHistory extends OfLicense {
  readonly kind: 'list_user_history';
  readonly user: string | null;
  /** Only those with this part in their names; case does not matter. */
  readonly search?: string | undefined;
  /** A row for each day, while days are kept. */
  readonly isByDay?: boolean | undefined;
  readonly limit: number;
}

export interface ListConsumptionHistory extends OfLicense {
  readonly kind: 'list_consumption_history';
  readonly feature: string | null;
  readonly limit: number;
}

export interface ListWaitHistory extends OfLicense {
  readonly kind: 'list_wait_history';
  readonly feature: string | null;
}

/** About what it is asked how it would have gone with other slots. What it takes is read in pages. */
export interface WhatIfScope extends Span {
  readonly licenseId: LicenseId;
  /** Empty: the license itself. */
  readonly feature: string;
}

export interface ListWhatIfBuckets extends WhatIfScope {
  readonly kind: 'list_what_if_buckets';
  readonly limit: number;
}

/** Requests that found no free slot, in the order of their keys. */
export interface ListWhatIfDenials extends WhatIfScope {
  readonly kind: 'list_what_if_denials';
  readonly after: DenialKey | null;
  readonly limit: number;
}

export interface HistoryAnswers {
  /** Of every license, also of removed ones. */
  list_products: readonly { readonly licenseId: LicenseId; readonly product: string }[];
  list_slot_history: readonly SlotSeries[];
  list_denial_history: DenialHistory;
  list_user_history: { readonly users: readonly UserHistory[]; readonly leftOff: number };
  list_consumption_history: readonly ConsumptionHistory[];
  list_wait_history: readonly WaitHistory[];
  /** `null`: there is no such license or feature. */
  begin_what_if: WhatIfBeginning | null;
  /** In order of time. */
  list_what_if_buckets: readonly SlotBucket[];
  list_what_if_denials: readonly WhatIfDenial[];
  /** What to thin out. */
  list_old_history: readonly { readonly licenseId: LicenseId; readonly step: HistoryStep }[];
}

/** A license, or a feature of it if that is not `null`. */
interface Subject {
  readonly licenseId: LicenseId;
  /** As clients call it, and as people do. */
  readonly product: string;
  readonly name: string;
  readonly feature: string | null;
}

export interface SlotSeries extends Subject {
  /** How many there are now. */
  readonly slots: number;
  /** When the curve begins: later than asked for if the license was added later. */
  readonly beginsAt: Instant;
  readonly totals: SlotTotals;
  readonly points: readonly SlotPoint[];
}

export interface DenialHistory {
  readonly total: number;
  readonly byReason: readonly { readonly reason: ErrorCode; readonly count: number }[];
  /** Only those that a rule refused. */
  readonly byRule: readonly { readonly rule: string; readonly count: number }[];
  readonly byLicense: readonly (Subject & { readonly count: number })[];
  readonly byUser: readonly (Somebody & { readonly count: number })[];
  /** Newest first. */
  readonly denials: readonly DenialRecord[];
  readonly leftOff: number;
}

/** `user` is `null` for requests that named nobody, and for users that are not named. */
interface Somebody {
  readonly user: string | null;
  /** The sum of all users that are not named. */
  readonly others: boolean;
}

export interface DenialRecord extends Subject, Somebody {
  readonly firstAt: Instant;
  readonly lastAt: Instant;
  readonly reason: ErrorCode;
  /** The rule that refused; `null`: none did. */
  readonly rule: string | null;
  readonly host: string | null;
  readonly address: string | null;
  readonly count: number;
  readonly explanation: string;
}

interface UserHistory extends Subject, Somebody {
  /** The start of the day, UTC; `null`: of the whole time. */
  readonly day: Instant | null;
  readonly grants: number;
  readonly denials: number;
  /** Slots that were given back or expired. */
  readonly sessions: number;
  /** How long those were held. */
  readonly heldMs: number;
  readonly lastAt: Instant;
}

interface ConsumptionHistory extends Subject {
  /** The start of the day, UTC. */
  readonly day: Instant;
  readonly amount: number;
}

interface WaitHistory extends Subject, WaitFigures {}

interface WhatIfFacts extends Subject {
  readonly slots: number;
  /** How long users really waited in the line. */
  readonly waits: WaitHistory;
}

interface WhatIfBeginning extends WhatIfFacts {
  /** How long slots were held; `null`: none was given back yet. */
  readonly medianMinutes: number | null;
  readonly start: SlotState;
}

interface DenialKey {
  readonly user: string;
  /** 1: users who are not named. */
  readonly others: number;
  readonly host: string;
  readonly address: string;
  readonly rule: string;
  readonly grain: number;
  readonly at: Instant;
}

export interface WhatIfDenial extends DenialKey {
  readonly firstAt: Instant;
  readonly lastAt: Instant;
}

export interface WhatIfAnswer extends WhatIfFacts, WhatIf {
  /** `null`: no slot was given back yet. */
  readonly medianMs: number | null;
}
