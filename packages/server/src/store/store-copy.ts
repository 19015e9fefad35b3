import type { AuditVerdict } from './query.ts';

/** How many rows each table has. */
export type RowCounts = Readonly<Record<string, number>>;

/** By the names of its columns, which are the same in every store. */
export type CopiedRow = Readonly<Record<string, null | number | bigint | string | Uint8Array>>;

/** How many rows are copied at once. A row of the log may hold some thousand events. */
export const PAGE_ROWS = 500;

/** Describes the data in a store, for comparison. */
export interface StoreContents {
  /** Where it is, for people. */
  readonly place: string;
  verifyAudit(): Promise<AuditVerdict>;
  countRows(): Promise<RowCounts>;
  /** The newest link of the system's chain: every server adds one when it starts. */
  readHead(): Promise<string>;
  /** Without `commit`, nothing has changed. */
  close(): Promise<void>;
}

/** The data of a stopped server. Nobody changes it while it is open here. */
export interface StoreSource extends StoreContents {
  readonly identity: string;
  readonly tables: readonly string[];
  /** All rows of a table, page by page. */
  listPages(table: string): AsyncIterable<readonly CopiedRow[]>;
  /** No server starts here afterwards. */
  markMoved(to: string): Promise<void>;
}

/** Where data is moved to. Nobody sees any of it before it is committed. */
export interface StoreTarget extends StoreContents {
  /** The identity of what is there already; `null`: it is empty. */
  readonly identity: string | null;
  addRows(table: string, rows: readonly CopiedRow[]): Promise<void>;
  /** Anchors the chains of the log as they are, after they were verified in the source. */
  anchorChains(): Promise<void>;
  commit(): Promise<void>;
}

/** What a restore may lose, or must not forget, as of one moment. */
export interface Holdings {
  readonly identity: string;
  /** The latest time used. */
  readonly mark: number | null;
  readonly licenses: readonly { readonly id: number; readonly product: string }[];
  /** The facts of those that were removed, as text. */
  readonly removed: readonly { readonly facts: string }[];
  readonly borrows: readonly HeldBorrow[];
  readonly totals: readonly HeldTotal[];
}

interface HeldBorrow {
  readonly license_id: number;
  readonly user: string;
  /** Empty for the license's own slot. */
  readonly feature: string;
  readonly borrowed_until: number;
}

interface HeldTotal {
  readonly license_id: number;
  readonly feature: string;
  readonly window_start: number;
  readonly total: number;
}
