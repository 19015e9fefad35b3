import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { addFooter, BackupError, readBackup, requireAuthentic } from '../../src/files/backup-file.ts';

const FOLDER = mkdtempSync(join(tmpdir(), 'berth-test-'));
after(() => rmSync(FOLDER, { recursive: true }));

const KEY = new Uint8Array(32).fill(7);
const CONTENT = Buffer.from('not really a database');
const FACTS = {
  program: 'server',
  made_by: '1.2.3',
  made_at: '2030-01-15T12:00:00.000Z',
  schema_version: 3,
  store: 'sqlite',
  identity: 'i',
  key_fingerprint: 'f',
  sealed_keys: { salt: 's' },
} as const;

function makeFile(): string {
  const file = join(FOLDER, 'one.backup');
  writeFileSync(file, CONTENT);
  addFooter(file, FACTS, KEY, () => {});
  return file;
}

function open(bytes: Uint8Array, key = KEY) {
  const file = join(FOLDER, 'copy.backup');
  writeFileSync(file, bytes);
  const parts: Uint8Array[] = [];
  const backup = readBackup(file, (part) => parts.push(part));
  requireAuthentic(backup, key);
  return { ...backup, content: Buffer.concat(parts) };
}

describe('a backup file', () => {
  test('gives back what it was made of', () => {
    const { facts, content } = open(readFileSync(makeFile()));
    assert.deepEqual(facts, { ...FACTS, bytes: CONTENT.length });
    assert.deepEqual(content, CONTENT);
  });

  test('is refused with any byte changed, at any length but its own, and with another key', () => {
    const bytes = readFileSync(makeFile());
    for (let at = 0; at < bytes.length; at++) {
      const changed = Buffer.from(bytes);
      changed[at] = (changed[at] as number) ^ 0x20;
      assert.throws(() => open(changed), BackupError, `byte ${at}`);
      assert.throws(() => open(bytes.subarray(0, at)), BackupError, `length ${at}`);
    }
    assert.throws(() => open(Buffer.concat([bytes, Buffer.of(0)])), BackupError);
    assert.throws(() => open(bytes, new Uint8Array(32)), /was not written with this key/);
  });

  test('of another version is told from a damaged one', () => {
    const bytes = readFileSync(makeFile());
    bytes.write('v2', bytes.lastIndexOf('v1\n'));
    assert.throws(
      () => open(bytes),
      /made by a newer Berth \(format 2; this one knows 1\)\. Restore it with/,
    );
  });
});
