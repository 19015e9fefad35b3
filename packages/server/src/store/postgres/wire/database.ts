import { Fault } from '../../../core/nouns/fault.ts';
import type { Row } from '../../engine/rows.ts';
import { Connection, type ConnectionOptions, type Lineage } from './connection.ts';
import { isConnectionLost, toFault } from './database-error.ts';
import { describeTarget } from './database-url.ts';
import { openSocket } from './open-socket.ts';

export interface OpeningOptions extends ConnectionOptions {
  /** For everything until the connection is ready. */
  readonly connectTimeoutMs: number;
}

/** Older releases are no longer maintained, and lack settings that Berth uses. */
const OLDEST_SERVER = 140_000;

/** If one of these is off, committed data can be lost, or a crash can damage the database. */
const DURABLE = ['fsync', 'full_page_writes', 'synchronous_commit'];

const SETTINGS = [
  ...DURABLE,
  'in_hot_standby',
  'transaction_read_only',
  'server_version_num',
  'server_encoding',
];

/** Null for a setting that an engine compatible with PostgreSQL does not know. */
const READ_SETTINGS = `SELECT ${SETTINGS.map((name) => `current_setting('${name}', true) AS ${name}`).join(
  ', ',
)}`;

/** A file of the log is named after the timeline, in eight hexadecimal digits, and its place. */
const READ_LINEAGE = `SELECT (SELECT system_identifier FROM pg_control_system())::text AS system,
  substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) AS timeline`;

/**
 * Opens a connection to a database that keeps what it commits. Every connection checks the settings for that,
 * since they can be changed at any time, even for a single user. It sets nothing for the session, because
 * behind a pooler the next transaction may run in another one.
 */
export async function openConnection(options: OpeningOptions): Promise<Connection> {
  const attempt = new AbortController();
  const timer = setTimeout(() => attempt.abort(), options.connectTimeoutMs);
  try {
    const socket = await openSocket(options.target, attempt.signal);
    const connection = await Connection.open(socket, options, attempt.signal);
    return await keepIfFit(connection, attempt.signal, describeTarget(options.target));
  } catch (error) {
    throw toFault(error);
  } finally {
    clearTimeout(timer);
  }
}

async function keepIfFit(connection: Connection, signal: AbortSignal, where: string): Promise<Connection> {
  const abort = () => void connection.close();
  signal.addEventListener('abort', abort);
  try {
    const [settings, lineage] = await Promise.all([readSettings(connection), readLineage(connection)]);
    const reason = explainUnfit(settings);
    if (reason !== null) throw new Fault('store_unavailable', `The database at ${where} ${reason}`);
    connection.lineage = lineage;
    return connection;
  } catch (error) {
    await connection.close();
    throw error;
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

async function readSettings(connection: Connection): Promise<Row> {
  const [settings] = await connection.query(READ_SETTINGS);
  return settings ?? {};
}

/** A standby, and engines without these functions, do not tell. */
async function readLineage(connection: Connection): Promise<Lineage | null> {
  try {
    const [row] = await connection.query<{ readonly system: string; readonly timeline: string }>(
      READ_LINEAGE,
    );
    return row === undefined ? null : { system: row.system, timeline: Number.parseInt(row.timeline, 16) };
  } catch (error) {
    if (isConnectionLost(error)) throw error;
    return null;
  }
}

/** Completes a sentence that begins with the database; null if it is fit. */
export function explainUnfit(settings: Row): string | null {
  const off = DURABLE.find((name) => settings[name] === 'off');
  if (off !== undefined)
    return (
      `may lose what it has committed: ${off} is off. Set ${off} = on, for the server, the database ` +
      'and the user, and try again.'
    );
  if (settings.in_hot_standby === 'on')
    return 'is a standby and cannot be written. Promote it, or point the URL to the primary.';
  if (settings.transaction_read_only === 'on')
    return 'is read-only. Set default_transaction_read_only = off, or point the URL to the primary.';
  const { server_version_num: version, server_encoding: encoding } = settings;
  if (typeof version === 'string' && Number(version) < OLDEST_SERVER)
    return `is PostgreSQL ${toMajor(version)}: Berth needs ${toMajor(OLDEST_SERVER)} or newer.`;
  if (typeof encoding === 'string' && encoding !== 'UTF8')
    return `stores text as ${encoding}, which cannot hold every name. Create it with ENCODING 'UTF8'.`;
  return null;
}

function toMajor(version: string | number): number {
  return Math.floor(Number(version) / 10_000);
}
