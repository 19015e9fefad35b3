import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { createRandom } from '../../support/random.ts';
import { temporaryFolder } from '../../support/server-process.ts';
import { type Dice, writeCut } from './cut.ts';
import { Disk } from './disk.ts';
import type { Happening } from './record.ts';

const ROOT = 1;
const FILE = 2;
const PAGE = 4096;

const create: Happening = { kind: 'create', inode: FILE, path: 'file', isFolder: false };
const syncFile: Happening = { kind: 'sync', inode: FILE, hasFailed: false };
const syncFails: Happening = { kind: 'sync', inode: FILE, hasFailed: true };
const syncRoot: Happening = { kind: 'sync', inode: ROOT, hasFailed: false };

function write(text: string, at = 0): Happening {
  return { kind: 'write', inode: FILE, at, bytes: Buffer.from(text) };
}

/** What a cut leaves of the file, if it leaves as little as it may, or as much. */
function cut(
  t: TestContext,
  happenings: readonly Happening[],
  mood: 'gone' | 'kept' | 'torn' = 'gone',
  seed = 1,
): string | null {
  const disk = new Disk({ inode: ROOT, bytes: null, children: {} });
  for (const happening of happenings) disk.apply(happening);
  const folder = temporaryFolder(t);
  const dice: Dice = { random: createRandom(seed), moods: [mood] };
  writeCut(disk.root, folder, dice);
  const file = join(folder, 'file');
  return existsSync(file) ? readFileSync(file, 'utf8') : null;
}

describe('after a power cut', () => {
  test('what was synced is there, and the rest may be', (t) => {
    const done = [create, syncRoot, write('old'), syncFile, write('new')];
    assert.equal(cut(t, done), 'old');
    assert.equal(cut(t, done, 'kept'), 'new');
  });

  test('a file is gone whose name was not synced', (t) => {
    assert.equal(cut(t, [create, write('text'), syncFile]), null);
  });

  test('a new name is gone that was not synced, and the old one is there', (t) => {
    const rename: Happening = { kind: 'rename', inode: FILE, from: 'file', to: 'other' };
    assert.equal(cut(t, [create, syncRoot, write('text'), syncFile, rename]), 'text');
    assert.equal(cut(t, [create, syncRoot, write('text'), syncFile, rename, syncRoot]), null);
  });

  test('a file has its old length if the new one was not synced', (t) => {
    const truncate: Happening = { kind: 'truncate', inode: FILE, size: 1 };
    assert.equal(cut(t, [create, syncRoot, write('text'), syncFile, truncate]), 'text');
    assert.equal(cut(t, [create, syncRoot, write('text'), syncFile, truncate, syncFile]), 't');
  });

  test('a write that was not synced may be torn at every sector of 512 or 4,096 bytes', (t) => {
    const done = [create, syncRoot, write('a'.repeat(4 * PAGE)), syncFile, write('b'.repeat(4 * PAGE))];
    const texts = Array.from({ length: 50 }, (_, seed) => cut(t, done, 'torn', seed) ?? '');
    const lengths = texts.flatMap((text) => [...text.matchAll(/a+|b+/g)].map(([part]) => part.length));
    assert.ok(lengths.every((length) => length % 512 === 0));
    assert.ok(lengths.some((length) => length < PAGE));
    const inPages = texts.filter((text) => !/^a+$|^b+$/.test(text) && /^(a{4096}|b{4096})+$/.test(text));
    assert.ok(inPages.length > 0, 'some are torn between pages only');
  });
});

describe('after a failed sync', () => {
  const failed = [create, syncRoot, write('a'.repeat(PAGE)), syncFile, write('bb'), syncFails];

  test('another one does not bring back what it has lost', (t) => {
    assert.equal(cut(t, [...failed, syncFile])?.slice(0, 3), 'aaa');
  });

  test('a later write to the same place counts', (t) => {
    assert.equal(cut(t, [...failed, write('cc'), syncFile])?.slice(0, 3), 'cca');
  });

  test('a later write to the page brings the page to the disk, to another page does not', (t) => {
    assert.equal(cut(t, [...failed, write('c', 5), syncFile])?.slice(0, 6), 'bbaaac');
    assert.equal(cut(t, [...failed, write('c', PAGE), syncFile])?.slice(0, 3), 'aaa');
  });
});
