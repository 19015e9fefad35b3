import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { explainOpen, explainReadable, explainWritable, isContainer } from '../../src/files/file-sharing.ts';

const ME = { id: 1000, isContainer: false };
const CONTAINED = { id: 1000, isContainer: true };
const ROOT = { id: 0, isContainer: false };
const WINDOWS = { id: null, isContainer: false };

function folder(mode: number, owner = 1000) {
  return { path: '/srv/data', isFolder: true, names: ['berth.db', 'x'], mode: 0o40000 | mode, owner };
}

describe('a folder', () => {
  for (const [mode, user, isWritable, isReadable] of [
    [0o700, ME, false, false],
    [0o755, ME, false, true],
    [0o750, ME, false, true],
    [0o777, ME, true, true],
    [0o770, ME, true, true],
    [0o702, ME, true, false],
    [0o2770, CONTAINED, false, false],
    [0o755, CONTAINED, false, true],
    [0o777, CONTAINED, true, true],
    [0o777, ROOT, true, true],
    [0o777, WINDOWS, false, false],
  ] as const) {
    const who = JSON.stringify(user);
    const title = `of the mode ${mode.toString(8)}, for ${who}`;
    test(`${title}: writable ${isWritable}, readable ${isReadable}`, () => {
      assert.equal(explainWritable(folder(mode), user) !== null, isWritable);
      assert.equal(explainReadable(folder(mode), user) !== null, isReadable);
    });
  }

  test('belongs to somebody else, unless that is root, or the user is root', () => {
    assert.match(
      explainWritable(folder(0o700, 1001), ME) ?? '',
      /another user .* \(id 1001\).*chown -R 1000/,
    );
    assert.equal(explainWritable(folder(0o700, 0), ME), null);
    assert.equal(explainWritable(folder(0o700, 1001), ROOT), null);
  });

  test('that a container was given can be as readable as its maker wanted', () => {
    assert.equal(explainReadable(folder(0o755, 0), CONTAINED), null);
    assert.notEqual(explainReadable(folder(0o755, 0), ME), null);
  });

  test('is reported with what to do', () => {
    assert.equal(
      explainWritable(folder(0o777), ME),
      'Other users of this machine can write to /srv/data (mode 0777). ' +
        'Remove that access: chmod 700 /srv/data',
    );
    const file = { path: '/srv/key', isFolder: false, names: [], mode: 0o100644, owner: 1000 };
    assert.match(explainReadable(file, ME) ?? '', /chmod 600 \/srv\/key$/);
    assert.match(explainWritable({ ...folder(0o777), names: [] }, ME) ?? '', /chmod 700 \/srv\/data$/);
  });

  test('that others need keeps its mode: another one has to be chosen', () => {
    const device = { path: '/dev/null', isFolder: false, names: [], mode: 0o20666, owner: 0 };
    for (const [file, told] of [
      [folder(0o1777), /, and all users share it\. Choose another folder with --data\.$/],
      [{ ...folder(0o777), path: '/' }, /, and it is the root of the file system\. Choose another folder/],
      [
        { ...folder(0o777), names: ['x'] },
        /, and it contains files of other programs\. Choose another folder/,
      ],
      [device, /, and it is not a regular file\. Choose another file\.$/],
    ] as const) {
      for (const problem of [explainWritable(file, ME), explainReadable(file, ME)]) {
        assert.match(problem ?? '', told);
        assert.doesNotMatch(problem ?? '', /chmod/);
      }
    }
  });
});

test('a container is recognized by its files, its environment or its group', () => {
  const files = { exists: () => false, read: () => null };
  assert.equal(isContainer({}, files), false);
  assert.equal(isContainer({ container: 'podman' }, files), true);
  assert.equal(isContainer({}, { ...files, exists: (path) => path === '/.dockerenv' }), true);
  assert.equal(isContainer({}, { ...files, read: () => '0::/kubepods/x' }), true);
});

test('a file that steers a program may be written by its group, and not by all users', () => {
  const path = '/etc/berth.yaml';
  const said =
    'All users of this machine can write to /etc/berth.yaml (mode 0646). Remove that access: chmod o-w ' +
    path;
  assert.equal(explainOpen({ path, mode: 0o100646 }, ME), said);
  assert.equal(explainOpen({ path, mode: 0o100646 }, ROOT), said);
  assert.equal(explainOpen({ path, mode: 0o100646 }, WINDOWS), null);
  assert.equal(explainOpen({ path, mode: 0o100664 }, ME), null);
  assert.equal(explainOpen({ path: '/dev/null', mode: 0o020666 }, ME), null, 'a device is as it is');
});
