import type { DatabaseSync } from 'node:sqlite';
import type { CloudEvent } from '../core/decision.ts';
import { isRefusal } from '../core/refusal.ts';
import { prepareStatements, type Statements } from './statements.ts';

/** What everything in this room works on: one connection to the file, and its statements. */
export interface CloudStore {
  readonly db: DatabaseSync;
  readonly sql: Statements;
}

export function createCloudStore(db: DatabaseSync): CloudStore {
  return { db, sql: prepareStatements(db) };
}

/**
 * All or nothing, and alone: other processes wait until it is over. A refusal changes nothing, whatever was
 * written on the way to it.
 */
export function transact<T>({ db, sql }: CloudStore, work: () => T): T {
  sql.begin.run();
  try {
    const result = work();
    (isRefusal(result) ? sql.rollback : sql.commit).run();
    return result;
  } catch (error) {
    if (db.isTransaction) sql.rollback.run();
    throw error;
  }
}

/** Inside a transaction only. */
export function takeId({ sql }: CloudStore): number {
  return sql.takeId.get()?.id as number;
}

/** Inside the transaction of the change that it tells about: one cannot exist without the other. */
export function record(
  { sql }: CloudStore,
  { kind, facts }: CloudEvent,
  license: number | null,
  now: number,
): void {
  sql.addEvent.run(now, kind, license, JSON.stringify(facts));
}
