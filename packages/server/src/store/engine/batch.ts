import type { HeadsSigned } from '../../core/nouns/audit-event.ts';
import type { Instant } from '../../core/nouns/instant.ts';
import type { Rules } from '../../core/rules/rules.ts';
import type { SystemFacts } from '../../core/system-module.ts';
import type { MasterKey } from '../../secrets/seal.ts';
import type { AnswerCount } from './apply/apply.ts';
import type { ChainHead } from './audit/audit-chain.ts';
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
  /** What seals the secrets; another one after a command that replaces it. */
  masterKey: MasterKey;
  /** Those in force; others after a command that sets them. */
  rules: Rules;
  /** Whether users that differ only in case are one. */
  readonly ignoresCase: boolean;
  /** The system's events, as texts. */
  readonly systemEvents: string[];
  /** The newest link of the system's chain before this commit. */
  readonly systemHead: ChainHead;
  readonly ledger: HeadSigner;
  /** The heads that this commit signs. */
  signed: HeadsSigned | null;
  readonly answers: AnswerCount;
  /** Something has to be committed. */
  isChanged: boolean;
}

/** Undoes what one command has written, while the commands before it stay. */
export interface Savepoint {
  set(): void;
  release(): void;
  rollBack(): void;
  /** Whether an error concerns all commands of the transaction, and not only the one that met it. */
  concernsAll(error: unknown): boolean;
}

/** Vouches for the log. */
export interface HeadSigner {
  /** The key of the chains. */
  readonly key: Uint8Array;
  /** Whether anything was written since the heads were signed. */
  readonly isSigned: boolean;
  sign(heads: HeadsSigned['heads']): HeadsSigned;
}

/** Takes back what a command has left in memory. */
export type Undo = () => void;
