import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expectSoundRows } from './rows.ts';

/** Checks the rows in the file of a folder. For tests. */
export async function expectSoundFile(folder: string): Promise<void> {
  const db = new DatabaseSync(join(folder, 'berth.db'), { readOnly: true });
  try {
    await expectSoundRows(async (sql) => db.prepare(sql).all());
  } finally {
    db.close();
  }
}
