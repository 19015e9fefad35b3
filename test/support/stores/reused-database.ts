import { openConnection } from '@berth/server/store/postgres/wire/database';
import { parseDatabaseUrl } from '@berth/server/store/postgres/wire/database-url';
import { migrate } from '@berth/server/store/postgres/wire/migrate';

/** Every table, and every row that a new database has, beside the marks of what was migrated. */
const LIST_TABLES = `SELECT tablename AS name FROM pg_tables
  WHERE schemaname = 'public' AND tablename <> 'berth_schema' ORDER BY tablename`;

/**
 * One database that is as good as new whenever it is asked for. That takes a few milliseconds, where a new
 * one takes a tenth of a second; nobody may still use it then.
 */
export function reuseDatabase(createDatabase: () => Promise<string>): () => Promise<string> {
  let made: Promise<{ url: string; empty: string }> | undefined;
  return async () => {
    if (made === undefined) {
      made = createDatabase().then(async (url) => ({ url, empty: await prepareEmptying(url) }));
      return (await made).url;
    }
    const { url, empty } = await made;
    await within(url, (run) => run(empty));
    return url;
  };
}

type Run = (sql: string) => Promise<readonly Readonly<Record<string, unknown>>[]>;

/** Keeps a copy of what a new database holds. The statements that bring it back. */
function prepareEmptying(url: string): Promise<string> {
  return within(url, async (run) => {
    await run('CREATE SCHEMA as_new');
    const tables = (await run(LIST_TABLES)).map(({ name }) => `"${name}"`);
    for (const table of tables) await run(`CREATE TABLE as_new.${table} AS TABLE ${table}`);
    const filled: string[] = [];
    for (const table of tables) {
      if ((await run(`SELECT 1 FROM ${table} LIMIT 1`)).length > 0) filled.push(table);
    }
    return [
      'BEGIN',
      ...tables.map((table) => `DELETE FROM ${table}`),
      ...filled.map((table) => `INSERT INTO ${table} SELECT * FROM as_new.${table}`),
      'COMMIT',
    ].join('; ');
  });
}

async function within<T>(url: string, work: (run: Run) => Promise<T>): Promise<T> {
  const limits = { prepareStatements: false, connectTimeoutMs: 10_000, answerTimeoutMs: 30_000 };
  const connection = await openConnection({ target: parseDatabaseUrl(url), ...limits });
  try {
    await migrate(connection);
    return await work((sql) => connection.query(sql));
  } finally {
    await connection.close();
  }
}
