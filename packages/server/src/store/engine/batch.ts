import type { HeadsSigned } from '../../core/nouns/audit-event.ts';
import type { Instant } from '../../core/nouns/instant.ts';
import type { LicenseId } from '../../core/nouns/license.ts';
import type { Rules } from '../../core/rules/rules.ts';
import type { SystemFacts } from '../../core/system-module.ts';
import type { MasterKey } from '../../secrets/seal.ts';
import type { ChainHead } from './audit/audit-chain.ts';
import type { CountPlaces } from './counts/place-counts.ts';
import type { NameAllowance } from './history/name-allowance.ts';
import type { WaitingLine } from './line/waiting-line.ts';
import type { LoadedLicenses } from './loaded-licenses.ts';
import type { Statements } from './statements.ts';

/** What the commands of one transaction work on. */
export interface Batch {
  readonly statements: Statements;
  readonly savepoint: Savepoint;
  readonly licenses: LoadedLicenses;
  /** The wall clock, for commands that compare it with `now`. */
  readonly clock: SystemFacts['clock'];
  /** Another time after a command that moves the clock. */
  now: Instant;
  /** Seals the secrets; a command may replace it. */
  masterKey: MasterKey;
  /** The rules in force; a command may replace them. */
  rules: Rules;
  /** Users that differ only in case are the same. */
  readonly ignoresCase: boolean;
  /** The system's events, as texts. */
  readonly systemEvents: string[];
  /** The newest link of the system's chain before this commit. */
  readonly systemHead: ChainHead;
  readonly ledger: HeadSigner;
  /** The heads that this commit signs. */
  signed: HeadsSigned | null;
  readonly answers: AnswerCount;
  readonly names: NameAllowance;
  /** Begins to count the slots of a license by place. */
  readonly countPlaces: (id: LicenseId) => CountPlaces;
  /** Who waits for a slot. */
  readonly line: WaitingLine;
  /** The clock went back: the history follows when all of this commit is written. */
  clampsHistory: boolean;
  /** There is something to commit. */
  isChanged: boolean;
}

/** How many first answers are stored, so that rows need not be counted. */
export interface AnswerCount {
  count: number;
  readonly limit: number;
}

/** Undoes what one command has written, but not the commands before it. */
export interface Savepoint {
  /** A command begins. */
  begin(): void;
  /**
   * Call before a command writes, unless it writes a single row, of a registration or a denial: a statement
   * that fails undoes itself.
   */
  set(): void;
  release(): void;
  rollBack(): void;
  /** Returns whether an error concerns all commands of the transaction, and not only this one. */
  concernsAll(error: unknown): boolean;
}

export interface HeadSigner {
  /** The key of the chains. */
  readonly key: Uint8Array;
  /** Nothing was written since the heads were last signed. */
  readonly isSigned: boolean;
  sign(heads: HeadsSigned['heads']): HeadsSigned;
}

/** Undoes what a command has left in memory. */
export type Undo = () => void;
