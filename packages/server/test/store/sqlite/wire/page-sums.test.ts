import assert from 'node:assert/strict';
import {
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, type TestContext, test } from 'node:test';
import { crc32 } from 'node:zlib';
import { temporaryFolder } from '../../../../../../test/support/server-process.ts';
import type { StoreNotice } from '../../../../src/core/nouns/store-notice.ts';
import { makeMasterKey } from '../../../../src/secrets/master-key.ts';
import { createManualClock } from '../../../../src/store/clock.ts';
import { openInThreadStore } from '../../../../src/store/sqlite/in-thread-store.ts';
import { findChangedPages } from '../../../../src/store/sqlite/wire/page-sums.ts';
import { exampleLicense, NOW, register, unregister } from '../../../core/examples.ts';

const masterKey = makeMasterKey();
const PAGE_BYTES = 4096;
const LOG_HEADER_BYTES = 32;
const FRAME_BYTES = 24 + PAGE_BYTES;

async function open(file: string) {
  const notices: StoreNotice[] = [];
  const onNotice = (notice: StoreNotice) => notices.push(notice);
  const store = openInThreadStore({ file, masterKey, clock: createManualClock(NOW), onNotice });
  await store.keepClock();
  return { store, notices };
}

/** What a start says about the files. */
async function listen(file: string): Promise<readonly StoreNotice[]> {
  const { store, notices } = await open(file);
  await store.close();
  return notices;
}

async function openWithLicense(t: TestContext) {
  const file = join(temporaryFolder(t), 'berth.db');
  const { store } = await open(file);
  await store.execute({ kind: 'install_license', license: exampleLicense({ slots: 9 }), by: 'admin' });
  return { file, store };
}

async function makeClosed(t: TestContext): Promise<string> {
  const { file, store } = await openWithLicense(t);
  await store.close();
  return file;
}

/** The files as a crash would leave them now. */
function copyFiles(t: TestContext, file: string): string {
  const copy = join(temporaryFolder(t), 'berth.db');
  for (const suffix of ['', '-wal', '-sums']) {
    if (existsSync(`${file}${suffix}`)) copyFileSync(`${file}${suffix}`, `${copy}${suffix}`);
  }
  return copy;
}

function flip(file: string, at: number): void {
  const bytes = readFileSync(file);
  bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at);
  writeFileSync(file, bytes);
}

function findPage(file: string, table: string): number {
  const db = new DatabaseSync(file, { readOnly: true });
  const row = db.prepare('SELECT rootpage FROM sqlite_schema WHERE name = ?').get(table);
  db.close();
  return row?.rootpage as number;
}

describe('a changed bit in a page', () => {
  test('is told at every start, and by a check of the file, until it is accepted', async (t) => {
    const file = await makeClosed(t);
    assert.equal(findChangedPages(file), null);
    const page = findPage(file, 'license');
    // Where there is nothing yet.
    flip(file, (page - 1) * PAGE_BYTES + 1000);
    const pages = `page ${page} of the table license`;
    for (const _ of ['at once', 'and at the next start, though the page was written again']) {
      const { store, notices } = await open(file);
      assert.deepEqual(notices[0], { kind: 'pages_changed', pages });
      await store.execute(register('ada'));
      assert.equal((await store.read({ kind: 'check_file', maxBytes: 1e9 })).changed, pages);
      await store.close();
    }
    rmSync(`${file}-sums`);
    assert.deepEqual(await listen(file), []);
    assert.deepEqual(await listen(file), []);
  });

  test('is told after the other checksums got lost, too', async (t) => {
    const file = await makeClosed(t);
    flip(file, (findPage(file, 'license') - 1) * PAGE_BYTES + 1000);
    const { store } = await open(file);
    await store.execute(register('ada'));
    // Somebody still reads: the log cannot be moved, and what is moved later is not known.
    const reader = new DatabaseSync(file, { readOnly: true });
    reader.exec('BEGIN; SELECT count(*) FROM license');
    await store.execute(register('bob'));
    await store.close();
    reader.close();
    for (const _ of ['at once', 'and at the next start']) {
      assert.equal((await listen(file))[0]?.kind, 'pages_changed');
    }
  });

  test('is named if nobody can make sense of it', async (t) => {
    const file = await makeClosed(t);
    const page = findPage(file, 'license');
    flip(file, readFileSync(file).indexOf('{"', (page - 1) * PAGE_BYTES));
    const named = new RegExp(
      `berth\\.db is damaged \\(page ${page} of the table license: not as the server wrote it`,
    );
    await assert.rejects(listen(file), named);
  });

  test('in the checksums themselves is told, and they are made anew', async (t) => {
    const file = await makeClosed(t);
    flip(`${file}-sums`, 100);
    assert.deepEqual(await listen(file), [{ kind: 'sums_damaged' }]);
    assert.deepEqual(await listen(file), []);
  });

  test('in checksums of another version is not told: they are made anew', async (t) => {
    const file = await makeClosed(t);
    const before = readFileSync(`${file}-sums`);
    const other = Uint32Array.of(before.readUInt32LE(0), 0, 2, 0);
    other[1] = crc32(new Uint8Array(other.buffer, 8));
    writeFileSync(`${file}-sums`, other);
    assert.deepEqual(await listen(file), []);
    assert.deepEqual(readFileSync(`${file}-sums`).subarray(8, 12), before.subarray(8, 12));
  });
});

