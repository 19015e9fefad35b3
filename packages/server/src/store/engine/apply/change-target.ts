import type { Instant } from '../../../core/nouns/instant.ts';
import type { Shelf, ShelfEntry } from '../shelf.ts';
import type { Statements } from '../statements.ts';

/** How many first answers are remembered, counted along so that nobody has to count rows. */
export interface AnswerCount {
  count: number;
  readonly limit: number;
}

/** What a change is applied to. */
export interface ChangeTarget {
  readonly statements: Statements;
  readonly shelf: Shelf;
  readonly entry: ShelfEntry;
  readonly now: Instant;
  readonly answers: AnswerCount;
}
