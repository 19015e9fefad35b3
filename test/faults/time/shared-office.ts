import { setTimeout as delay } from 'node:timers/promises';
import { makeFakedClock } from '../../support/faked-clock.ts';
import type { Random } from '../../support/random.ts';
import { temporaryFolder } from '../../support/server-process.ts';
import { ServerUnderTest } from '../../support/server-under-test.ts';
import { findPostgres } from '../../support/stores/postgres.ts';
import { askDatabase, useDatabase } from '../../support/stores/test-stores.ts';
import type { Life } from '../door/fault.ts';
import { LICENSE, TimedOffice } from './timed-office.ts';

/** Everything by which the database knows what time it was, and until when something lasts. */
const DATES = {
  registration: ['registered_at', 'ends_at', 'borrowed_until'],
  ended_borrow: ['registered_at', 'borrowed_until', 'ended_at'],
  license: ['mark'],
  server: ['mark', 'alive_at'],
  server_instance: ['seen_at'],
  leader: ['expires_at'],
} as const;

const MOVE_ATTEMPTS = 200;
const LONGEST_LOCK_MS = 50;
const LOCKED = /lock timeout/;

/**
 * The same on PostgreSQL, whose clock cannot be set. So all dates in the database become older, and what the
 * server says is later by as much.
 */
export class SharedOffice extends TimedOffice {
  static override async open(life: Life, random: Random): Promise<SharedOffice> {
    const clock = await makeFakedClock(life);
    if (clock === null) throw new Error('This needs libfaketime.');
    const data = temporaryFolder(life);
    useDatabase(data, await (await findPostgres(life)).createDatabase());
    // Its own clock jumps, too, and must not count.
    const server = await ServerUnderTest.start(life, { data, licenses: [LICENSE], env: clock.env });
    return new SharedOffice(server, clock, random);
  }

  /** A server that was stopped while it had locks goes on a little, and is stopped again. */
  override async passGap(gapMs: number): Promise<void> {
    for (let attempt = 0; attempt < MOVE_ATTEMPTS; attempt++) {
      if (await this.#makeOlder(Math.round(gapMs))) {
        await super.passGap(gapMs);
        this.aheadMs += Math.round(gapMs);
        return;
      }
      process.kill(this.server.pid, 'SIGCONT');
      await delay(this.random() * LONGEST_LOCK_MS);
      process.kill(this.server.pid, 'SIGSTOP');
    }
    throw new Error('The server had locks whenever it was stopped.');
  }

  /** All dates, or none. */
  async #makeOlder(gapMs: number): Promise<boolean> {
    const updates = Object.entries(DATES).map(([table, columns]) => {
      const older = columns.map((column) => `${column} = ${column} - ${gapMs}`);
      return `UPDATE ${table} SET ${older.join(', ')};`;
    });
    const limit = `SET LOCAL lock_timeout = ${LONGEST_LOCK_MS};`;
    try {
      await askDatabase(this.server.data, `DO $$BEGIN ${limit} ${updates.join(' ')} END$$`);
      return true;
    } catch (error) {
      if (LOCKED.test((error as Error).message)) return false;
      throw error;
    }
  }
}
