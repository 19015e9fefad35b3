import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { LicenseId } from '../../../core/nouns/license.ts';
import type { AllRows } from '../../engine/row-sql.ts';
import { STATEMENTS, type Statements } from '../../engine/statements.ts';
import { prepare } from '../wire/read-rows.ts';

type Rows = AllRows['ended_borrow'];

/**
 * Knows which licenses have no ended borrow, so that most users who give back a slot need not look for one.
 * Only `put` and `add` make rows. After a command was undone nothing is known, and after a failed commit the
 * file is opened again.
 */
export class EndedBorrows {
  readonly rows: Rows;
  readonly #remove: StatementSync;
  readonly #findAny: StatementSync;
  /** Whether a license may have some; one that is missing was not looked at. */
  readonly #mayHave = new Map<LicenseId, boolean>();

  constructor(db: DatabaseSync, rows: Rows) {
    this.#remove = prepare(db, STATEMENTS.removeEndedBorrows.sql);
    this.#findAny = db.prepare('SELECT 1 FROM ended_borrow WHERE license_id = ? LIMIT 1');
    const noting = (write: Rows['put']): Rows['put'] => {
      return (row) => {
        this.#mayHave.set(row.license_id, true);
        write(row);
      };
    };
    this.rows = { ...rows, put: noting(rows.put), add: noting(rows.add) };
  }

  readonly remove: Statements['removeEndedBorrows'] = {
    run: (...[values]) => {
      const { id, user, feature } = values as { id: LicenseId; user: string; feature: string | null };
      const before = this.#mayHave.get(id);
      if (before === false) return;
      const { changes } = this.#remove.run({ id, user, feature });
      if (before === undefined || changes !== 0) this.#mayHave.set(id, this.#findAny.get(id) !== undefined);
    },
  };

  forget(): void {
    this.#mayHave.clear();
  }
}
