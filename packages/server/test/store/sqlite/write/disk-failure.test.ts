import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { closeSync, mkdtempSync, openSync, rmSync, statSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, type TestContext, test } from 'node:test';
import { pollUntil } from '../../../../../../test/support/poll.ts';
import '../../../../../../test/support/program.ts';
import { Fault } from '../../../../src/core/nouns/fault.ts';
import { HOUR_MS, MINUTE_MS, plus } from '../../../../src/core/nouns/instant.ts';
import type { StoreNotice } from '../../../../src/core/nouns/store-notice.ts';
import type { Outcome } from '../../../../src/core/outcome.ts';
import type { MasterKey } from '../../../../src/secrets/seal.ts';
import { createManualClock, systemClock } from '../../../../src/store/clock.ts';
import { openInThreadStore } from '../../../../src/store/sqlite/in-thread-store.ts';
import { openThreadedStore } from '../../../../src/store/sqlite/threaded-store.ts';
import type { Store } from '../../../../src/store/store.ts';
import { denying, exampleLicense, inForce, NOW, register, setRules } from '../../../core/examples.ts';
import { codeOf, grantedOf, users } from '../../exam/exam-store.ts';
import { expectSound } from '../../exam/soundness.ts';

/**
 * A disk that accepts no more: the operating system limits the size of this process's files, so that writes
 * fail or stop half-way with a real error. Node ignores the signal that comes with it.
 */
function limitFileSize(bytes: number | 'unlimited'): void {
  execFileSync('prlimit', ['--pid', String(process.pid), `--fsize=${bytes}:`]);
}

const hasPrlimit = spawnSync('prlimit', ['--version']).status === 0;
const options = hasPrlimit ? {} : { skip: 'optional: it takes the prlimit of Linux to make writing fail' };

/**
 * In bytes: within a page of the log with its header of 24 bytes, at the end of one, and enough for a commit.
 */
const ROOMS = [
  0, 1, 24, 100, 4119, 4120, 4121, 8240, 10_000, 12_360, 16_479, 20_600, 24_720, 28_840, 100_000,
];

const masterKey = randomBytes(32) as Uint8Array as MasterKey;

function setUp(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'berth-disk-'));
  t.after(() => {
    limitFileSize('unlimited');
    rmSync(folder, { recursive: true });
  });
  const notices: StoreNotice[] = [];
  const onNotice = (notice: StoreNotice) => notices.push(notice);
  const kinds = () => notices.map(({ kind }) => kind);
  return { file: join(folder, 'berth.db'), onNotice, kinds };
}

async function install(store: Store): Promise<void> {
  await store.execute({ kind: 'install_license', license: exampleLicense({ slots: 500 }), by: 'admin' });
}

async function listUsers(store: Store): Promise<readonly string[]> {
  const scope = { licenseId: null, product: null, user: null };
  const page = await store.read({ kind: 'list_registrations', ...scope, limit: 1e6, after: null });
  return page.registrations.map(({ registration }) => registration.user);
}

function isFault(error: unknown): boolean {
  return error instanceof Fault && error.code === 'store_unavailable';
}

async function expectFaults(asked: readonly Promise<Outcome>[]): Promise<void> {
  for (const result of await Promise.allSettled(asked)) {
    assert.equal(result.status, 'rejected');
    assert.ok(result.status === 'rejected' && isFault(result.reason), JSON.stringify(result));
  }
}

