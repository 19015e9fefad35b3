import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { addFooter, readFacts } from '@berth/shell/files/backup-file';
import { temporaryFolder } from '../../../../../test/support/server-process.ts';
import { openTestStore } from '../../../../../test/support/test-app.ts';
import { parseSchedule } from '../../../src/core/nouns/backup-schedule.ts';
import { HOUR_MS, MINUTE_MS } from '../../../src/core/nouns/instant.ts';
import { openExport } from '../../../src/secrets/key-export.ts';
import type { MakeBackup } from '../../../src/services/backups/backup-job.ts';
import { prepareFolder } from '../../../src/services/backups/backup-places.ts';
import { type BackupPlan, Backups } from '../../../src/services/backups/backups.ts';
import { findBackupKey } from '../../../src/services/backups/restore-key.ts';
import { createKeyCustody } from '../../../src/services/keys/key-custody.ts';

async function setUp(t: TestContext) {
  const { store, clock, folder, keySource } = await openTestStore(t);
  const disk = { isFull: false, isWhole: false };
  const make: MakeBackup = async ({ to, sealedKeys, madeAt, masterKey }) => {
    if (disk.isFull) throw new Error('The disk is full.');
    writeFileSync(to, 'a backup');
    if (disk.isWhole) {
      const facts = {
        program: 'server',
        made_by: '1',
        schema_version: 1,
        store: 's',
        identity: 'i',
      } as const;
      const key = { key_fingerprint: 'k', sealed_keys: sealedKeys };
      return addFooter(to, { ...facts, ...key, made_at: madeAt }, masterKey, () => {});
    }
    return { bytes: 8 } as Awaited<ReturnType<MakeBackup>>;
  };
  const target = join(folder, 'backups');
  const plan = { schedule: parseSchedule('6h'), keep: 2, folder: target, passphraseFile: '' };
  const change = (changes: Partial<BackupPlan>) => Object.assign(plan, changes);
  const options = { readPlan: () => plan, dataFolder: folder };
  const custody = createKeyCustody(store, keySource);
  const backups = new Backups({ store, custody, make, version: '1', ...options });
  const listEvents = async () => {
    const links = await store.read({ kind: 'list_audit', chain: 'system', limit: 100, before: null });
    return links.flatMap(({ events }) => events.map(({ kind }) => kind)).toReversed();
  };
  return { backups, change, clock, disk, folder, keySource, target, listEvents };
}

describe('the schedule of backups', () => {
  test('makes the first at once and the next when it is due, and keeps some', async (t) => {
    const { backups, clock, target } = await setUp(t);
    mkdirSync(target);
    for (const name of ['mine.backup', 'berth-20300101T000000Z.backup.part-wal']) {
      writeFileSync(join(target, name), 'x');
    }
    assert.match((await backups.keepSchedule()) ?? '', /berth-20300115T120000Z\.backup$/);
    assert.equal(await backups.keepSchedule(), null);
    for (let round = 0; round < 2; round++) {
      clock.advance(6 * HOUR_MS);
      assert.notEqual(await backups.keepSchedule(), null);
    }
    const kept = ['berth-20300115T180000Z.backup', 'berth-20300116T000000Z.backup', 'mine.backup'];
    assert.deepEqual(readdirSync(target).sort(), kept, 'what is not its own stays');
    const { lastAt, lastFile, dueAt, failingAt } = await backups.describe();
    assert.deepEqual([lastAt, failingAt], [clock.readWall(), null]);
    assert.equal(lastFile, join(target, kept[1] as string));
    assert.equal(dueAt, clock.readWall() + 6 * HOUR_MS);
  });

  test('tells a failure and a lack once, tries again, and forgets both with a success', async (t) => {
    const { backups, clock, disk, listEvents } = await setUp(t);
    await backups.keepSchedule();
    disk.isFull = true;
    clock.advance(6 * HOUR_MS);
    const failedAt = clock.readWall();
    await assert.rejects(backups.keepSchedule(), /The disk is full/);
    assert.equal(await backups.keepSchedule(), null, 'not at once');
    await backups.watchSchedule();
    clock.advance(10 * MINUTE_MS);
    await assert.rejects(backups.keepSchedule(), /The disk is full/);
    const { failingAt, error } = await backups.describe();
    assert.deepEqual([failingAt, error], [failedAt, 'The disk is full.']);
    clock.advance(6 * HOUR_MS);
    await backups.watchSchedule();
    await backups.watchSchedule();
    assert.deepEqual(await listEvents(), ['backup_made', 'backup_failed', 'backup_overdue']);
    disk.isFull = false;
    assert.notEqual(await backups.keepSchedule(), null);
    assert.equal((await backups.describe()).failingAt, null);
  });
});

