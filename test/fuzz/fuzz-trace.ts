import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

/**
 * Writes down every row that is added, changed or removed, in whatever table, within the transaction that
 * does it. A table that is new is watched too. That an end moves from the log of renewals to its row is not
 * written down, since both mean the same.
 */
export interface Trace {
  /** What has happened since the last look, such as "license changed audit_n audit_mac". */
  read(): readonly string[];
  close(): void;
}

export function openTrace(folder: string): Trace {
  const db = new DatabaseSync(join(folder, 'berth.db'), { timeout: 5000 });
  db.exec('CREATE TABLE fuzz_trace (id INTEGER PRIMARY KEY, what TEXT NOT NULL)');
  for (const table of listTables(db)) db.exec(watch(table, listColumns(db, table)));
  const select = db.prepare('SELECT id, what FROM fuzz_trace WHERE id > ? ORDER BY id');
  let seen = 0;
  return {
    read() {
      const rows = select.all(seen);
      seen = Number(rows.at(-1)?.id ?? seen);
      return rows.map(({ what }) => String(what));
    },
    close: () => db.close(),
  };
}

function listTables(db: DatabaseSync): readonly string[] {
  const rows = db
    .prepare(`SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> 'fuzz_trace'`)
    .all();
  return rows.map(({ name }) => String(name)).filter((name) => !name.startsWith('sqlite_'));
}

function listColumns(db: DatabaseSync, table: string): readonly string[] {
  return db
    .prepare(`PRAGMA table_info("${table}")`)
    .all()
    .map(({ name }) => String(name));
}

const UNLESS_LOGGED: Readonly<Record<string, string>> = {
  'registration.ends_at': ` AND new.ends_at IS NOT (SELECT renewal.ends_at FROM renewal, json_each(users)
    WHERE license_id = new.license_id AND value = new."user" ORDER BY seq DESC LIMIT 1)`,
};

function watch(table: string, columns: readonly string[]): string {
  const note = (what: string) => `BEGIN INSERT INTO fuzz_trace (what) VALUES (${what}); END;`;
  const changes = columns.map((name) => {
    const isChanged = `old."${name}" IS NOT new."${name}"${UNLESS_LOGGED[`${table}.${name}`] ?? ''}`;
    return `iif(${isChanged}, ' ${name}', '')`;
  });
  const when = table === 'renewal' ? `WHEN new.users <> '[]'` : '';
  return `
    CREATE TRIGGER "fuzz_add_${table}" AFTER INSERT ON "${table}" ${when} ${note(`'${table} added'`)}
    CREATE TRIGGER "fuzz_remove_${table}" AFTER DELETE ON "${table}" ${note(`'${table} removed'`)}
    CREATE TRIGGER "fuzz_change_${table}" AFTER UPDATE ON "${table}"
      ${note(`'${table} changed' || ${changes.join(' || ')}`)}`;
}
