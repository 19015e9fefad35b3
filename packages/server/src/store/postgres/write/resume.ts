import { DOWNTIME_MS } from '../../../core/clock/clock.ts';
import { instant } from '../../../core/nouns/instant.ts';
import { extendLiveSlots } from '../../engine/move-clock.ts';
import type { Connection } from '../wire/connection.ts';
import { commit, type Part } from './commit.ts';
import { readIndex } from './license-index.ts';
import type { WriterMemory } from './memory.ts';
import { prepareBatch } from './prepare-batch.ts';
import { begin } from './transaction.ts';
import { WorkingSet } from './working-set.ts';

/** Returns whether no server was alive for a while; `aliveAt` is null if none ever was. */
export function wasDown(aliveAt: number | null, now: number): boolean {
  return aliveAt === null || now - aliveAt > DOWNTIME_MS;
}

/**
 * Ends a rest. No server was alive, so nobody could send a heartbeat: slots that were live when a server was
 * last alive get a whole timeout. The server's row, which this locks together with all licenses, says when
 * that was; the first server to come does the work, and those after it find that one was alive. It leaves no
 * receipt: if the connection breaks during the commit, doing it again changes nothing that it has done.
 */
export async function resume(connection: Connection, memory: WriterMemory): Promise<void> {
  const scope = { server: true, licenses: 'all' } as const;
  const lane = { name: 'resume', scopeIn: () => scope };
  const opened = await begin(connection, { scope });
  const index = await readIndex(connection);
  const given = { scope, opened, index, set: new WorkingSet(), name: null, lines: new Map() };
  const decided = prepareBatch(memory, given, [lane]);
  const [{ batch }] = decided.parts as [Part];
  const { aliveAt } = opened;
  if (aliveAt !== null && wasDown(aliveAt, batch.now)) {
    const marks = new Map(opened.licenses.map((row) => [row.id, row.mark]));
    extendLiveSlots(batch, (id) => instant(Math.max(aliveAt, marks.get(id) ?? 0)));
  }
  const alive = { text: 'UPDATE server SET alive_at = $1 WHERE id = 1', values: [batch.now] };
  const made = await commit(connection, decided, [alive]);
  if (!made.isCertain) throw made.error;
  memory.settle(decided, made);
}
