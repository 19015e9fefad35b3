import { randomInt } from 'node:crypto';
import type { Place, Waitable } from '../../../core/lending/waiting-line.ts';
import type { Instant } from '../../../core/nouns/instant.ts';
import type { LicenseId } from '../../../core/nouns/license.ts';
import { isLineCommand } from '../../engine/line/execute-on-line.ts';
import { WaitingLine } from '../../engine/line/waiting-line.ts';
import type { PostgresRowOf } from '../../engine/tables.ts';
import type { Sender, Sql } from './bulk-writes.ts';
import type { Lane, QueuedCommand } from './scope.ts';

interface WaitingRow {
  readonly product: string;
  readonly feature: string;
  readonly user: string;
  readonly n: number;
  readonly since: Instant;
  readonly priority: number;
  readonly command: string;
  readonly presence: string;
  readonly lent_by: LicenseId | null;
  readonly why: Place['why'];
  readonly rule: string | null;
}

type LicenseRow = Pick<PostgresRowOf<'license'>, 'id' | 'line_version'>;

const LIST_ALL = 'SELECT * FROM waiting';
const LIST = `${LIST_ALL} WHERE product = $1`;

const PUT = `INSERT INTO waiting (product, feature, "user", n, since, priority, command, presence, lent_by,
    why, rule)
  SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[],
    $7::text[], $8::text[], $9::bigint[], $10::text[], $11::text[])
  ON CONFLICT (product, feature, "user") DO UPDATE SET n = excluded.n, since = excluded.since,
    priority = excluded.priority, command = excluded.command, presence = excluded.presence,
    lent_by = excluded.lent_by, why = excluded.why, rule = excluded.rule`;

const REMOVE = `DELETE FROM waiting
  USING unnest($1::text[], $2::text[], $3::text[]) AS gone(product, feature, name)
  WHERE waiting.product = gone.product AND waiting.feature = gone.feature AND waiting."user" = gone.name`;

const SET_VERSION = 'UPDATE license SET line_version = $2 WHERE id = ANY($1::bigint[])';

/** Nobody waits. */
const EMPTY = 0;
const LARGEST_VERSION = 2 ** 47;

/** The line for one product, as far as this server knows it. */
export interface OpenLine {
  readonly line: WaitingLine;
  readonly product: string | null;
  readonly licenses: readonly LicenseId[];
}

/**
 * The lines of all servers on the database. A version on the licenses of a product, which every transaction
 * locks anyway, says whether what this server remembers of its line is still true; 0 says that it is empty.
 * So a heartbeat reads nothing more while nobody waits, and nothing while this server knows the line.
 */
export class Lines {
  readonly #known = new Map<string, { readonly version: number; readonly line: WaitingLine }>();
  /** The version that a transaction writes. */
  readonly #planned = new WeakMap<WaitingLine, number>();
  /** Servers that have shown a sign of life, as of a second ago; until it is known, all have. */
  live: Pick<ReadonlySet<string>, 'has'> = { has: () => true };

  /** The line that a lane hands slots on in. Only who has locked all licenses of a product may do so. */
  async open(
    sender: Sender,
    server: string,
    lane: Lane,
    licenses: readonly LicenseRow[],
    queued: readonly QueuedCommand[],
  ): Promise<OpenLine> {
    const ids = licenses.map(({ id }) => id);
    const product = lane.product ?? null;
    if (product === null) return { product, licenses: ids, line: new WaitingLine(server) };
    const version = Math.max(EMPTY, ...licenses.map((row) => row.line_version));
    const known = this.#known.get(product);
    if (known?.version === version) return { product, licenses: ids, line: known.line };
    // A license that has come since does not know of those who wait.
    const isRead = version !== EMPTY || queued.some(({ command }) => isLineCommand(command));
    const rows = isRead ? await sender.query<WaitingRow>(LIST, [product]) : [];
    const line = this.#make(server, rows);
    if (rows.length > 0) this.#known.set(product, { version, line });
    else this.#known.delete(product);
    return { product, licenses: ids, line };
  }

  /** All lines, to be shown. */
  async read(sender: Sender, server: string): Promise<WaitingLine> {
    return this.#make(server, await sender.query<WaitingRow>(LIST_ALL, []));
  }

  #make(server: string, rows: readonly WaitingRow[]): WaitingLine {
    const isAlive = (one: string) => one === server || this.live.has(one);
    return new WaitingLine(server, rows.map(placeFromRow), isAlive);
  }

  /** What a transaction writes of a line. */
  plan({ product, licenses, line }: OpenLine): readonly Sql[] {
    if (product === null || !line.isChanged) return [];
    const version = line.size === 0 ? EMPTY : randomInt(1, LARGEST_VERSION);
    // Until the commit is certain, nothing is known.
    this.#known.delete(product);
    const changes = line.listChanges();
    const put = changes.flatMap(({ place }) => (place === undefined ? [] : [valuesOf(place)]));
    const gone = changes.flatMap(({ key, place }) =>
      place === undefined ? [[key.product, key.feature, key.user]] : [],
    );
    this.#planned.set(line, version);
    return [
      ...(put.length === 0 ? [] : [{ text: PUT, values: toColumns(put) }]),
      ...(gone.length === 0 ? [] : [{ text: REMOVE, values: toColumns(gone) }]),
      { text: SET_VERSION, values: [licenses, version] },
    ];
  }

  /** The transaction was committed. */
  settle({ product, line }: OpenLine): void {
    const version = this.#planned.get(line);
    if (product !== null && version !== undefined && version !== EMPTY)
      this.#known.set(product, { version, line });
  }

  /** The transaction has failed, or its end is unknown. */
  forget({ product }: OpenLine): void {
    if (product !== null) this.#known.delete(product);
  }
}

function placeFromRow(row: WaitingRow): Place {
  const { command, presence, lent_by: lentBy, ...rest } = row;
  return { ...rest, command: JSON.parse(command) as Waitable, presence: JSON.parse(presence), lentBy };
}

type Value = string | number | null;

function valuesOf(place: Place): readonly Value[] {
  const { product, feature, user, n, since, priority, command, presence, lentBy, why, rule } = place;
  const texts = [JSON.stringify(command), JSON.stringify(presence)];
  return [product, feature, user, n, since, priority, ...texts, lentBy, why, rule];
}

function toColumns(rows: readonly (readonly Value[])[]): readonly (readonly Value[])[] {
  return (rows[0] ?? []).map((_, column) => rows.map((row) => row[column] as Value));
}
