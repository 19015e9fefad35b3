import assert from 'node:assert/strict';
import {
  chownSync,
  existsSync,
  linkSync,
  lstatSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, type TestContext, test } from 'node:test';
import { temporaryFolder } from '../../../../test/support/server-process.ts';
import {
  importMasterKey,
  isShared,
  openServersStore,
  openStoppedStore,
} from '../../src/compose/compose-store.ts';
import { loadConfig } from '../../src/config.ts';
import { Fault } from '../../src/core/nouns/fault.ts';
import { sealExport } from '../../src/secrets/key-export.ts';
import { makeMasterKey } from '../../src/secrets/master-key.ts';
import { createDataFolder } from '../../src/store/folder-access.ts';
import { lockFolder } from '../../src/store/folder-lock.ts';

/** A database that nobody answers for. */
const AWAY = 'postgres://berth:geheim@127.0.0.1:1/berth';

function optionsOf(t: TestContext, url: string, name = 'data') {
  const data = join(temporaryFolder(t), name);
  const env = { BERTH_DATA: data, BERTH_DATABASE_URL: url };
  const { config } = loadConfig({ flags: {}, env, file: '/dev/null' });
  return { config, env: {}, version: '1.2.3', onNotice: () => {}, onNews: () => {} };
}

function isFaultWithoutSecrets(error: unknown): boolean {
  assert.ok(error instanceof Fault, String(error));
  assert.doesNotMatch(error.message, /geheim/);
  return true;
}

describe('where the data is', () => {
  test('is the folder, unless a database is configured', async (t) => {
    const alone = optionsOf(t, '');
    assert.equal(isShared(alone.config), false);
    await assert.rejects(openStoppedStore(alone), /There is no data in/);
    const store = await openServersStore(alone);
    assert.equal(await openStoppedStore(alone), null, 'a server has the folder');
    await store.close();
    const again = await openStoppedStore(alone);
    assert.ok(again !== null);
    await again.close();
    assert.equal(isShared(optionsOf(t, AWAY).config), true);
  });

  test('is not in an empty file, which a command leaves alone and a first start fills', async (t) => {
    const options = optionsOf(t, '');
    const { data } = options.config;
    const file = join(data, 'berth.db');
    createDataFolder(data);
    writeFileSync(file, '', { mode: 0o600 });
    writeFileSync(join(data, 'master.key'), 'ab'.repeat(32), { mode: 0o600 });
    await assert.rejects(
      openStoppedStore(options),
      /berth\.db is empty\. This is not a copy of a server's data/,
    );
    assert.deepEqual(readdirSync(data).sort(), ['berth.db', 'master.key']);
    assert.equal(statSync(file).size, 0);
    await (await openServersStore(options)).close();
    assert.ok(statSync(file).size > 0);
  });
});

describe('a damaged database', () => {
  const TOLD =
    /^The database \S+berth\.db is damaged \(SQLite says: .+\)\. Stop the server and restore a backup: /;

  function isTold(error: unknown): boolean {
    assert.ok(error instanceof Fault, String(error));
    assert.match(error.message, TOLD);
    return true;
  }

  function damage(file: string, page: number): void {
    const bytes = readFileSync(file);
    bytes.fill(0xff, page * 4096, (page + 1) * 4096);
    writeFileSync(file, bytes);
  }

  /** The table's own first page, and those of its indexes. */
  function findPages(file: string, table: string): readonly number[] {
    const db = new DatabaseSync(file, { readOnly: true });
    const rows = db.prepare('SELECT rootpage FROM sqlite_schema WHERE tbl_name = ?').all(table);
    db.close();
    return rows.map(({ rootpage }) => (rootpage as number) - 1);
  }

  test('is named with what to do, by the server and by commands, opened and read', async (t) => {
    const options = optionsOf(t, '');
    const file = join(options.config.data, 'berth.db');
    await (await openServersStore(options)).close();
    for (const page of findPages(file, 'account')) damage(file, page);
    const store = await openStoppedStore(options);
    assert.ok(store !== null);
    await assert.rejects(store.read({ kind: 'list_accounts' }), isTold);
    const account = { kind: 'remove_account', account: 'admin', by: 'admin' } as const;
    await assert.rejects(store.execute(account), isTold);
    await store.close();
    damage(file, 0);
    await assert.rejects(openStoppedStore(options), isTold);
    await assert.rejects(openServersStore(options), isTold);
  });
});

describe("root in another user's folder", () => {
  const STRANGER = 65_534;

  /** Who owns what is in a folder. */
  function ownersIn(folder: string): Record<string, number> {
    return Object.fromEntries(readdirSync(folder).map((name) => [name, lstatSync(join(folder, name)).uid]));
  }

  test('leaves nothing there that the user cannot use', async (t) => {
    if (process.getuid?.() !== 0) return t.skip('optional: needs root');
    const options = optionsOf(t, '');
    const { data } = options.config;
    createDataFolder(data);
    chownSync(data, STRANGER, STRANGER);
    const store = await openServersStore(options);
    const owners = ownersIn(data);
    assert.deepEqual(new Set(Object.values(owners)), new Set([STRANGER]), JSON.stringify(owners));
    assert.ok('berth.pid' in owners && 'master.key' in owners && 'berth.db' in owners);
    chownSync(join(data, 'master.key'), 0, 0);
    await store.close();
    assert.deepEqual(new Set(Object.values(ownersIn(data))), new Set([STRANGER]));
  });

  test('gives away no linked file from elsewhere', (t) => {
    if (process.getuid?.() !== 0) return t.skip('optional: needs root');
    const folder = temporaryFolder(t);
    const data = join(folder, 'data');
    createDataFolder(data);
    chownSync(data, STRANGER, STRANGER);
    for (const name of ['soft', 'hard']) writeFileSync(join(folder, name), '');
    symlinkSync(join(folder, 'soft'), join(data, 'master.key'));
    linkSync(join(folder, 'hard'), join(data, 'master.key.next'));
    lockFolder(data)?.release();
    assert.deepEqual([statSync(join(folder, 'soft')).uid, statSync(join(folder, 'hard')).uid], [0, 0]);
    assert.equal(statSync(join(data, 'berth.lock')).uid, STRANGER);
  });
});

describe('a server beside a database', () => {
  test('has its own folder, and releases it when the database is away', async (t) => {
    const options = optionsOf(t, AWAY);
    await assert.rejects(openServersStore(options), isFaultWithoutSecrets);
    const lock = lockFolder(options.config.data);
    assert.ok(lock !== null, 'the folder is free again');
    assert.equal(await openStoppedStore(options), null, 'another process has it');
    lock.release();
    await assert.rejects(openStoppedStore(options), isFaultWithoutSecrets);
    assert.ok(!existsSync(join(options.config.data, 'berth.db')), 'nothing is kept in the folder itself');
  });

  test('can be used by a command on a machine without a folder', async (t) => {
    const options = optionsOf(t, AWAY);
    await assert.rejects(openStoppedStore(options), isFaultWithoutSecrets);
    assert.ok(!existsSync(options.config.data));
  });

  test('gets no master key that was not tried on the database', async (t) => {
    const options = optionsOf(t, AWAY);
    createDataFolder(options.config.data);
    const passphrase = 'a passphrase that is long';
    const sealed = await sealExport({ masterKey: makeMasterKey(), identity: 'x' }, passphrase);
    await assert.rejects(importMasterKey(options, JSON.stringify(sealed), passphrase), isFaultWithoutSecrets);
    assert.ok(!existsSync(join(options.config.data, 'master.key')));
  });
});
