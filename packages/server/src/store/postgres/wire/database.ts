import { Fault } from '../../../core/nouns/fault.ts';
import type { Row } from '../../engine/rows.ts';
import { Connection, type ConnectionOptions } from './connection.ts';
import { toFault } from './database-error.ts';
import { describeTarget } from './database-url.ts';
import { openSocket } from './open-socket.ts';

export interface OpeningOptions extends ConnectionOptions {
  /** For everything until the connection can be used. */
  readonly connectTimeoutMs: number;
}

/** Older releases get no corrections any more, and lack settings that we use. */
const OLDEST_SERVER = 140_000;

/** Of each, 'off' means that what was answered can be lost, or that a crash can damage what is stored. */
const DURABLE = ['fsync', 'full_page_writes', 'synchronous_commit'];

/** An engine that speaks like PostgreSQL may not know one of them, and then it is null. */
const READ_SETTINGS = `SELECT ${[...DURABLE, 'server_version_num', 'server_encoding']
  .map((name) => `current_setting('${name}', true) AS ${name}`)
  .join(', ')}`;

const READ_RECOVERY = 'SELECT pg_is_in_recovery()::text AS is_standby';

/** What engines without that function say: no such function, or not supported. */
const UNKNOWN_FUNCTION = ['42883', '0A000'];

/**
 * A connection to a database that keeps what it was told. Settings on which that rests are read back from
 * every connection, not assumed: they can be changed while we run, also for one user alone. Nothing is set
 * for the session, since behind a pooler the next transaction may have another one.
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

/** The rest of the sentence that begins with the database; null if it is fit. */
export function explainUnfit(settings: Row, isStandby: boolean): string | null {
  const off = DURABLE.find((name) => settings[name] === 'off');
  if (off !== undefined)
    return (
      `may lose what it has promised to keep: ${off} is off. Set ${off} = on, for the server, the database ` +
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