describe('the master key', () => {
  test('is in scheduled backups once there is a passphrase, and each says whether it has it', async (t) => {
    const { backups, change, clock, disk, folder, keySource, target, listEvents } = await setUp(t);
    disk.isWhole = true;
    await backups.keepSchedule();
    assert.equal((await backups.describe()).isKeyKept, false);
    const passphraseFile = join(folder, 'passphrase');
    change({ passphraseFile });
    for (const [text, reason] of [
      [null, /^"backup\.passphraseFile" cannot be read\. The file .* does not exist\.$/],
      ['short\n', /^The first line of .* has fewer than 12 characters\. /],
    ] as const) {
      if (text !== null) writeFileSync(passphraseFile, text);
      clock.advance(6 * HOUR_MS);
      await assert.rejects(backups.keepSchedule(), { message: reason });
    }
    writeFileSync(passphraseFile, 'correct horse battery\nsomething else');
    clock.advance(6 * HOUR_MS);
    const file = (await backups.keepSchedule()) ?? '';
    const { sealed_keys } = readFacts(file);
    const { masterKey } = await openExport(JSON.stringify(sealed_keys), 'correct horse battery');
    assert.equal(masterKey.length, 32);
    const newer = { ...readFacts(file), sealed_keys: { ...sealed_keys, version: 2 } };
    const given = { passphrase: 'correct horse battery', keyFile: null, source: keySource };
    await assert.rejects(
      findBackupKey(newer, given),
      /a newer Berth has sealed it .*restore it with that version\. Nothing was changed\.$/,
    );
    writeFileSync(join(target, 'berth-20300114T120000Z.backup'), 'damaged');
    change({ keep: 3 });
    assert.deepEqual(
      backups.list(9).backups.map(({ withKey }) => withKey),
      [true, false, null],
    );
    assert.equal((await backups.describe()).isKeyKept, true);
    const kinds = ['backup_made', 'backup_failed', 'master_key_exported', 'backup_made'];
    assert.deepEqual(await listEvents(), kinds);
  });
});

test('a folder that the server cannot write to is explained, also for systemd', (t) => {
  const folder = join(temporaryFolder(t), 'new');
  prepareFolder(folder);
  const refuse = (code: string) => () => {
    throw Object.assign(new Error(code), { code });
  };
  assert.throws(() => prepareFolder(folder, refuse('EACCES')), { message: /lacks permission\.$/ });
  assert.throws(() => prepareFolder(folder, refuse('EROFS')), {
    message: /read-only\. If systemd .* "systemctl edit berth": the line "ReadWritePaths=.*new" below/,
  });
});

describe('a backup on request', () => {
  test('is sent in parts, is recorded, and leaves no file behind', async (t) => {
    const { backups, folder, listEvents, clock } = await setUp(t);
    writeFileSync(join(folder, 'backup-0123456789abcdef.part'), 'left by a crash');
    const stream = await backups.send(null, 'ada', new AbortController().signal);
    assert.equal(await new Response(stream).text(), 'a backup');
    assert.deepEqual(await listEvents(), ['backup_made']);
    const { lastAt, dueAt } = await backups.describe();
    assert.deepEqual([lastAt, dueAt], [clock.readWall(), null]);
    assert.deepEqual(
      readdirSync(folder).filter((name) => name.endsWith('.part')),
      [],
    );
  });

  test('is refused while others are made', async (t) => {
    const { backups } = await setUp(t);
    const { signal } = new AbortController();
    const streams = await Promise.all([1, 2].map(() => backups.send(null, 'ada', signal)));
    await assert.rejects(backups.send(null, 'ada', signal), /2 backups are already being made/);
    for (const stream of streams) await new Response(stream).text();
    await new Response(await backups.send(null, 'ada', signal)).text();
  });

  test('with a short passphrase is refused', async (t) => {
    const { backups } = await setUp(t);
    const asked = backups.send('short', 'ada', new AbortController().signal);
    await assert.rejects(asked, /at least 12 characters/);
  });
});
