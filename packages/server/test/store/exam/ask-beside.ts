import type { Socket } from 'node:net';
import type { Row } from '../../../src/store/engine/rows.ts';
import { Connection } from '../../../src/store/postgres/wire/connection.ts';
import { parseDatabaseUrl } from '../../../src/store/postgres/wire/database-url.ts';
import { openSocket } from '../../../src/store/postgres/wire/open-socket.ts';

interface Beside {
  readonly socket: Socket;
  readonly connection: Connection;
}

/** By the URLs of their databases. */
const opened = new Map<string, Promise<Beside>>();

/**
 * Queries a database directly, not through a store. Opening a connection takes longer than most queries, so
 * one lasts as long as the process, which it does not keep alive.
 */
export async function askBeside(url: string, sql: string): Promise<readonly Row[]> {
  const beside = opened.get(url) ?? open(url);
  opened.set(url, beside);
  try {
    const { socket, connection } = await beside;
    socket.ref();
    const rows = await connection.query(sql);
    socket.unref();
    return rows;
  } catch (error) {
    opened.delete(url);
    void beside.then(
      ({ connection }) => connection.close(),
      () => {},
    );
    throw error;
  }
}

async function open(url: string): Promise<Beside> {
  const target = parseDatabaseUrl(url);
  const { signal } = new AbortController();
  const socket = await openSocket(target, signal);
  const options = { target, prepareStatements: true, answerTimeoutMs: 120_000 };
  return { socket, connection: await Connection.open(socket, options, signal) };
}
