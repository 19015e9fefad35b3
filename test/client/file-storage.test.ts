import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { createFileStorage } from '../../packages/client/src/node/file-storage.ts';
import { temporaryFolder } from '../support/server-process.ts';

const MODULE = new URL('../../packages/client/src/node/file-storage.ts', import.meta.url).href;

test('what killed programs were writing is removed, but not what others are writing', async (t) => {
  const folder = temporaryFolder(t);
  for (const name of ['a.json.1.new', 'b.json.2.new']) writeFileSync(join(folder, name), '{');
  utimesSync(join(folder, 'a.json.1.new'), 1e9, 1e9);
  await createFileStorage(folder).write('c', '{}');
  assert.deepEqual(readdirSync(folder).sort(), ['b.json.2.new', 'c.json']);
});

test('a text can be written several times at once', async (t) => {
  const folder = temporaryFolder(t);
  const storage = createFileStorage(folder);
  await Promise.all(Array.from({ length: 20 }, (_, index) => storage.write('a', `${index}`)));
  assert.deepEqual(readdirSync(folder), ['a.json']);
  assert.equal(process.listeners('exit').filter(({ name }) => name === 'removeDrafts').length, 0);
});

test('a program that ends while it writes leaves nothing behind', (t) => {
  const folder = temporaryFolder(t);
  const code = `
    import { readdirSync } from 'node:fs';
    const { createFileStorage } = await import('${MODULE}');
    createFileStorage(process.argv[1]).write('a', 'x'.repeat(5e7));
    const look = () => {
      const files = readdirSync(process.argv[1]);
      if (files.length > 0) console.log(files[0]);
      if (files.length > 0) process.exit();
      setImmediate(look);
    };
    look();`;
  const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', code, folder], {
    encoding: 'utf8',
  });
  assert.match(stdout, /\.new\n$/);
  assert.deepEqual(readdirSync(folder), []);
});
