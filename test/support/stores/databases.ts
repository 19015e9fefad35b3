import { openConnection } from '@berth/server/store/postgres/wire/database';
import { parseDatabaseUrl } from '@berth/server/store/postgres/wire/database-url';
import { migrate } from '@berth/server/store/postgres/wire/migrate';
import connect, { type Sql } from 'postgres';
import type { DatabaseContent } from './postgres.ts';

/** A database with the server's tables. Copying it takes a tenth of the time needed to create them. */
const TEMPLATE = 'berth_template';

/** Several processes may create the template at the same time. */
const TEMPLATE_LOCK = 815;

let count = 0;

/** Creates a database with a unique name and returns its URL. */
export async function createDatabase(adminUrl: string, content: DatabaseContent): Promise<string> {
  const name = `berth_test_${process.pid}_${++count}`;
  await administrate(adminUrl, async (sql) => {
    if (content === 'tables') await ensureTemplate(sql, adminUrl);
    await copy(sql, content === 'tables' ? TEMPLATE : 'template0', name);
  });
  return withDatabase(adminUrl, name);
}

export async function dropDatabases(adminUrl: string, urls: readonly string[]): Promise<void> {
  if (urls.length === 0) return;
  await administrate(adminUrl, async (sql) => {
    for (const url of urls)
      await sql.unsafe(`DROP DATABASE IF EXISTS ${new URL(url).pathname.slice(1)} WITH (FORCE)`);
  });
}

/** The URL of another database on the same server. */
export function withDatabase(url: string, database: string): string {
  const changed = new URL(url);
  changed.pathname = `/${database}`;
  return changed.href;
}

async function ensureTemplate(sql: Sql, adminUrl: string): Promise<void> {
  const find = () => sql`SELECT 1 FROM pg_database WHERE datname = ${TEMPLATE}`;
  if ((await find()).length > 0) return;
  await sql`SELECT pg_advisory_lock(${TEMPLATE_LOCK})`;
  try {
    if ((await find()).length > 0) return;
    // Renamed when complete, so that other processes never see an incomplete template.
    const unfinished = `${TEMPLATE}_unfinished`;
    await sql.unsafe(`DROP DATABASE IF EXISTS ${unfinished}`);
    await copy(sql, 'template0', unfinished);
    await makeTables(withDatabase(adminUrl, unfinished));
    await sql.unsafe(`ALTER DATABASE ${unfinished} RENAME TO ${TEMPLATE}`);
  } finally {
    await sql`SELECT pg_advisory_unlock(${TEMPLATE_LOCK})`;
  }
}

async function makeTables(url: string): Promise<void> {
  const limits = { prepareStatements: false, connectTimeoutMs: 60_000, answerTimeoutMs: 60_000 };
  const connection = await openConnection({ target: parseDatabaseUrl(url), ...limits });
  await migrate(connection);
  await connection.close();
}

async function copy(sql: Sql, template: string, name: string): Promise<void> {
  await sql.unsafe(`CREATE DATABASE ${name} TEMPLATE ${template} ENCODING 'UTF8' STRATEGY file_copy`);
}

async function administrate(adminUrl: string, work: (sql: Sql) => Promise<void>): Promise<void> {
  const sql = connect(adminUrl, { max: 1, fetch_types: false, onnotice: () => {} });
  try {
    await work(sql);
  } finally {
    await sql.end();
  }
}
