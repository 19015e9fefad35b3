import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, chownSync, cpSync, existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { temporaryFolder } from '../../../../test/support/server-process.ts';
import { createDataFolder, explainFolder } from '../../src/store/folder-access.ts';

const SOURCE = fileURLToPath(import.meta.resolve('@berth/shell/files/folder-access'));
const STRANGER = 65_534;
/** Runs in its own process, of which another user needs only one file. */
const SCRIPT = `
  const [, source, folder] = process.argv;
  const path = require('node:path');
  const files = { written: [path.join(folder, 'berth.db')], read: [] };
  import(source).then((it) => console.log(it.explainFolder(folder, files)));`;

/** A folder that every user may look into. */
function openFolder(t: TestContext): string {
  const folder = temporaryFolder(t);
  chmodSync(folder, 0o755);
  return folder;
}

/** What another user of this machine is told about a folder; `null`: no other user is possible here. */
function explainToStranger(t: TestContext, folder: string): string | null {
  if (process.getuid?.() !== 0) return null;
  const copy = join(openFolder(t), 'folder-access.ts');
  cpSync(SOURCE, copy);
  chmodSync(copy, 0o644);
  const options = { uid: STRANGER, gid: STRANGER, cwd: '/', encoding: 'utf8' } as const;
  const { status, stdout } = spawnSync(process.execPath, ['-e', SCRIPT, copy, folder], options);
  return status === 0 ? stdout.trim() : null;
}

describe('a data folder', () => {
  test('that does not exist is created for its owner only', (t) => {
    const folder = join(temporaryFolder(t), 'deep', 'data');
    createDataFolder(folder);
    createDataFolder(folder);
    assert.equal(statSync(folder).mode & 0o777, 0o700);
    assert.equal(explainFolder(folder), null);
    assert.equal(explainFolder(join(folder, 'not', 'there')), null);
  });

  test('that is a file, or in one, is reported', (t) => {
    const file = join(temporaryFolder(t), 'file');
    writeFileSync(file, '');
    for (const path of [file, join(file, 'data'), join(file, 'deep', 'data')]) {
      assert.match(explainFolder(path) ?? '', /file is a file, not a folder\./);
      assert.throws(() => createDataFolder(path), /file is a file, not a folder\./);
    }
  });

  test('cannot be where the system allows none, which is found at once', (t) => {
    if (!existsSync('/proc/self')) return t.skip('optional: needs /proc');
    for (const folder of ['/proc/berth', '/proc/berth/data']) {
      assert.throws(() => createDataFolder(folder), /^Error: Cannot create a folder in \/proc\./);
    }
  });

  test('on a read-only disk is reported', (t) => {
    const disk = temporaryFolder(t);
    try {
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'ro', 'tmpfs', disk], { stdio: 'ignore' });
    } catch {
      return t.skip('optional: needs the right to mount a disk');
    }
    try {
      assert.match(explainFolder(disk) ?? '', /is on a disk that is mounted read-only\. Mount it writable/);
      assert.throws(() => createDataFolder(join(disk, 'data')), /is on a disk that is mounted read-only\./);
    } finally {
      execFileSync('umount', ['--lazy', disk]);
    }
  });

  test('of another user is reported with its owner, the current user and what to do', (t) => {
    const folder = join(openFolder(t), 'data');
    createDataFolder(folder);
    const told = explainToStranger(t, folder);
    if (told === null) return t.skip('optional: needs root, and a Node that others can run');
    assert.match(
      told,
      /data belongs to the user "root" \(id 0\), and you are .*65534\)?: you cannot use it\./,
    );
    assert.match(told, /\(sudo -u root …\)/);
    const inside = explainToStranger(t, join(folder, 'deep', 'data'));
    assert.match(inside ?? '', /data belongs to the user "root"/);
  });

  test("with another user's file in it is reported with that file", (t) => {
    const folder = join(openFolder(t), 'data');
    mkdirSync(folder, { mode: 0o700 });
    writeFileSync(join(folder, 'berth.db'), '', { mode: 0o600 });
    if (process.getuid?.() === 0) chownSync(folder, STRANGER, STRANGER);
    const told = explainToStranger(t, folder);
    if (told === null) return t.skip('optional: needs root, and a Node that others can run');
    assert.match(told, /berth\.db is in your folder, but belongs to the user "root" \(id 0\): /);
    assert.match(told, /: sudo chown \S+ \S+berth\.db$/);
  });

  test("of one's own without access is reported with how to open it", (t) => {
    const folder = join(openFolder(t), 'data');
    mkdirSync(folder);
    chmodSync(folder, 0o500);
    const isRoot = process.getuid?.() === 0;
    if (isRoot) chownSync(folder, STRANGER, STRANGER);
    const told = isRoot ? explainToStranger(t, folder) : explainFolder(folder);
    if (told === null) return t.skip('optional: needs a Node that others can run');
    assert.match(told, /data is yours, but its mode 0500 denies you access: chmod 700 \S+data$/);
    chmodSync(folder, 0o1500);
    const shared = isRoot ? explainToStranger(t, folder) : explainFolder(folder);
    assert.match(shared ?? '', /its mode 1500 denies you access\. Choose another folder with --data\.$/);
  });
});
