import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import type { GivenKey } from '../../../secrets/master-key.ts';
import type { MasterKey } from '../../../secrets/seal.ts';
import { columnsOf, quoteNames, TABLE_NAMES, type TableName } from '../../engine/tables.ts';
import { DATABASE_FILE } from '../../folder-access.ts';
import { type CopiedRow, PAGE_ROWS, type StoreSource } from '../../store-copy.ts';
import { explainFailure, openDataFolder } from '../data-folder.ts';
import { verifyAudit } from '../read/verify-audit.ts';
import { openReadOnly } from '../wire/database.ts';
import { countRows, readHead } from '../wire/describe-contents.ts';
import { markMoved } from '../wire/moved-mark.ts';
import { loadAuditKey, loadIdentityKey } from '../wire/sealed-secrets.ts';

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
    return sourceOf(openReadOnly(join(folder, DATABASE_FILE)), {
      place: folder,
      identity,
      verifyAudit: () => store.read({ kind: 'verify_audit' }),
      markMoved: async (to) => markMoved(folder, to),
      // It is open only for its lock, and writes nothing by itself.
      close: () => store.close(),
    });
  } catch (error) {
    await store.close();
    throw explainFailure(error);
  }
}

/** A database file that nobody uses, and whose master key is known. */
export function openFileSource(file: string, masterKey: MasterKey, identity: string): StoreSource {
  const db = openReadOnly(file);
  const keys = () => ({ audit: loadAuditKey(db, masterKey), identity: loadIdentityKey(db, masterKey) });
  return sourceOf(db, {
    place: file,
    identity,
    verifyAudit: async () => verifyAudit(db, keys()),
    markMoved: async () => {},
    close: async () => {},
  });
}

type SourceParts = Pick<StoreSource, 'place' | 'identity' | 'verifyAudit' | 'markMoved' | 'close'>;

function sourceOf(db: DatabaseSync, parts: SourceParts): StoreSource {
  return {
    ...parts,
    tables: TABLE_NAMES,
    countRows: async () => countRows(db),
    readHead: async () => readHead(db),
    async *listPages(table: TableName) {
      const order = table === 'audit_link' ? 'ORDER BY seq' : '';
      const columns = quoteNames(columnsOf(table));
      const rows = db.prepare(`SELECT ${columns} FROM ${table} ${order}`).iterate();
      for (let page = takePage(rows); page.length > 0; page = takePage(rows)) yield page;
    },
    async close() {
      db.close();
      await parts.close();
    },
  };
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
