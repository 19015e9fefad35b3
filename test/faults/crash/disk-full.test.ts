import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { closeSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
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
  const handle = openSync(file, 'w');
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
  await server.stop('SIGKILL');
  fillDisk(filler);
  // It may start or not, as long as it spoils nothing.
  await server.start().catch(() => {});
  await server.stop('SIGKILL');
  rmSync(filler);
  await server.start();
  await waitUntilHealthy(rounds);
  await rounds.inspect();
  assert.deepEqual(rounds.book.violations, []);
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
});
