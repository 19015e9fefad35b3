import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { parseArgs } from 'node:util';
import { instant } from '@berth/server/core/nouns/instant';
import connect from 'postgres';
import { exampleFeature } from '../../packages/server/test/core/examples.ts';
import { type MadeUpHistory, makeUpHistory } from '../support/made-up-history.ts';
import { testLicense } from '../support/test-license.ts';
import { type Seed, seedDatabase, seedFolder } from './seed-store.ts';

/** The ids of the licenses that are added. */
const FIRST_ID = 9001;

interface Size {
  readonly licenses: number;
  readonly days: number;
  /** Slots that are held now, on all licenses together; as many users have a history. */
  readonly registrations: number;
}

function listSeeds({ licenses, registrations }: Size): readonly Seed[] {
  const held = Math.floor(registrations / licenses);
  return Array.from({ length: licenses }, (_, index) => ({
    license: testLicense(FIRST_ID + index, {
      product: `product-${index + 1}`,
      slots: Math.max(10, Math.ceil(held * 1.2)),
      timeoutMinutes: 24 * 60,
      features: [exampleFeature('render')],
    }),
    held,
  }));
}

function wishOf({ licenses, days, registrations }: Size): MadeUpHistory {
  const users = Math.max(50, Math.floor(registrations / licenses));
  return {
    licenseIds: Array.from({ length: licenses }, (_, index) => FIRST_ID + index),
    features: ['render'],
    slots: Math.max(10, Math.ceil(users * 0.8)),
    users,
    days,
    now: instant(Date.now()),
    seed: 1,
  };
}

/** Fills the data folder of a stopped server. */
export async function fillFolder(folder: string, size: Size): Promise<number> {
  await seedFolder(folder, listSeeds(size));
  const db = new DatabaseSync(join(folder, 'berth.db'));
  let count = 0;
  db.exec('BEGIN');
  for (const { table, rows } of makeUpHistory(wishOf(size))) {
    const columns = Object.keys(rows[0] ?? {});
    if (columns.length === 0) continue;
    const places = columns.map(() => '?').join(', ');
    const insert = db.prepare(`INSERT INTO ${table} (${columns.join(', ')}) VALUES (${places})`);
    for (const row of rows) insert.run(...columns.map((column) => row[column] ?? null));
    count += rows.length;
  }
  db.exec('COMMIT');
  db.close();
  return count;
}

/** Rows in one statement. */
const CHUNK = 20_000;

/** Fills a database that no server uses. */
export async function fillDatabase(url: string, masterKey: string, size: Size): Promise<number> {
  await seedDatabase(url, masterKey, listSeeds(size));
  const sql = connect(url, { max: 1, fetch_types: false, onnotice: () => {} });
  const waiting = new Map<string, object[]>();
  let count = 0;
  const flush = async (table: string, rows: readonly object[]) => {
    const text = JSON.stringify(rows);
    await sql.unsafe(
      `INSERT INTO ${table} SELECT * FROM json_populate_recordset(NULL::${table}, $1::text::json)`,
      [text],
    );
  };
  for (const { table, rows } of makeUpHistory(wishOf(size))) {
    const list = waiting.getOrInsertComputed(table, () => []);
    for (const row of rows) list.push(row);
    count += rows.length;
    if (list.length >= CHUNK) await flush(table, list.splice(0));
  }
  for (const [table, rows] of waiting) await flush(table, rows);
  await sql.unsafe('ANALYZE');
  await sql.end();
  return count;
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      licenses: { type: 'string', default: '20' },
      days: { type: 'string', default: '365' },
      registrations: { type: 'string', default: '50000' },
    },
  });
  const [folder] = positionals;
  if (folder === undefined) {
    throw new Error('Usage: fill-history.ts DATA_FOLDER [--licenses N] [--days N] [--registrations N]');
  }
  const size = {
    licenses: Number(values.licenses),
    days: Number(values.days),
    registrations: Number(values.registrations),
  };
  process.stdout.write(`${await fillFolder(folder, size)} rows of history were added to ${folder}.\n`);
}

if (import.meta.main) await main();
