import { after, before, describe } from 'node:test';
import { openConnection } from '../../../packages/server/src/store/postgres/wire/database.ts';
import { parseDatabaseUrl } from '../../../packages/server/src/store/postgres/wire/database-url.ts';
import { hasPostgres, isPostgresRunning, sharedPostgres, type TestPostgres } from './postgres.ts';

// On a terminal, the test runner sets it for its children. Tests compare output without color.
delete process.env.FORCE_COLOR;

/** The kinds of store a server supports. */
type StoreKind = 'SQLite' | 'PostgreSQL';

/** The store of the tests that are running. */
let current: StoreKind = 'SQLite';

/** Its server. */
let shared: (() => Promise<TestPostgres>) | undefined;

let started: typeof shared;

const urls = new Map<string, Promise<string>>();

/**
 * Runs the same tests on both stores: everything that the modules in this folder start within `body` uses
 * that store. Call it at the top level of a file, because all PostgreSQL tests share a server that ends with
 * the file.
 */
export function describeStores(title: string, body: (store: StoreKind) => void): void {
  // A server that is started here is for all tests. Otherwise each file drops its databases when it ends.
  const postgres = (isPostgresRunning ? undefined : started) ?? sharedPostgres();
  started = postgres;
  describe(title, () => body('SQLite'));
  const skip = hasPostgres ? false : 'optional: needs PostgreSQL for this platform';
  describe(`${title}, on PostgreSQL`, { skip }, () => {
    before(() => {
      shared = postgres;
      current = 'PostgreSQL';
    });
    after(() => {
      current = 'SQLite';
    });
    body('PostgreSQL');
  });
}

/** The database of a data folder, initially empty; `null`: the data is in the folder itself. */
export function findDatabase(folder: string): Promise<string> | null {
  const known = urls.get(folder);
  if (known !== undefined || current === 'SQLite' || shared === undefined) return known ?? null;
  const url = shared().then((postgres) => postgres.createDatabase('tables'));
  urls.set(folder, url);
  return url;
}

/** Puts the data of a folder into this database, whatever the store of the tests is. */
export function useDatabase(folder: string, url: string): void {
  urls.set(folder, Promise.resolve(url));
}

/** The environment variables for a process that uses a data folder. */
export async function environmentOf(folder: string): Promise<Readonly<Record<string, string>>> {
  const url = await findDatabase(folder);
  return url === null ? {} : { BERTH_DATABASE_URL: url };
}

/** Queries the database of a data folder directly, bypassing the server. */
export async function askDatabase(folder: string, sql: string) {
  const url = await findDatabase(folder);
  if (url === null) throw new Error(`The data of ${folder} is in the folder itself.`);
  const limits = { prepareStatements: false, connectTimeoutMs: 10_000, answerTimeoutMs: 30_000 };
  const connection = await openConnection({ target: parseDatabaseUrl(url), ...limits });
  try {
    return [...(await connection.query(sql))];
  } finally {
    await connection.close();
  }
}

/** All rows of the database of a data folder, as text; empty if there is no database. */
export async function dumpDatabase(folder: string): Promise<string> {
  if (findDatabase(folder) === null) return '';
  const tables = await askDatabase(folder, "SELECT tablename FROM pg_tables WHERE schemaname = 'public'");
  const texts = tables.map(async ({ tablename }) => {
    const rows = await askDatabase(folder, `SELECT row::text AS text FROM "${tablename}" AS row`);
    return [tablename, ...rows.map(({ text }) => text)].join('\n');
  });
  return (await Promise.all(texts)).join('\n');
}
