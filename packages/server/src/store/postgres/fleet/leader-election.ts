import { CLOCK_TOLERANCE_MS, type ClockJump, DOWNTIME_MS } from '../../../core/clock/clock.ts';
import { Fault } from '../../../core/nouns/fault.ts';
import { type Instant, instant, SECOND_MS } from '../../../core/nouns/instant.ts';
import { type Count, countOf } from '../../engine/sql.ts';
import { STATEMENTS } from '../../engine/statements.ts';
import type { PostgresRowOf } from '../../engine/tables.ts';
import type { ClockStatus } from '../../store.ts';
import { askOver } from '../wire/ask.ts';
import type { Connection } from '../wire/connection.ts';
import type { Pool } from '../wire/pool.ts';
import { sealSettings } from '../wire/sealed-secrets.ts';
import { numberLinks } from '../write/number-links.ts';
import { REMOVE_EMPTY_PLACES } from '../write/place-rows.ts';
import { compiledOf } from '../write/statements.ts';
import { beginLimited, DATABASE_NOW, rollBack } from '../write/transaction.ts';
import type { PostgresWriter } from '../write/writer.ts';

/** How long the lead lasts after it was renewed, which happens every second. */
const LEASE_MS = 6 * SECOND_MS;

/** The holder stops leading this much before others may start: it needs a moment to notice. */
const LEASE_MARGIN_MS = SECOND_MS;

/** Servers that were not seen for this long leave the list. */
const FORGET_MS = 24 * 60 * 60 * SECOND_MS;

/** Remembered answers are counted every so many rounds, about once a minute. */
const TRIM_ROUNDS = 60;

const NOW = `coalesce($1::bigint, ${DATABASE_NOW})`;

type TimeRow = Pick<PostgresRowOf<'server'>, 'mark' | 'alive_at'> & { readonly wall: Instant };

const READ_TIME = `SELECT ${NOW} AS wall, mark, alive_at FROM server WHERE id = 1`;

const SAY_ALIVE = `WITH clock AS (SELECT ${NOW} AS wall)
  UPDATE server SET alive_at = greatest(alive_at, wall), mark = greatest(mark, wall) FROM clock
  WHERE id = 1 AND alive_at >= wall - $2::bigint RETURNING wall, mark`;

const NOTE_INSTANCE = `INSERT INTO server_instance (id, hostname, version, started_at, seen_at)
  VALUES ($2, $3, $4, ${NOW}, ${NOW}) ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at`;

const FORGET_INSTANCES = `DELETE FROM server_instance WHERE abs(seen_at - ${NOW}) > $2::bigint`;

/**
 * A lease that ends far too late was written by a clock that was ahead, so it is ignored. One that ends
 * slightly too late was taken while this statement waited for the row.
 */
const TAKE_LEAD = `WITH clock AS (SELECT ${NOW} AS wall)
  UPDATE leader SET holder = $2, expires_at = wall + $3::bigint FROM clock
  WHERE id = 1 AND (holder = $2 OR expires_at <= wall OR expires_at > wall + 2 * $3::bigint)
  RETURNING holder`;

const GIVE_UP_LEAD = 'UPDATE leader SET expires_at = 0 WHERE id = 1 AND holder = $1';

const COUNT_OTHERS = `SELECT count(*) AS count FROM server_instance
  WHERE id <> $2 AND abs(seen_at - ${NOW}) < $3::bigint`;

/** Places in the line of servers that were silent for this long are passed over. */
const SILENT_MS = 3 * SECOND_MS;

const LIST_LIVE = `SELECT id FROM server_instance WHERE abs(seen_at - ${NOW}) < $2::bigint`;

interface AttendanceOptions {
  readonly pool: Pool;
  readonly writer: PostgresWriter;
  readonly serverId: string;
  readonly hostname: string;
  readonly version: string;
  /** `false`: it only reads the time. */
  readonly isServing: boolean;
  readonly readWall: (() => Instant) | null;
  readonly readMonotonicMs: () => number;
  readonly maxRememberedAnswers: number;
}

/**
 * Which servers work on the database, and which of them leads. Once a second each server says that it is
 * alive and takes or renews the lead, for six seconds of the database's clock. It relies on the lead for
 * five seconds of its own monotonic clock, counted from before it asked. So a late answer, a pause or a
 * lost connection ends its lead before another server can take it, and no server's date matters.
 *
 * A stopped leader is replaced within two seconds, a dead one within eight. After 30 seconds without any
 * server, the first one to come back gives every user who held a slot a full timeout before anything else.
 *
 * Nothing may depend on there being only one leader: if its clock stood still, or the database's jumped, a
 * stale leader works beside its successor for up to five seconds. Commands are decided under the locks, no
 * matter which server sends them; links are numbered under one row's lock; reports have an id; webhooks
 * arrive at least once.
 */
export class LeaderElection {
  readonly #options: AttendanceOptions;
  #attending: Promise<ClockStatus> | null = null;
  #rounds = 0;
  #leadsUntilMs = Number.NEGATIVE_INFINITY;

  constructor(options: AttendanceOptions) {
    this.#options = options;
  }

