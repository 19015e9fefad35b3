import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { openInThreadStore } from '../../../src/store/sqlite/in-thread-store.ts';
import { openWritable } from '../../../src/store/sqlite/wire/database.ts';
import type { Store } from '../../../src/store/store.ts';
import { expectSoundRows } from './rows.ts';

type StoreOptions = Parameters<typeof openInThreadStore>[0];

const IDENTITY_BYTES = 16;

let migrated: { readonly bytes: Buffer; readonly identityAt: number } | undefined;

/** Opens a file, for tests. A new one starts with copied tables, which is faster than migrating. */
export function openQuickly(options: StoreOptions): Store {
  if (!existsSync(options.file)) writeMigrated(options.file);
  return openInThreadStore(options);
}

/** What migrating an empty file leaves. Every copy is a server of its own. */
function writeMigrated(file: string): void {
  migrated ??= readMigrated();
  const { bytes, identityAt } = migrated;
  bytes.write(randomBytes(IDENTITY_BYTES).toString('hex'), identityAt);
  writeFileSync(file, bytes);
}

function readMigrated() {
  const folder = mkdtempSync(join(tmpdir(), 'berth-tables-'));
  try {
    const file = join(folder, 'berth.db');
    const db = openWritable(file);
    const { identity } = db.prepare('SELECT identity FROM server').get() as { readonly identity: string };
    db.close();
    const bytes = readFileSync(file);
    const identityAt = bytes.indexOf(identity);
    assert.ok(identity.length === 2 * IDENTITY_BYTES && identityAt > 0);
    return { bytes, identityAt };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Checks the rows in the file of a folder. For tests. */
export async function expectSoundFile(folder: string): Promise<void> {
  const db = new DatabaseSync(join(folder, 'berth.db'), { readOnly: true });
  try {
    await expectSoundRows(async (sql) => db.prepare(sql).all());
    const late = db.prepare('SELECT license_id, user FROM registration WHERE due_at > ends_at').all();
    assert.deepEqual(late, [], 'every slot is looked at when it ends');
  } finally {
    db.close();
  }
}
