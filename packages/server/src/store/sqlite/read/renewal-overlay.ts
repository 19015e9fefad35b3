import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { columnsOf, sqliteColumnsOf } from '../../engine/tables.ts';
import { LIST_RENEWALS } from '../wire/fold-renewals.ts';

const COLUMNS = [...columnsOf('registration'), ...sqliteColumnsOf('registration')];

/** Found instead of the table of the same name. The subquery runs only if the end is asked for. */
const VIEW = `CREATE TEMP VIEW registration AS SELECT ${COLUMNS.map(viewColumn).join(', ')}
  FROM main.registration AS row`;

function viewColumn(name: string): string {
  if (name !== 'ends_at') return `row."${name}"`;
  return `coalesce((SELECT renewed.ends_at FROM temp.renewed
    WHERE renewed.license_id = row.license_id AND renewed."user" = row."user"), row.ends_at) AS ends_at`;
}

const SCHEMA = `PRAGMA temp_store = MEMORY;
  CREATE TEMP TABLE renewed (
    license_id INTEGER NOT NULL,
    "user" TEXT NOT NULL,
    ends_at INTEGER NOT NULL,
    PRIMARY KEY (license_id, "user")
  ) STRICT, WITHOUT ROWID;
  ${VIEW}`;

const SPAN = `SELECT (SELECT min(seq) FROM main.renewal) AS first,
  (SELECT max(seq) FROM main.renewal) AS last`;

const ADD = `INSERT INTO temp.renewed SELECT license_id, "user", ends_at FROM (${LIST_RENEWALS})
  WHERE seq > ? ORDER BY seq ON CONFLICT DO UPDATE SET ends_at = excluded.ends_at`;

interface Span {
  readonly first: number | null;
  readonly last: number | null;
}

/**
 * Lets statements of a reading connection find registrations with their renewals, those in the log included.
 * The log only grows, until its beginning is removed: so it is read from where the last statement stopped.
 */
export class RenewalOverlay {
  readonly #db: DatabaseSync;
  readonly #findSpan: StatementSync;
  readonly #add: StatementSync;
  #read: Span = { first: null, last: null };

  constructor(db: DatabaseSync) {
    this.#db = db;
    db.exec(SCHEMA);
    this.#findSpan = db.prepare(SPAN);
    this.#add = db.prepare(ADD);
  }

  /** Runs statements on one moment's state of the file. */
  during<T>(work: () => T): T {
    this.#db.exec('BEGIN');
    try {
      this.#refresh();
      return work();
    } finally {
      if (this.#db.isTransaction) this.#db.exec('COMMIT');
    }
  }

  #refresh(): void {
    const span = this.#findSpan.get() as unknown as Span;
    const goesOn = span.first === this.#read.first;
    if (goesOn && span.last === this.#read.last) return;
    if (!goesOn) this.#db.exec('DELETE FROM temp.renewed');
    this.#add.run(goesOn ? this.#read.last : 0);
    this.#read = span;
  }
}
