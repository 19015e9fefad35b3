import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { temporaryFolder } from '../../../../test/support/server-process.ts';
import { findNextKey, settleNextKey, stageNextKey } from '../../src/secrets/key-rotation.ts';
import { makeMasterKey, writeKeyFile } from '../../src/secrets/master-key.ts';
import { fingerprint } from '../../src/secrets/seal.ts';

function setUp(t: TestContext) {
  const folder = temporaryFolder(t);
  const file = join(folder, 'master.key');
  const [current, next] = [makeMasterKey(), makeMasterKey()];
  writeKeyFile(file, current);
  const read = () => readFileSync(file, 'utf8').trim();
  return { folder, file, current, next, read };
}

const hex = (key: Uint8Array) => Buffer.from(key).toString('hex');

describe('a key that is to replace another', () => {
  test('is next to it, for its owner only, until it is settled', (t) => {
    const { folder, file, current, next, read } = setUp(t);
    assert.equal(findNextKey(file), null);
    stageNextKey(file, next);
    assert.deepEqual(readdirSync(folder).sort(), ['master.key', 'master.key.next']);
    assert.equal(statSync(`${file}.next`).mode & 0o777, 0o600);
    assert.deepEqual(findNextKey(file), next);
    assert.equal(read(), hex(current));
    settleNextKey(file, fingerprint(next));
    assert.deepEqual(readdirSync(folder), ['master.key']);
    assert.equal(read(), hex(next));
    assert.equal(statSync(file).mode & 0o777, 0o600);
  });

  test('is removed when the store is still sealed by the other', (t) => {
    const { folder, file, current, next, read } = setUp(t);
    stageNextKey(file, next);
    settleNextKey(file, fingerprint(current));
    assert.deepEqual(readdirSync(folder), ['master.key']);
    assert.equal(read(), hex(current));
  });

  test('has sealed nothing when it is not a key', (t) => {
    const { folder, file, current, read } = setUp(t);
    for (const text of ['', 'half a ke', 'x'.repeat(64)]) {
      writeFileSync(`${file}.next`, text);
      assert.equal(findNextKey(file), null);
      settleNextKey(file, fingerprint(current));
      assert.deepEqual(readdirSync(folder), ['master.key']);
      assert.equal(read(), hex(current));
    }
  });

  test('is not staged if it cannot be written, and an old draft does no harm', (t) => {
    const { file, next } = setUp(t);
    writeFileSync(`${file}.next.new`, 'left over', { mode: 0o644 });
    stageNextKey(file, next);
    assert.equal(statSync(`${file}.next`).mode & 0o777, 0o600);
    const elsewhere = join(file, '..', 'elsewhere');
    mkdirSync(`${elsewhere}.next`);
    assert.throws(() => stageNextKey(elsewhere, next));
  });
});
