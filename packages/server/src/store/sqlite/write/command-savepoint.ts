import type { Savepoint } from '../../engine/batch.ts';
import type { SqliteStatements } from './statements.ts';

/** Set only for commands that ask for it: most write a single row, which fails or not as a whole. */
export class CommandSavepoint implements Savepoint {
  readonly #statements: SqliteStatements;
  #isSet = false;
  #writesBefore = 0;

  constructor(statements: SqliteStatements) {
    this.#statements = statements;
  }

  begin(): void {
    this.#isSet = false;
    this.#writesBefore = this.#statements.registration.writes;
  }

  set(): void {
    if (this.#isSet) return;
    this.#statements.registration.writeRenewals();
    this.#statements.savepoint.run();
    this.#isSet = true;
  }

  release(): void {
    if (this.#isSet) this.#statements.release.run();
  }

  rollBack(): void {
    if (!this.#isSet) return;
    this.#statements.rollbackTo.run();
    this.#statements.release.run();
    this.#statements.registration.rollBack();
    this.#statements.endedBorrows.forget();
  }

  /** A full or broken disk, and what was written without a savepoint, concerns the whole batch. */
  concernsAll(error: unknown): boolean {
    return concernsTheFile(error) || this.#cannotUndo();
  }

  #cannotUndo(): boolean {
    return !this.#isSet && this.#statements.registration.writes !== this.#writesBefore;
  }
}

const SQLITE_CONSTRAINT = 19;

/** A violated constraint or a bug concerns only its command. */
function concernsTheFile(error: unknown): boolean {
  if (!(error instanceof Error) || !('errcode' in error)) return false;
  return ((error.errcode as number) & 0xff) !== SQLITE_CONSTRAINT;
}
