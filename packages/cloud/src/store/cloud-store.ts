import { randomBytes } from 'node:crypto';
import type { DatabaseSync } from 'node:sqlite';
import type { CloudEvent } from '../core/decision.ts';
import { isRefusal } from '../core/refusal.ts';
import { requireKnownVersion } from './database.ts';
import { prepareStatements, type Statements } from './statements.ts';

/** The database connection and its prepared statements. */
export interface CloudStore {
  readonly db: DatabaseSync;
  readonly sql: Statements;
}

export function createCloudStore(db: DatabaseSync): CloudStore {
  return { db, sql: prepareStatements(db) };
}

/** All or nothing, and exclusive: other processes wait. A refusal rolls back everything that was written. */
export function transact<T>({ db, sql }: CloudStore, work: () => T): T {
  sql.begin.run();
  try {
    requireKnownVersion(sql.findSchemaVersion.get()?.user_version as number);
    const result = work();
    (isRefusal(result) ? sql.rollback : sql.commit).run();
    return result;
  } catch (error) {
    if (db.isTransaction) sql.rollback.run();
    throw error;
  }
}

/**
 * Random, because a restored backup has forgotten the ids that were taken after it: servers know licenses by
 * them, and would take two licenses for one. Below 2^53.
 */
export function takeId(): number {
  // 0 stands for no license.
  return Number(randomBytes(8).readBigUInt64BE() >> 11n) || takeId();
}

/** Call inside the transaction of the change it describes, so that neither exists without the other. */
export function record(
  { sql }: CloudStore,
  { kind, facts }: CloudEvent,
  license: number | null,
  now: number,
): void {
  sql.addEvent.run(now, kind, license, JSON.stringify(facts));
}
