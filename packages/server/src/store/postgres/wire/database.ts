import { Fault } from '../../../core/nouns/fault.ts';
import type { Row } from '../../engine/rows.ts';
import { Connection, type ConnectionOptions } from './connection.ts';
import { toFault } from './database-error.ts';
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

/** Null for a setting that an engine compatible with PostgreSQL does not know. */
const READ_SETTINGS = `SELECT ${[...DURABLE, 'server_version_num', 'server_encoding']
  .map((name) => `current_setting('${name}', true) AS ${name}`)
  .join(', ')}`;

const READ_RECOVERY = 'SELECT pg_is_in_recovery()::text AS is_standby';

/** From engines without that function: no such function, or not supported. */
const UNKNOWN_FUNCTION = ['42883', '0A000'];

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
    const [settings, isStandby] = await Promise.all([readSettings(connection), readStandby(connection)]);
    const reason = explainUnfit(settings, isStandby);
    if (reason !== null) throw new Fault('store_unavailable', `The database at ${where} ${reason}`);
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

async function readStandby(connection: Connection): Promise<boolean> {
  try {
    const [row] = await connection.query(READ_RECOVERY);
    return row?.is_standby === 'true';
  } catch (error) {
    if (UNKNOWN_FUNCTION.includes((error as { code?: string }).code ?? '')) return false;
    throw error;
  }
}

/** Completes a sentence that begins with the database; null if it is fit. */
export function explainUnfit(settings: Row, isStandby: boolean): string | null {
  const off = DURABLE.find((name) => settings[name] === 'off');
  if (off !== undefined)
    return (
      `may lose what it has committed: ${off} is off. Set ${off} = on, for the server, the database ` +
      'and the user, and try again.'
    );
  if (isStandby) return 'is a standby and cannot be written. Point the URL to the primary.';
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