describe('the file of another program, or of a newer Berth', () => {
  const SUMS = 'not sums that this one knows';
  const FOREIGN: Readonly<Record<string, [(db: DatabaseSync) => void, RegExp]>> = {
    'another program': [
      (db) => db.exec('CREATE TABLE license (a)'),
      /was not written by Berth\. It was left/,
    ],
    'a newer Berth': [
      (db) => db.exec('PRAGMA application_id = 0x42525448; PRAGMA user_version = 9999; CREATE TABLE a (a)'),
      /was written by a newer Berth \(schema 9999; .*Start the newer version/,
    ],
  };
  for (const [whose, [make, says]] of Object.entries(FOREIGN)) {
    test(`is left alone, and those beside it, if it is of ${whose}`, async (t) => {
      const folder = temporaryFolder(t);
      const file = join(folder, 'berth.db');
      const db = new DatabaseSync(file);
      make(db);
      db.close();
      writeFileSync(`${file}-sums`, SUMS);
      const before = readFileSync(file);
      await assert.rejects(open(file), says);
      assert.deepEqual(readFileSync(file), before);
      assert.equal(readFileSync(`${file}-sums`, 'utf8'), SUMS);
      assert.deepEqual(readdirSync(folder).sort(), ['berth.db', 'berth.db-sums']);
    });
  }

  test('is told from one whose header has changed', async (t) => {
    const file = await makeClosed(t);
    const USER_VERSION_AT = 60;
    flip(file, USER_VERSION_AT);
    await assert.rejects(listen(file), /berth\.db is damaged \(page 1: not as the server wrote it/);
  });
});

/** A process that closes a handle of a file has lost its locks on it. */
test('the locks of SQLite are kept, at the first start and after a check of the file', {
  skip: process.platform === 'linux' ? false : 'optional: needs Linux',
}, async (t) => {
  const { file, store } = await openWithLicense(t);
  const isLocked = () => {
    const locks = readFileSync('/proc/locks', 'utf8').split('\n');
    return locks.some(
      (line) => line.includes(` ${process.pid} `) && line.includes(`:${statSync(file).ino} `),
    );
  };
  assert.ok(isLocked(), 'at the first start');
  await store.read({ kind: 'check_file', maxBytes: 1e9 });
  for (const user of ['ada', 'bob']) await store.execute(register(user));
  await store.keepClock();
  assert.ok(isLocked(), 'after a check');
  await store.close();
});

describe('the checksums follow the database', () => {
  /** Enough for the log to be moved into the database while the store is open. */
  const COMMITS = 1500;

  test('while it is used, and after a crash at any time', async (t) => {
    const { file, store } = await openWithLicense(t);
    let sumsBefore = readFileSync(`${file}-sums`);
    let inode = statSync(`${file}-sums`).ino;
    let moves = 0;
    for (let commit = 1; commit <= COMMITS; commit++) {
      const command = commit % 2 === 0 ? unregister('ada') : register('ada');
      await store.execute(command);
      if (commit % 100 === 0) await store.keepClock();
      if (statSync(`${file}-sums`).ino === inode) continue;
      inode = statSync(`${file}-sums`).ino;
      moves += 1;
      const crashed = copyFiles(t, file);
      writeFileSync(`${crashed}-sums`, sumsBefore);
      assert.deepEqual(await listen(crashed), [], 'the sums were not written yet');
      sumsBefore = readFileSync(`${file}-sums`);
      assert.deepEqual(await listen(copyFiles(t, file)), []);
    }
    assert.ok(moves > 0);
    assert.equal((await store.read({ kind: 'check_file', maxBytes: 1e9 })).changed, null);
    await store.execute(register('bob'));
    assert.deepEqual(await listen(copyFiles(t, file)), []);
    await store.close();
    assert.equal(findChangedPages(file), null);
    assert.deepEqual(await listen(file), []);
  });
});

describe('a changed bit in the log that a crash has left', () => {
  async function crash(t: TestContext) {
    const { file, store } = await openWithLicense(t);
    for (const user of ['ada', 'bob', 'cyd']) await store.execute(register(user));
    const copy = copyFiles(t, file);
    await store.close();
    const frames = (readFileSync(`${copy}-wal`).length - LOG_HEADER_BYTES) / FRAME_BYTES;
    return { copy, frames };
  }

  test('is told: commits are lost', async (t) => {
    const { copy } = await crash(t);
    flip(`${copy}-wal`, LOG_HEADER_BYTES + 1000);
    assert.deepEqual(await listen(copy), [{ kind: 'log_damaged', isLost: true }]);
    assert.deepEqual(await listen(copy), []);
  });

  test('is told if it is in the header of the log', async (t) => {
    const { copy } = await crash(t);
    for (const at of [2, 9, 17, 21, 30]) {
      const one = copyFiles(t, copy);
      flip(`${one}-wal`, at);
      assert.deepEqual(await listen(one), [{ kind: 'log_damaged', isLost: true }], `byte ${at}`);
    }
  });

  test('is told if it is anywhere in the last commit, which may also have been interrupted', async (t) => {
    const { copy, frames } = await crash(t);
    for (const at of [0, 6, 9, 13, 17, 500]) {
      const one = copyFiles(t, copy);
      flip(`${one}-wal`, LOG_HEADER_BYTES + (frames - 1) * FRAME_BYTES + at);
      assert.deepEqual(await listen(one), [{ kind: 'log_damaged', isLost: false }], `byte ${at}`);
    }
  });

  test('is not told of a log that ends between two commits, or in what was never committed', async (t) => {
    const { copy, frames } = await crash(t);
    const log = readFileSync(`${copy}-wal`);
    for (let left = 0; left <= frames; left++) {
      const one = copyFiles(t, copy);
      writeFileSync(`${one}-wal`, log.subarray(0, LOG_HEADER_BYTES + left * FRAME_BYTES + 100));
      assert.deepEqual(await listen(one), [], `${left} frames`);
    }
  });
});
