import assert from 'node:assert/strict';
import { mkdirSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { temporaryFolder } from '../../../../../test/support/server-process.ts';
import { watchFile } from '../../../src/services/watching/watched-file.ts';

const MAX_BYTES = 100;

function setUp(t: TestContext) {
  const path = join(temporaryFolder(t), 'watched');
  return { path, file: watchFile(path, MAX_BYTES) };
}

const text = (words: string) => ({ kind: 'text', text: words });

describe('a file that is watched', () => {
  test('is reported once for each version, at the second look', async (t) => {
    const { path, file } = setUp(t);
    writeFileSync(path, 'one');
    assert.deepEqual([await file.look(), await file.look(), await file.look()], [null, text('one'), null]);
    writeFileSync(path, 'other');
    assert.deepEqual([await file.look(), await file.look(), await file.look()], [null, text('other'), null]);
  });

  test('counts as changed when it was replaced, however similar the two are', async (t) => {
    const { path, file } = setUp(t);
    writeFileSync(path, 'one');
    const { atime, mtime } = statSync(path);
    await file.look();
    await file.look();
    writeFileSync(`${path}.new`, 'two');
    utimesSync(`${path}.new`, atime, mtime);
    renameSync(`${path}.new`, path);
    assert.deepEqual([await file.look(), await file.look()], [null, text('two')]);
  });

  test('is not reported while an editor is writing it', async (t) => {
    const { path, file } = setUp(t);
    writeFileSync(path, 'one');
    await file.look();
    await file.look();
    writeFileSync(path, '');
    assert.equal(await file.look(), null, 'emptied');
    writeFileSync(path, 'whole');
    assert.equal(await file.look(), null, 'written');
    renameSync(path, `${path}~`);
    assert.equal(await file.look(), null, 'put away');
    writeFileSync(path, 'whole again');
    assert.deepEqual([await file.look(), await file.look()], [null, text('whole again')]);
  });

  test('is not taken for another version because it changed while it was read', async (t) => {
    const { path, file } = setUp(t);
    await file.look();
    const looking = file.look();
    // The file is found to be absent meanwhile, and is there when it is read.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 50);
    writeFileSync(path, 'here');
    assert.equal(await looking, null);
    assert.equal(await file.look(), null);
    rmSync(path);
    assert.deepEqual([await file.look(), await file.look()], [null, { kind: 'absent' }]);
  });

  test('may come and go', async (t) => {
    const { path, file } = setUp(t);
    assert.deepEqual(
      [await file.look(), await file.look(), await file.look()],
      [null, { kind: 'absent' }, null],
    );
    writeFileSync(path, 'here');
    assert.deepEqual([await file.look(), await file.look()], [null, text('here')]);
    rmSync(path);
    assert.deepEqual([await file.look(), await file.look()], [null, { kind: 'absent' }]);
  });

  test('may be unreadable', async (t) => {
    const { path, file } = setUp(t);
    mkdirSync(path);
    assert.deepEqual(await file.read(), { kind: 'unreadable', reason: 'it is not a regular file' });
    rmSync(path, { recursive: true });
    writeFileSync(path, 'x'.repeat(MAX_BYTES + 1));
    assert.deepEqual(await file.read(), { kind: 'unreadable', reason: 'it is larger than 100 bytes' });
    assert.deepEqual([await file.look(), (await file.look())?.kind], [null, 'unreadable']);
    writeFileSync(path, 'x'.repeat(MAX_BYTES));
    assert.equal((await file.read()).kind, 'text');
  });

  test('can be read at any time without being reported', async (t) => {
    const { path, file } = setUp(t);
    writeFileSync(path, 'one');
    assert.deepEqual(await file.read(), text('one'));
    assert.deepEqual([await file.look(), await file.look()], [null, text('one')]);
  });
});
