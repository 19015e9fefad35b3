import { Fault } from '../../../core/nouns/fault.ts';
import type { Ask } from './ask.ts';

/** A table that exists only in a database whose data was moved away. */
const FIND_MARK = "SELECT to_regclass('moved_away')::text AS mark";
const MARK_TABLE = 'CREATE TABLE moved_away (moved_to TEXT, moved_at TIMESTAMPTZ NOT NULL DEFAULT now())';

export async function isMoved(ask: Ask): Promise<boolean> {
  const [found] = await ask(FIND_MARK);
  return found !== undefined && found.mark !== null;
}

/** Every server checks this when it starts, and when the revision has changed. */
export async function refuseMoved(ask: Ask): Promise<void> {
  if (!(await isMoved(ask))) return;
  const [row] = await ask('SELECT max(moved_to) AS moved_to FROM moved_away');
  throw new Fault(
    'store_unavailable',
    `The data of this database was moved to ${row?.moved_to ?? 'another place'}. Start the server there, ` +
      'without BERTH_DATABASE_URL. Only if that is never used again, run "DROP TABLE moved_away" in this ' +
      'database to continue here.',
  );
}

/** A server that was only silent notices the new revision with its next transaction. */
export async function markMoved(ask: Ask, to: string): Promise<void> {
  await ask(MARK_TABLE);
  await ask('INSERT INTO moved_away (moved_to) VALUES ($1)', [to]);
  await ask('UPDATE server SET revision = revision + 1 WHERE id = 1');
}