describe('a disk that accepts no more', options, () => {
  test('is answered with a fault; nothing acknowledged is lost; it recovers', async (t) => {
    const { file, onNotice, kinds } = setUp(t);
    const clock = createManualClock(NOW);
    const store = openInThreadStore({ file, masterKey, clock, onNotice });
    await install(store);
    for (const user of users(50)) grantedOf(await store.execute(register(user)));
    limitFileSize(0);
    await expectFaults(users(100, 'lost').map((user) => store.execute(register(user))));
    assert.equal(store.isHealthy(), false);
    assert.deepEqual(kinds(), ['commit_failed']);
    assert.deepEqual(await listUsers(store), users(50), 'it still answers questions');
    clock.advance(5000);
    await expectFaults([store.execute(register('eve'))]);
    await assert.rejects(store.keepClock(), isFault);
    limitFileSize('unlimited');
    await expectFaults([store.execute(register('eve'))]);
    clock.advance(1000);
    assert.equal(grantedOf(await store.execute(register('eve'))).inUse, 51);
    assert.equal(store.isHealthy(), true);
    assert.equal(kinds().at(-1), 'store_recovered');
    assert.deepEqual(await listUsers(store), ['eve', ...users(50)]);
    await expectSound(store);
    await store.close();
  });

  test('for a single commit stops nobody else, and no time has to pass', async (t) => {
    const { file, onNotice, kinds } = setUp(t);
    const store = openInThreadStore({ file, masterKey, clock: createManualClock(NOW), onNotice });
    await install(store);
    for (const user of users(3)) {
      limitFileSize(0);
      await expectFaults([store.execute(register(user))]);
      limitFileSize('unlimited');
      grantedOf(await store.execute(register(user)));
    }
    assert.deepEqual(kinds(), Array(3).fill(['commit_failed', 'store_recovered']).flat());
    assert.deepEqual(await listUsers(store), users(3));
    await expectSound(store);
    await store.close();
  });

  test('leaves the previous rules in force', async (t) => {
    const { file, onNotice } = setUp(t);
    const clock = createManualClock(NOW);
    const store = openInThreadStore({ file, masterKey, clock, onNotice });
    const deny = (...users_: string[]) => store.execute(setRules(denying({ users: users_ })));
    await install(store);
    await deny('mallory');
    limitFileSize(0);
    await expectFaults([deny('ada'), store.execute(register('ada'))]);
    limitFileSize('unlimited');
    clock.advance(1000);
    assert.equal(codeOf(await store.execute(register('mallory'))), 'blacklisted');
    assert.equal(codeOf(await store.execute(register('ada'))), 'granted');
    assert.deepEqual(
      (await store.read({ kind: 'find_rules' })).rules,
      inForce(denying({ users: ['mallory'] })),
    );
    await store.close();
  });

  test('is downtime, however long: nobody loses a slot, and the clock is not blamed', async (t) => {
    const { file, onNotice, kinds } = setUp(t);
    const clock = createManualClock(NOW);
    const store = openInThreadStore({ file, masterKey, clock, onNotice });
    await install(store);
    await store.execute(register('ada'));
    limitFileSize(0);
    await expectFaults([store.execute(register('bob'))]);
    clock.advance(48 * HOUR_MS);
    limitFileSize('unlimited');
    assert.equal((await store.keepClock()).now, plus(NOW, 48 * HOUR_MS));
    assert.deepEqual(await listUsers(store), ['ada']);
    assert.deepEqual(kinds(), ['commit_failed', 'store_recovered']);
    clock.advance(10 * MINUTE_MS);
    assert.deepEqual(await listUsers(store), []);
    await expectSound(store);
    await store.close();
  });

  test('may fail before the commit, when a batch is too large for memory', async (t) => {
    const { file, onNotice } = setUp(t);
    const clock = createManualClock(NOW);
    const store = openInThreadStore({ file, masterKey, clock, onNotice });
    await install(store);
    limitFileSize(0);
    const host = { hostname: null, address: null, info: 'x'.repeat(8000) };
    await expectFaults(users(500).map((user) => store.execute(register(user, {}, host))));
    limitFileSize('unlimited');
    clock.advance(1000);
    assert.equal(grantedOf(await store.execute(register('ada'))).inUse, 1);
    await expectSound(store);
    await store.close();
  });

  test('may fail anywhere in a commit', async (t) => {
    const { file, onNotice } = setUp(t);
    const clock = createManualClock(NOW);
    const store = openInThreadStore({ file, masterKey, clock, onNotice });
    await install(store);
    const kept: string[] = [];
    let failures = 0;
    for (const room of ROOMS) {
      limitFileSize(statSync(`${file}-wal`).size + room);
      const asked = users(10, `room-${room}`).map((user) => store.execute(register(user)));
      for (const result of await Promise.allSettled(asked)) {
        if (result.status === 'fulfilled') kept.push(grantedOf(result.value).registration.user);
        else assert.ok(isFault(result.reason));
        if (result.status === 'rejected') failures += 1;
      }
      limitFileSize('unlimited');
      clock.advance(1000);
      grantedOf(await store.execute(register(`after-${room}`)));
      kept.push(`after-${room}`);
      assert.deepEqual(await listUsers(store), kept.toSorted());
      await expectSound(store);
    }
    assert.ok(failures > 0 && failures < 10 * ROOMS.length, `${failures} commands failed`);
    await store.close();
  });

  test('does not block closing, and the file opens again', async (t) => {
    const { file, onNotice } = setUp(t);
    const clock = createManualClock(NOW);
    const store = openInThreadStore({ file, masterKey, clock, onNotice });
    await install(store);
    await store.execute(register('ada'));
    limitFileSize(0);
    await expectFaults([store.execute(register('bob'))]);
    await store.close();
    limitFileSize('unlimited');
    const again = openInThreadStore({ file, masterKey, clock, onNotice });
    assert.deepEqual(await listUsers(again), ['ada']);
    await expectSound(again);
    await again.close();
  });

  test('does not end the threads', async (t) => {
    const { file, onNotice, kinds } = setUp(t);
    const store = await openThreadedStore({ file, masterKey, onNotice });
    t.after(() => store.close());
    await install(store);
    await store.execute(register('ada'));
    limitFileSize(0);
    await expectFaults(users(100).map((user) => store.execute(register(user))));
    assert.equal(store.isHealthy(), false);
    assert.deepEqual(await listUsers(store), ['ada']);
    limitFileSize('unlimited');
    // It reopens the file at most once a second; until then it fails.
    while (!store.isHealthy()) await store.keepClock().catch((error) => assert.ok(isFault(error)));
    assert.equal(grantedOf(await store.execute(register('bob'))).inUse, 2);
    assert.deepEqual(kinds(), ['commit_failed', 'store_recovered']);
    await expectSound(store);
    await store.close();
  });

  test('works again before the whole file was read; if that finds damage, it stores no more', async (t) => {
    const { file, onNotice, kinds } = setUp(t);
    const first = openInThreadStore({ file, masterKey, clock: systemClock, onNotice });
    await install(first);
    for (const user of users(60)) grantedOf(await first.execute(register(user)));
    await first.close();
    damageOldestLink(file);
    const store = await openThreadedStore({ file, masterKey, onNotice });
    t.after(() => store.close());
    limitFileSize(0);
    await expectFaults([store.execute(register('user-0001'))]);
    limitFileSize('unlimited');
    grantedOf(await store.execute(register('user-0001')));
    await pollUntil('the damage is found', () => kinds().length === 4 || undefined);
    const [atStart, ...later] = kinds();
    assert.equal(atStart, 'pages_changed');
    assert.deepEqual(later, ['commit_failed', 'store_recovered', 'commit_failed']);
    assert.equal(store.isHealthy(), false);
    await expectFaults([store.execute(register('user-0001'))]);
    await assert.rejects(store.keepClock(), isFault);
    await store.close();
  });
});

/** Damages the oldest link, at which only a check of the whole file looks. */
function damageOldestLink(file: string): void {
  const db = new DatabaseSync(file);
  const pages = db.prepare("SELECT pageno FROM dbstat WHERE name = 'audit_link' AND pagetype = 'leaf'").all();
  const size = Object.values(db.prepare('PRAGMA page_size').get() ?? {})[0] as number;
  db.close();
  assert.ok(pages.length > 1, 'new links are added to another page');
  const page = Number(pages[0]?.pageno);
  const handle = openSync(file, 'r+');
  writeSync(handle, Buffer.alloc(64, 0xff), 0, 64, (page - 1) * size);
  closeSync(handle);
}
