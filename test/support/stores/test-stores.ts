import { after, before, describe } from 'node:test';
import { openConnection } from '../../../packages/server/src/store/postgres/wire/database.ts';
import { parseDatabaseUrl } from '../../../packages/server/src/store/postgres/wire/database-url.ts';
import { hasPostgres, sharedPostgres, type TestPostgres } from './postgres.ts';

// On a terminal, the test runner sets it for its children. What programs print is compared without color.
delete process.env.FORCE_COLOR;

/** Where servers can keep their data. */
type StoreKind = 'SQLite' | 'PostgreSQL';

/** Where the tests that run at the moment want it. */
let current: StoreKind = 'SQLite';

let shared: (() => Promise<TestPostgres>) | undefined;

const urls = new Map<string, Promise<string>>();

/**
 * The same tests for both stores: whatever the helpers in this folder start within `body` keeps its data
 * there. At the top of a file, since all tests on PostgreSQL share one, which ends with the file.
 */
export function describeStores(title: string, body: (store: StoreKind) => void): void {
  shared ??= sharedPostgres();
  describe(title, () => body('SQLite'));
  const skip = hasPostgres ? false : 'optional: needs PostgreSQL for this platform';
  describe(`${title}, on PostgreSQL`, { skip }, () => {
    before(() => {
      current = 'PostgreSQL';
    });
    after(() => {
      current = 'SQLite';
    });
    body('PostgreSQL');
  });
}

/** The database that belongs to a data folder, an empty one at first; `null`: the folder holds the data. */
export function findDatabase(folder: string): Promise<string> | null {
  const known = urls.get(folder);
  if (known !== undefined || current === 'SQLite' || shared === undefined) return known ?? null;
  const url = shared().then((postgres) => postgres.createDatabase('tables'));
  urls.set(folder, url);
  return url;
}

/** What a process has to be told that works on a data folder. */
export async function environmentOf(folder: string): Promise<Readonly<Record<string, string>>> {
  const url = await findDatabase(folder);
  return url === null ? {} : { BERTH_DATABASE_URL: url };
}

/** Asks the database that belongs to a data folder, past whatever runs on it. */
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

/** Every row of the database that belongs to a data folder, as text; nothing where there is none. */
export async function dumpDatabase(folder: string): Promise<string> {
  if (findDatabase(folder) === null) return '';
  const tables = await askDatabase(folder, "SELECT tablename FROM pg_tables WHERE schemaname = 'public'");
  const texts = tables.map(async ({ tablename }) => {
    const rows = await askDatabase(folder, `SELECT row::text AS text FROM "${tablename}" AS row`);
    return [tablename, ...rows.map(({ text }) => text)].join('\n');
  });
  return (await Promise.all(texts)).join('\n');
}
