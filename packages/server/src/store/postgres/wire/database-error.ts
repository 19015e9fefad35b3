import { Fault } from '../../../core/nouns/fault.ts';
import { SealError } from '../../../secrets/seal.ts';

/** The connection is gone, and with it every answer that was due. */
export class ConnectionLost extends Error {
  readonly code = 'CONNECTION_LOST';
}

/** What the database has to say about a statement, with the fields of its message. */
export class DatabaseError extends Error {
  override readonly name = 'DatabaseError';

  constructor(message: string, fields: Readonly<Record<string, string>>) {
    super(message);
    Object.assign(this, fields);
  }
}

/** Our code and the system's for a connection that is gone or cannot be opened. */
const LOST = new Set([
  'CONNECTION_LOST',
  'ECONNABORTED',
  'ECONNREFUSED',
  'ECONNRESET',
  'EAI_AGAIN',
  'EHOSTDOWN',
  'EHOSTUNREACH',
  'ENETDOWN',
  'ENETUNREACH',
  'ENOENT',
  'ENOTFOUND',
  'EPIPE',
  'ETIMEDOUT',
]);

/** The database is shut down, crashes, starts, or ends an idle session. */
const ENDING = new Set(['57P01', '57P02', '57P03', '57P05']);

const UNPREPARED =
  'A pooler between the server and the database mixes up prepared statements. Set ' +
  'database.prepareStatements: false, or max_prepared_statements in PgBouncer 1.21 or newer.';

/** By SQLSTATE, or by its class, the first two characters. */
const SENTENCES: Readonly<Record<string, string>> = {
  '08': 'The connection to the database was lost. Check the database and the network.',
  '25006': 'The database is read-only. Point the URL to the one that can be written.',
  '26000': UNPREPARED,
  '28': 'The database refused the user or the password. Check both in the URL.',
  '3D000': 'There is no database of that name. Create it, or correct its name in the URL.',
  '3F000': 'There is no schema to work in. Create one that the search_path of the database user names.',
  '42P05': UNPREPARED,
  '42501': 'The database user lacks a privilege. Make it the owner of the database or of its schema.',
  '53100': 'The disk of the database is full. Free some space there.',
  '53200': 'The database has no memory left. Try again in a moment.',
  '53300': 'The database has no connection left. Raise its max_connections, or let Berth use fewer.',
  '55P03': 'The database was busy for too long. Try again in a moment.',
  '57014': 'The database took too long. Try again in a moment.',
  '57P03': 'The database is starting or stopping. Try again in a moment.',
};

/** PgBouncer always has the same code, that the protocol was violated: it is known by its words. */
const POOLER_SENTENCES = {
  'statement pooling mode':
    'PgBouncer is in statement pooling mode, without transactions. Set pool_mode to transaction or session.',
  max_client_conn: 'PgBouncer has no connection left. Raise its max_client_conn, or let Berth use fewer.',
};

const UNREACHABLE = 'The database cannot be reached. Check that it runs, its URL and the network.';
const FAILED = 'The database reported an error. Try again in a moment; the log has details.';

/** Whether the connection is gone. It is then unknown whether the last statement was carried out. */
export function isConnectionLost(error: unknown): boolean {
  if (error instanceof Fault) return error.cause !== undefined && isConnectionLost(error.cause);
  const code = codeOf(error);
  if (LOST.has(code) || ENDING.has(code)) return true;
  return isState(code) && (code.startsWith('08') || isFatal(error));
}

/**
 * Whether the connection must not be used again: it is gone, its server has become a standby, or its prepared
 * statements are out of date.
 */
export function isConnectionUseless(error: unknown): boolean {
  return isConnectionLost(error) || codeOf(error) === '25006' || isOutdated(error);
}

/** By the routine that reports it, because the code of some of these errors also means other things. */
function isOutdated(error: unknown): boolean {
  const routine = error instanceof Error && 'routine' in error ? error.routine : undefined;
  return codeOf(error) === '26000' || routine === 'RevalidateCachedQuery';
}

/**
 * Whether the transaction may succeed when it is repeated as a whole: it met another one, or a newer server
 * has changed the tables since its statements were prepared. Another connection prepares them again.
 */
export function isRetryable(error: unknown): boolean {
  return ['40001', '40P01'].includes(codeOf(error)) || isOutdated(error);
}

/** Whether the values are at fault, so that repeating would not help. */
export function isDataError(error: unknown): boolean {
  return /^2[23]...$/.test(codeOf(error));
}

/** Turns errors of the database into faults. Anything else is a bug and stays as it is. */
export function translate(error: unknown): unknown {
  if (error instanceof SealError) return new Fault('store_unavailable', error.message, { cause: error });
  return isConnectionLost(error) || isState(codeOf(error)) ? toFault(error) : error;
}

/** A message for people. The error is kept as the cause, for the log. */
export function toFault(error: unknown): Fault {
  return error instanceof Fault ? error : new Fault('store_unavailable', describe(error), { cause: error });
}

function describe(error: unknown): string {
  const code = codeOf(error);
  const sentence =
    findPoolerSentence(error) ?? SENTENCES[code] ?? (isState(code) ? SENTENCES[code.slice(0, 2)] : undefined);
  if (sentence !== undefined) return sentence;
  if (error instanceof ConnectionLost) return error.message;
  return isConnectionLost(error) ? UNREACHABLE : FAILED;
}

function findPoolerSentence(error: unknown): string | undefined {
  const said = error instanceof ConnectionLost ? error.cause : error;
  if (!(said instanceof DatabaseError)) return undefined;
  return Object.entries(POOLER_SENTENCES).find(([words]) => said.message.includes(words))?.[1];
}

/** The code of a system error, or the SQLSTATE of a database error. */
function codeOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : '';
}

function isState(code: string): boolean {
  return /^[0-9A-Z]{5}$/.test(code) && /\d/.test(code);
}

export function isFatal(error: unknown): boolean {
  const { severity, severity_local: local } = error as { severity?: unknown; severity_local?: unknown };
  return ['FATAL', 'PANIC'].includes(String(severity ?? local));
}
