import type { Connection } from '../../../src/store/postgres/wire/connection.ts';
import { type OpeningOptions, openConnection } from '../../../src/store/postgres/wire/database.ts';

/** Connections that nobody uses at the moment, by what they were opened for. */
const kept = new Map<string, Connection[]>();

/**
 * Opens a connection that is kept for the next store on the same database when it is closed. Opening one,
 * and planning every statement anew, takes longer than most cases of the exam.
 */
export async function openKept(options: OpeningOptions): Promise<Connection> {
  const { target, answerTimeoutMs, onNotification } = options;
  if (onNotification !== undefined) return openConnection(options);
  const purpose = JSON.stringify([target, answerTimeoutMs]);
  const idle = kept.get(purpose) ?? [];
  kept.set(purpose, idle);
  for (let found = idle.pop(); found !== undefined; found = idle.pop()) {
    if (!found.isDead) return found;
  }
  const connection = await openConnection(options);
  const close = connection.close.bind(connection);
  connection.close = async () => {
    if (connection.isDead || connection.isBusy) await close();
    else idle.push(connection);
  };
  closers.set(connection, close);
  return connection;
}

const closers = new Map<Connection, () => Promise<void>>();

/** An open connection would keep the process alive. */
export async function closeKept(): Promise<void> {
  await Promise.all([...closers.values()].map((close) => close()));
  closers.clear();
  kept.clear();
}