  isLeader(): boolean {
    return this.#options.readMonotonicMs() < this.#leadsUntilMs;
  }

  /** Says that this server is alive, and takes the lead if nobody has it. */
  attend(): Promise<ClockStatus> {
    this.#attending ??= this.#attend().finally(() => {
      this.#attending = null;
    });
    return this.#attending;
  }

  /** Leaves the list and ends the lease, so that others can take over at once. */
  async leave(): Promise<void> {
    const { pool, serverId, isServing, readWall } = this.#options;
    if (!isServing) return;
    this.#leadsUntilMs = Number.NEGATIVE_INFINITY;
    await pool.use(async (connection) => {
      const given = [readWall?.() ?? null, DOWNTIME_MS];
      await Promise.all([
        connection.query(SAY_ALIVE, given),
        connection.query(GIVE_UP_LEAD, [serverId]),
        connection.query('DELETE FROM server_instance WHERE id = $1', [serverId]),
      ]);
    });
  }

  /** Counts the other servers that are alive. */
  async countOthers(): Promise<number> {
    const { pool, serverId, readWall } = this.#options;
    const rows = await pool.use((connection) =>
      connection.query(COUNT_OTHERS, [readWall?.() ?? null, serverId, DOWNTIME_MS]),
    );
    return rows[0]?.count as number;
  }

  async #attend(): Promise<ClockStatus> {
    const { isServing, readMonotonicMs, pool } = this.#options;
    const startedMs = readMonotonicMs();
    if (!isServing) return pool.use((connection) => this.#look(connection));
    let found = await pool.use((connection) => this.#sayAlive(connection));
    if (found.alive === undefined) {
      await this.#options.writer.resume();
      found = await pool.use((connection) => this.#sayAlive(connection));
    }
    if (found.alive === undefined)
      throw new Fault(
        'store_unavailable',
        'The clock of the database jumps. Correct it, and keep it synchronized.',
      );
    this.#leadsUntilMs = found.leads ? startedMs + LEASE_MS - LEASE_MARGIN_MS : Number.NEGATIVE_INFINITY;
    if (found.leads) await pool.use((connection) => this.#lookAfter(connection));
    return this.#describe(found.alive);
  }

  /** Does what the leader does for all. */
  async #lookAfter(connection: Connection): Promise<void> {
    // Readers that follow the log by a cursor find only links that have a number.
    await numberLinks(connection);
    // Only now: a leader of release 0.1.0 would take a sealed address for none, and tell the webhook nothing.
    if (this.#rounds === 0) await sealSettings(askOver(connection), this.#options.writer.memory.masterKey);
    if (this.#rounds++ % TRIM_ROUNDS !== 0) return;
    await trimAnswers(connection, this.#options.maxRememberedAnswers);
    await connection.query(REMOVE_EMPTY_PLACES);
  }

  async #look(connection: Connection): Promise<ClockStatus> {
    const [row] = await connection.query<TimeRow>(READ_TIME, [this.#options.readWall?.() ?? null]);
    return this.#describe(row as TimeRow);
  }

  async #sayAlive(connection: Connection) {
    const { serverId, hostname, version, readWall } = this.#options;
    const wall = readWall?.() ?? null;
    try {
      const begun: Promise<unknown>[] = [beginLimited(connection)];
      const alive = connection.query<TimeRow>(SAY_ALIVE, [wall, DOWNTIME_MS]);
      begun.push(connection.query(NOTE_INSTANCE, [wall, serverId, hostname, version]));
      begun.push(connection.query(FORGET_INSTANCES, [wall, FORGET_MS]));
      const lead = connection.query(TAKE_LEAD, [wall, serverId, LEASE_MS]);
      const live = connection.query<{ readonly id: string }>(LIST_LIVE, [wall, SILENT_MS]);
      await Promise.all([...begun, alive, lead, live, connection.query('COMMIT')]);
      this.#options.writer.memory.lines.live = new Set((await live).map(({ id }) => id));
      return { alive: (await alive)[0], leads: (await lead).length > 0 };
    } catch (error) {
      await rollBack(connection);
      throw error;
    }
  }

  #describe({ wall, mark }: TimeRow): ClockStatus {
    const now = instant(Math.max(wall, mark ?? 0));
    this.#options.writer.memory.time.follow(now);
    return { now, wall, jump: findJump(now, wall), jumpAtStart: null };
  }
}

/** Removes the oldest answers if there are too many, with a margin so that it need not do so again soon. */
async function trimAnswers(connection: Connection, limit: number): Promise<void> {
  const [row] = await connection.query<Count>('SELECT count(*) AS count FROM remembered_answer');
  const surplus = countOf(row) - limit;
  if (surplus <= 0) return;
  const { text } = compiledOf(STATEMENTS.removeOldestAnswers);
  await connection.query(text, [surplus + Math.ceil(limit / 100)]);
}

/** A clock that was ahead and was set right leaves times behind that it has not reached yet. */
function findJump(now: Instant, wall: Instant): ClockJump | null {
  const gapMs = wall - now;
  return -gapMs <= CLOCK_TOLERANCE_MS ? null : { direction: 'behind', seenAt: now, gapMs };
}
