import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import os from 'node:os';
import { join } from 'node:path';
import { mock, test } from 'node:test';
import { createFileStorage } from '../../packages/client/src/node/file-storage.ts';
import { findDevice } from '../../packages/client/src/node/find-device.ts';
import { encodePart } from '../../packages/client/src/storage-name.ts';
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

test('a program without a home folder can use everything but borrows and queues', async (t) => {
  const { XDG_STATE_HOME, LOCALAPPDATA } = process.env;
  delete process.env.XDG_STATE_HOME;
  delete process.env.LOCALAPPDATA;
  const fail = () => {
    throw new Error('ENOENT: no such user');
  };
  mock.method(os, 'homedir', fail);
  mock.method(os, 'userInfo', fail);
  syncBuiltinESMExports();
  t.after(() => {
    mock.restoreAll();
    syncBuiltinESMExports();
    Object.assign(process.env, XDG_STATE_HOME && { XDG_STATE_HOME }, LOCALAPPDATA && { LOCALAPPDATA });
  });
  const { connect } = await import('../../packages/client/src/main.ts');
  const client = connect({ server: 'http://127.0.0.1:1', product: 'cad', requestTimeout: '1s' });
  await assert.rejects(client.acquire(), { code: 'unreachable' });
  const failed = { name: 'StorageError', code: 'storage_failed', message: /no such user/ };
  await assert.rejects(client.resume(), failed);
  await using queue = client.openQueue();
  await assert.rejects(queue.add(1), failed);
});

test('a name is a file of its own, however long it is, and whatever is in it', async (t) => {
  const storage = createFileStorage(temporaryFolder(t));
  const parts = ['cad', 'CAD', '~', '%7e', '../up', 'a'.repeat(300), `${'a'.repeat(299)}b`, 'ö'.repeat(256)];
  const names = parts.map((part) => `borrow@${encodePart(part)}@${'i'.repeat(43)}@${encodePart(part)}`);
  for (const name of names) await storage.write(name, name);
  assert.deepEqual(await storage.list('borrow@'), names.toSorted());
  for (const name of names) assert.equal(await storage.read(name), name);
  assert.equal(new Set(names.map((name) => name.toLowerCase())).size, parts.length);
  assert.ok(names.every(({ length }) => length < 200));
});

test('a computer is identified as its operating system does it', async () => {
  const found = await findDevice();
  const files = ['/etc/machine-id', '/var/lib/dbus/machine-id'].filter((file) => existsSync(file));
  const known = files
    .map((file) => readFileSync(file, 'utf8').trim())
    .find((text) => /^[0-9a-f]{32}$/.test(text));
  if (process.platform === 'linux') assert.equal(found, known ?? null);
  else assert.match(found ?? '', /^[0-9a-fA-F-]{36}$/);
});
