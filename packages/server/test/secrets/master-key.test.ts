import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { temporaryFolder } from '../../../../test/support/server-process.ts';
import { loadMasterKey } from '../../src/secrets/master-key.ts';
import { SealError } from '../../src/secrets/seal.ts';

const BYTES = randomBytes(32);

describe('the master key', () => {
  test('is generated if there is none yet, for its owner only, and then found', (t) => {
    const folder = temporaryFolder(t);
    const file = join(folder, 'master.key');
    const key = loadMasterKey({ value: null, file, mayCreate: true });
    assert.equal(key.length, 32);
    assert.equal(statSync(file).mode & 0o777, 0o600);
    assert.match(readFileSync(file, 'utf8'), /^[0-9a-f]{64}\n$/);
    assert.deepEqual(readdirSync(folder), ['master.key'], 'the draft is gone');
    assert.deepEqual(loadMasterKey({ value: null, file, mayCreate: true }), key);
    assert.deepEqual(loadMasterKey({ value: null, file, mayCreate: false }), key);
  });

  test('is not generated if something is already sealed', (t) => {
    const file = join(temporaryFolder(t), 'master.key');
    assert.throws(
      () => loadMasterKey({ value: null, file, mayCreate: false }),
      (error: Error) => error instanceof SealError && error.message.includes(file),
    );
    assert.equal(existsSync(file), false);
  });

  test('is read in hex and in base64, from a value before a file', (t) => {
    const file = join(temporaryFolder(t), 'master.key');
    writeFileSync(file, randomBytes(32).toString('hex'));
    const writings = [BYTES.toString('hex'), BYTES.toString('hex').toUpperCase(), BYTES.toString('base64')];
    for (const value of [...writings, ` ${BYTES.toString('base64url')}\n`]) {
      const key = loadMasterKey({ value, file, mayCreate: false });
      assert.deepEqual(Buffer.from(key), BYTES, value);
    }
    writeFileSync(file, `${BYTES.toString('base64')}\n`);
    assert.deepEqual(Buffer.from(loadMasterKey({ value: null, file, mayCreate: false })), BYTES);
  });

  for (const value of ['', 'short', 'ab'.repeat(31), 'ab'.repeat(33), `${BYTES.toString('base64')}AAAA`]) {
    test(`cannot be "${value.slice(0, 12)}" with ${value.length} letters`, () => {
      assert.throws(() => loadMasterKey({ value, file: '/nowhere', mayCreate: true }), {
        message: 'The master key in BERTH_MASTER_KEY must be 32 bytes, written in hex or base64.',
      });
    });
  }
});
