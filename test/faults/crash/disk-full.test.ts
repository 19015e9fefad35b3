import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { closeSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { runBerth } from '../../support/berth-command.ts';
import { pollUntil } from '../../support/poll.ts';
import { makeUpSeed } from '../../support/random.ts';
import { seedLicenses, temporaryFolder } from '../../support/server-process.ts';
import { ServerUnderTest } from '../../support/server-under-test.ts';
import { testLicense } from '../../support/test-license.ts';
import { LendingRounds } from './lending-rounds.ts';

/** Works on a disk of two megabytes, and answers whether this user may have one. */
async function withSmallDisk(work: (disk: string) => Promise<void>): Promise<boolean> {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return false;
  const removals: (() => void)[] = [];
  const disk = temporaryFolder({ after: (removal) => removals.push(removal) });
  try {
    if (!mount(disk)) return false;
    await work(disk).finally(() => execFileSync('umount', ['--lazy', disk]));
    return true;
  } finally {
    for (const remove of removals) remove();
  }
}

function mount(folder: string): boolean {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=2m', 'tmpfs', folder], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** Takes all the space that is left. */
function fillDisk(file: string): void {
  const handle = openSync(file, 'a');
  const block = Buffer.alloc(4096);
  try {
    for (;;) writeSync(handle, block);
  } catch (error) {
    assert.equal((error as NodeJS.ErrnoException).code, 'ENOSPC');
  } finally {
    closeSync(handle);
  }
}

async function runUntilFull(rounds: LendingRounds): Promise<void> {
  await pollUntil('nothing can be stored, and health says so', async () => {
    await rounds.run();
    return rounds.unavailable > 0 && !(await rounds.isHealthy()) ? true : undefined;
  });
}

async function waitUntilHealthy(rounds: LendingRounds): Promise<void> {
  await pollUntil('it is healthy again', async () => (await rounds.isHealthy()) || undefined);
  await rounds.run();
}

async function fillAndFree(disk: string, server: ServerUnderTest, seed: number): Promise<void> {
  const filler = join(disk, 'filler');
  const rounds = new LendingRounds(server, { licenseIds: [1], seed, trustsUnavailable: true });
  await rounds.run();
  fillDisk(filler);
  await runUntilFull(rounds);
  rmSync(filler);
  await waitUntilHealthy(rounds);
  await rounds.inspect();
  for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
    await server.stop(signal);
    fillDisk(filler);
    await server.start();
    // After a kill, the server moves its log into the database, now or when it tries again: that leaves room.
    if (signal === 'SIGKILL') fillDisk(filler);
    if (signal === 'SIGKILL' && (await rounds.isHealthy())) await runUntilFull(rounds);
    else await expectReadOnly(server, rounds);
    rmSync(filler);
    await waitUntilHealthy(rounds);
    await rounds.inspect();
  }
  await server.stop();
  fillDisk(filler);
  await server.start();
  await server.stop();
  rmSync(filler);
  await server.start();
  await rounds.inspect();
  assert.deepEqual(rounds.book.violations, []);
}

/** It answers what needs no room, and says what is missing. */
async function expectReadOnly(server: ServerUnderTest, rounds: LendingRounds): Promise<void> {
  assert.equal(await rounds.isHealthy(), false);
  await rounds.inspect();
  const { status, body } = await server.api.register({ product: 'cad', user: 'stranger' });
  assert.deepEqual([status, body.code], [503, 'store_unavailable']);
  assert.match(server.log, new RegExp(`The disk of ${server.data} is full: .* Free at least \\d+ MB`));
  assert.equal((await runBerth(server.data, ['registration', 'list'])).code, 0);
}

describe('a full disk', () => {
  test('stops lending, loses nothing, and lends again when there is space', async (t) => {
    const seed = makeUpSeed();
    t.diagnostic(`seed ${seed}`);
    const hasRun = await withSmallDisk(async (disk) => {
      const server = ServerUnderTest.make(t, join(disk, 'data'));
      await seedLicenses(server.data, [testLicense(1, { slots: 5 })]);
      await server.start();
      await fillAndFree(disk, server, seed).finally(() => server.stop('SIGKILL'));
    });
    if (!hasRun) t.skip('optional: needs root');
  });

  test('that has no room for a first start: it says which folder, and how much is missing', async (t) => {
    const hasRun = await withSmallDisk(async (disk) => {
      fillDisk(join(disk, 'filler'));
      const server = ServerUnderTest.make(t, join(disk, 'data'));
      await assert.rejects(server.start(), ({ message }: Error) => {
        assert.match(message, new RegExp(`The disk of ${server.data} is full: 0\\.0 MB are free`));
        assert.match(message, /Free at least 32 MB, or enlarge the disk\./);
        return true;
      });
    });
    if (!hasRun) t.skip('optional: needs root');
  });
});
