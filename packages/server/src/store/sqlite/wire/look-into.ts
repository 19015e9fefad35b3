import { type Instant, instant } from '../../../core/nouns/instant.ts';
import type { MasterKey } from '../../../secrets/seal.ts';
import { SCHEMA_VERSION } from '../../engine/migrations.ts';
import type { RowOf } from '../../engine/tables.ts';
import { openForReading } from './database.ts';
import { findRow, readPragma } from './read-rows.ts';
import { loadAuditKey } from './sealed-secrets.ts';

/**
 * Looks into a file that cannot be written now. Returns the time at which its store was last alive; `null` if
 * queries cannot be answered from it. Throws if it is sealed with another key.
 */
export function lookInto(file: string, masterKeys: readonly MasterKey[]): Instant | null {
  const { db } = openForReading(file);
  try {
    if (readPragma(db, 'user_version') !== SCHEMA_VERSION) return null;
    loadAuditKey(db, ...masterKeys);
    return findRow<Pick<RowOf<'server'>, 'mark'>>(db, 'SELECT mark FROM server')?.mark ?? instant(0);
  } finally {
    db.close();
  }
}
