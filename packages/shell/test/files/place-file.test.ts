import assert from 'node:assert/strict';
import { once } from 'node:events';
import fs, { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { placeFile } from '../../src/files/place-file.ts';

const skip = process.platform === 'win32' && 'sockets are no files';

test('a draft replaces files, and no devices or sockets', { skip }, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'berth-test-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const [draft, file, special] = ['draft', 'file', 'special'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  writeFileSync(draft, 'new');
  writeFileSync(file, 'old');
  assert.throws(() => placeFile(draft, file, false), { code: 'EEXIST' });
  const server = createServer();
  await once(server.listen(special), 'listening');
  t.after(() => server.close());
  assert.throws(() => placeFile(draft, special, true), /special file\. Give the path of a file$/);
  assert.ok(fs.statSync(special).isSocket());
  placeFile(draft, file, true);
  assert.deepEqual([fs.readFileSync(file, 'utf8'), fs.existsSync(draft)], ['new', false]);
});
