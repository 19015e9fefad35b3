import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import type { GivenKey } from '../../../secrets/master-key.ts';
import { columnsOf, quoteNames, TABLE_NAMES, type TableName } from '../../engine/tables.ts';
import { DATABASE_FILE } from '../../folder-access.ts';
import type { AuditVerdict } from '../../query.ts';
import type { Store } from '../../store.ts';
import { type CopiedRow, PAGE_ROWS, type RowCounts, type StoreSource } from '../../store-copy.ts';
import { explainFailure, openDataFolder } from '../wire/data-folder.ts';
import { openReadOnly } from '../wire/database.ts';
import { countRows, readHead } from '../wire/describe-contents.ts';
import { markMoved } from './moved-mark.ts';

interface SqliteSourceOptions {
  readonly folder: string;
  readonly masterKey: GivenKey;
}

/** Opens the data in a folder to be moved elsewhere. `null`: another process has the folder. */
export async function openSqliteSource({
  folder,
  masterKey,
}: SqliteSourceOptions): Promise<StoreSource | null> {
  const store = await openDataFolder({ folder, masterKey, onNotice: () => {}, useThreads: false });
  if (store === null) return null;
  try {
    const { identity } = await store.read({ kind: 'describe_store' });
    return new SqliteSource(store, folder, identity);
  } catch (error) {
    await store.close();
    throw explainFailure(error);
  }
}

/** The store is open only for its lock. It writes nothing by itself. */
class SqliteSource implements StoreSource {
  readonly place: string;
  readonly identity: string;
  readonly tables = TABLE_NAMES;
  readonly #store: Store;
  readonly #db: DatabaseSync;

  constructor(store: Store, folder: string, identity: string) {
    this.place = folder;
    this.identity = identity;
    this.#store = store;
    this.#db = openReadOnly(join(folder, DATABASE_FILE));
  }

  verifyAudit(): Promise<AuditVerdict> {
    return this.#store.read({ kind: 'verify_audit' });
  }

  async countRows(): Promise<RowCounts> {
    return countRows(this.#db);
  }

  async readHead(): Promise<string> {
    return readHead(this.#db);
  }

  async *listPages(table: TableName): AsyncGenerator<readonly CopiedRow[]> {
    const order = table === 'audit_link' ? 'ORDER BY seq' : '';
    const columns = quoteNames(columnsOf(table));
    const rows = this.#db.prepare(`SELECT ${columns} FROM ${table} ${order}`).iterate();
    for (let page = takePage(rows); page.length > 0; page = takePage(rows)) yield page;
  }

  async markMoved(to: string): Promise<void> {
    markMoved(this.place, to);
  }

  async close(): Promise<void> {
    this.#db.close();
    await this.#store.close();
  }
}

/** Iterator helpers cannot be used here: they would end the iterator after each page. */
function takePage(rows: Iterator<CopiedRow>): readonly CopiedRow[] {
  const page: CopiedRow[] = [];
  while (page.length < PAGE_ROWS) {
    const { done, value } = rows.next();
    if (done === true) break;
    page.push(value);
  }
  return page;
}
